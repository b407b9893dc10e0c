#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A kernel that has the task isolation interface at other numbers.

load ../helpers
load guest
load spinner

BASE=200

setup() {
	begin_test
	SPINNER=''
}

teardown() {
	[ -z "$SPINNER" ] || stop_spinning
	run_cleared
	no_complaint
}

@test "the posted numbers are not used, and the reason says to set prctl_base" {
	[ -e /proc/self/task_isolation ]
	run -0 "$CHISOL" -q vmstat_sync -a -I active -r json:report.json "$TOOLS/prctlcheck"
	[ "$(quiescing reason)" = by-stand-in ]
	[[ $(quiescing detail) == *"/proc/self/task_isolation"*"prctl 63"*"task_isolation.prctl_base"* ]]
	run -0 "$CHISOL" --info
	[[ ${lines[0]} != quiesce:* ]]
	[[ $output == *"task_isolation.prctl_base"* ]]
}

@test "policy = require without prctl_base ends with 125 before the command runs" {
	run -125 "$CHISOL" -q vmstat_sync -s task_isolation.policy=require touch ran
	[ ! -e ran ]
	[[ $output == *prctl_base* ]]
}

@test "with prctl_base it is configured, inherited and activated" {
	run -0 "$CHISOL" -q vmstat_sync -I conf -s task_isolation.prctl_base=$BASE -r json:report.json "$TOOLS/isolstate" --activate $BASE
	[ "${lines[0]}" = "main: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "${lines[1]}" = "thread: configured=1 quiesce=1 active=1 inherit=1" ]
	[ "${lines[2]}" = "child: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "$(quiescing reason)" = by-kernel ]
	run -0 "$CHISOL" --info -s task_isolation.prctl_base=$BASE
	[ "${lines[0]}" = "quiesce: vmstat_sync " ]
	[[ $output == *"prctl 200 to 204, v6 form"* ]]
}

@test "a program of these numbers activates in its worker thread" {
	spin "$CHISOL" -c $CPU -q vmstat_sync -I conf -s task_isolation.prctl_base=$BASE -- --base $BASE
	[ "$(state_of "$PROGRAM")" = configured ]
	[ "$(state_of "$THREAD")" = active ]
	stop_spinning
	[ "$(<spinner)" = active ]
}
