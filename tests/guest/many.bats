#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# More possible CPUs than a machine word has bits: masks of several words in every file.

load ../helpers
load guest

setup() {
	cd "$BATS_TEST_TMPDIR"
	PIDS=() RUN=''
	[[ $(<$CPU_DIR/possible) == 0-7[0-9] ]]
	snapshot >before
}

teardown() {
	run_cleared
	no_complaint
}

@test "a profile's masks are granted, and put back bit by bit" {
	run_started -c 1 -s cgroup.policy=require -s irq.policy=require
	[ "$(cpus_of "$COMMAND")" = 1 ]
	refute has_cpu "$(low_cpus /proc/irq/default_smp_affinity)" 1
	run_ended
	[ "$(setting irq.default_affinity granted.state)" = granted ]
	unchanged
}

low_cpus() { # FILE: the CPUs of the lowest word of a mask
	local mask cpu list=
	mask=$((16#$(sed 's/.*,//' "$1")))
	for cpu in 0 1 2 3; do
		! ((mask >> cpu & 1)) || list+=,$cpu
	done
	echo "${list#,}"
}

@test "CPUs that are possible and not there are told apart from those that cannot be" {
	run -125 "$CHISOL" -c 71 touch ran
	[[ $output == *71* ]]
	run -125 "$CHISOL" -c 72 touch ran
	[[ $output == *72*"not exist"* ]]
	[ ! -e ran ]
}
