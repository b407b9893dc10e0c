#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The cgroup file systems as they may be mounted, or not: whatever this guest has.

load ../helpers
load guest

setup() {
	begin_snapshot
}

teardown() {
	run_cleared
	no_complaint
}

group_of() { # PID: in the hierarchy that has cpusets
	sed -nE 's/^[0-9]+:([^:]*,)?cpuset(,[^:]*)?:|^0:://p' "/proc/$1/cgroup" | sort | tail -n 1
}

@test "two of four CPUs: a cpuset of its own where there are cpusets, in plain words why not where there are none" {
	run_started -c 2-3 -s cgroup.policy=try -s cpus.policy=require
	[ "$(cpus_of "$COMMAND")" = 2-3 ]
	local group
	group=$(group_of "$COMMAND")
	cat "/proc/$COMMAND/cgroup"
	run_ended
	if grep -q -e ' cgroup2 ' -e 'cgroup .*cpuset' /proc/mounts; then
		[[ $group == *chisol-* ]]
	else
		[[ $(text) == *cgroup*mount* ]]
		run -125 "$CHISOL" -c 2-3 -s cgroup.policy=require touch ran
		[[ $(text <(echo "$output")) == *mount* ]]
		[ ! -e ran ]
	fi
	unchanged
}

@test "--info says which cpusets this machine has" {
	run -0 "$CHISOL" --info
	[[ $output == *cpuset* ]]
}

@test "v1: load is balanced in no set with the CPUs during the run, and in the root afterwards" {
	local tree=/sys/fs/cgroup/cpuset domains=/sys/kernel/debug/sched/domains
	[ -e $tree/cpuset.sched_load_balance ] || skip "no cpusets of v1"
	echo Y >/sys/kernel/debug/sched/verbose
	[ -e $domains/cpu2/domain0 ]
	run_started -c 2-3 -s cgroup.policy=require
	[ "$(<$tree/cpuset.sched_load_balance)" = 0 ]
	[ -e $domains/cpu1/domain0 ]
	[ ! -e $domains/cpu2/domain0 ]
	[ ! -e $domains/cpu3/domain0 ]
	[ "$(cat $tree/chisol-*/hot/cpuset.cpus)" = 2-3 ]
	[ "$(cat $tree/chisol-*/hot/cpuset.sched_load_balance)" = 0 ]
	[ "$(cat $tree/chisol-*/help/cpuset.cpus)" = 0-1 ]
	[ "$(cat $tree/chisol-*/help/cpuset.sched_load_balance)" = 1 ]
	run_ended
	[ "$(<$tree/cpuset.sched_load_balance)" = 1 ]
	eventually test -e $domains/cpu2/domain0
	unchanged
}

@test "v1: a CPU that goes offline during the run is drift, and the machine is put back" {
	local tree=/sys/fs/cgroup/cpuset
	[ -e $tree/cpuset.sched_load_balance ] || skip "no cpusets of v1"
	run_started -c 2-3 -s cgroup.policy=require --fail-on drift
	echo 0 >$CPU_DIR/cpu3/online
	eventually grep -qx 2 $tree/chisol-*/hot/cpuset.cpus
	run_ended 122
	echo 1 >$CPU_DIR/cpu3/online
	unchanged
}
