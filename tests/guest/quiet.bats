#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Is isolation kept? A spinner on a nohz_full CPU counts the interrupts that hit it, and the switches, in a window that it
# measures itself; and breaks that are made on purpose are seen. Counts only: an emulator has no durations.

load ../helpers
load guest

QUIET=$REPO/build/tests/tools/quiet
FAIR=/sys/kernel/debug/sched/fair_server/cpu2/runtime

setup() {
	beside_nohz_full
}

teardown() {
	run_cleared
}

# Of "quiet" under a command: its counts by kind go to the file counts.
counted() { # COMMAND...
	"$@" "$QUIET" 2 4 >counts
	tr '\n' ' ' <counts
	echo
}

count() { # KIND
	awk -v kind="$1" '$1 == kind { n = $2 } END { print n + 0 }' counts
}

timer() { # interrupts of the timer: x86 has a row of its own, others a numbered one
	if [ "$(uname -m)" = x86_64 ]; then count LOC; else
		count "$(awk '/arch_timer/ { sub(":", "", $1); print $1; exit }' /proc/interrupts)"; fi
}

isolated() {
	"$CHISOL" -c 2 -p oslat -s cgroup.start=hot -r json:report.json "$@"
}

@test "a CPU of a run is left alone: no tick, no switch, no device" {
	counted isolated
	jq -r '.settings[] | select(.granted.state != "granted") | "\(.name) \(.granted.state) \(.detail)"' report.json
	[ "$(timer)" -le 6 ] # 1000 without nohz_full; a worker of the kernel's costs three
	[ "$(count switches)" -le 2 ]
	# Of devices there are numbers; elsewhere timers have some, too.
	[ "$(uname -m)" != x86_64 ] || refute grep -E '^[0-9]+ ' counts
}

@test "what hit the CPU is in the report, by kind" {
	counted isolated
	jq -c '.interrupts.rows[] | [.id, .counts["2"]]' report.json
	local kind n
	while read -r kind n; do # the report's window is the longer one
		[ "$kind" != switches ] || continue
		jq -e --arg kind "$kind" --argjson n "$n" '.interrupts.rows | any(.id == $kind and .counts["2"] >= $n)' report.json
	done <counts
}

@test "the fair server's interrupt, once a second, is counted, gone when it is turned off, and its runtime put back" {
	[ -e $FAIR ] || skip "this kernel has no fair server"
	local runtime with
	runtime=$(<$FAIR)
	counted isolated -s scheduler.fair_server=keep
	with="$(timer) timer interrupts and $(count RES) reschedules"
	if [[ $(uname -rm) == 6.12*x86_64 ]]; then
		[ "$(count RES)" -ge 3 ]
		jq -e '.interrupts.rows[] | select(.id == "RES") | .counts["2"] >= 3' report.json
	fi
	needs_fair_server_off
	counted isolated -s scheduler.policy=require -s cgroup.policy=require # in a partition the kernel lets nobody turn it off
	echo "# fair server: $with in 4 s, without $(timer) and $(count RES)" >&3
	[ "$(count RES)" -le 1 ]
	[ "$(<$FAIR)" = "$runtime" ]
	jq -e '.settings[] | select(.name == "scheduler.fair_server.2") | .granted.state == "granted" and .observed.state == "kept"' report.json
}

@test "a second task on the CPU brings the tick back and switches, and both are seen" {
	isolated sh -c "'$QUIET' 2 4 >counts & '$QUIET' 1 5 >/dev/null; wait"
	cat counts
	[ "$(timer)" -gt 100 ]
	[ "$(count switches)" -gt 10 ]
}

@test "somebody who makes the kernel reach for every CPU is seen" {
	[ -e /proc/sys/vm/stat_refresh ] || skip "this kernel has no vm.stat_refresh"
	isolated sh -c 'echo $$ >pid; exec "$@"' sh "$QUIET" 0 $UNTIL_ENDED >counts 3>&- &
	RUN=$!
	refreshed pid
	wait "$RUN"
	[ $(($(count switches) + $(count CAL) + $(count IWI) + $(timer))) -ge 1 ]
}
