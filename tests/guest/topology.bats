#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# CPU lists on 8 CPUs: two nodes of two cores with two threads each, and CPU 3 offline.

load ../helpers
load guest

setup() {
	begin_test
	[ "$(<$CPU_DIR/online)" = 0-2,4-7 ]
}

teardown() {
	run_cleared
	no_complaint
}

gives() { # LIST CPUS: the kernel's list of what the command has
	run -0 --separate-stderr "$CHISOL" -c "$1" sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status
	echo "$1: $output, not $2?"
	[ "$output" = "$2" ]
}

@test "lists by node, siblings, the last CPU, all, strides and what is left out" {
	local siblings
	siblings=$(<$CPU_DIR/cpu6/topology/thread_siblings_list)
	gives node:1 "$(tr -d '\n' </sys/devices/system/node/node1/cpulist)"
	gives siblings:6 "$siblings"
	gives N 7
	gives all 0-2,4-7
	gives '!0-1' 2,4-7
	gives 'node:1,!4' 5-7
	gives '4-7:2' 4,6
	gives 0xc0 6-7
}

@test "an offline CPU is told as such, and one that does not exist as that" {
	run -125 "$CHISOL" -c 3 touch ran
	[[ $output == *"3"*offline* ]]
	run -125 "$CHISOL" -c 2-4 touch ran
	[[ $output == *"3"*offline* ]]
	run -125 "$CHISOL" -c 8 touch ran
	[[ $output == *"8"*"not exist"* ]]
	[ ! -e ran ]
}

@test "a run on a node leaves the other one to everybody else, and all is as before" {
	snapshot >before
	run_started -c node:1 -s cgroup.policy=require -s irq.policy=try
	[ "$(cpus_of "$COMMAND")" = 4-7 ]
	[ "$(</sys/fs/cgroup/cpuset.cpus.effective)" = 0-2 ]
	run_ended
	unchanged
	[ "$(<$CPU_DIR/online)" = 0-2,4-7 ]
}

@test "a CPU whose sibling stays with everybody else can be had" {
	run_started -c 7 -s cgroup.policy=require
	[ "$(cpus_of "$COMMAND")" = 7 ]
	run_ended
}
