#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# More CPUs than a machine word has bits: masks of several words in every file.

load ../helpers
load guest

setup() {
	begin_snapshot
	[ "$(<$CPU_DIR/possible)" = 0-69 ]
}

teardown() {
	run_cleared
	no_complaint
}

@test "a CPU beyond the first words of a mask is taken, and all masks are put back bit by bit" {
	run_started -c 66 -s cgroup.policy=require -s irq.policy=require
	[ "$(cpus_of "$COMMAND")" = 66 ]
	[ "$(</proc/irq/default_smp_affinity)" = 3b,ffffffff,ffffffff ]
	[ "$(</sys/fs/cgroup/cpuset.cpus.effective)" = 0-65,67-69 ]
	run_ended
	[ "$(setting irq.default_affinity granted.state)" = granted ]
	unchanged
}

@test "lists and masks of several words are understood, and CPUs beyond the last one are not" {
	run -0 --separate-stderr "$CHISOL" -c N,0x2,1-64:32 sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status
	[ "$output" = 1,33,69 ]
	run -125 "$CHISOL" -c 70 touch ran
	[[ $output == *70*"not exist"* ]]
	[ ! -e ran ]
}
