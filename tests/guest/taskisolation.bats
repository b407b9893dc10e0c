#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel that -q vmstat_sync -I conf was made for.

load ../helpers
load guest
load spinner

setup() {
	begin_test
	taskset -pc 0 $BASHPID >/dev/null # nothing of the test itself gets in the way
	SPINNER='' RUNTIME=$(</proc/sys/kernel/sched_rt_runtime_us)
	INTERVAL=$(</proc/sys/vm/stat_interval)
	trace_on
}

teardown() {
	[ -z "$SPINNER" ] || stop_spinning
	run_cleared
	echo "$RUNTIME" >/proc/sys/kernel/sched_rt_runtime_us
	[ "$(</proc/sys/vm/stat_interval)" = "$INTERVAL" ]
	no_complaint
}

isolated() { # COMMAND...
	"$CHISOL" -q vmstat_sync -I conf -r json:report.json "$@"
}

@test "-q vmstat_sync -I conf configures the command, and its threads and children inherit" {
	run -0 isolated "$TOOLS/isolstate"
	[ "${lines[0]}" = "main: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "${lines[1]}" = "thread: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "${lines[2]}" = "child: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "$(quiescing reason)" = by-kernel ]
	[ "$(quiescing granted.value)" = "vmstat_sync, inherit conf" ]
}

@test "without -I the second thread has nothing" {
	run -0 "$CHISOL" -q vmstat_sync "$TOOLS/isolstate"
	[ "${lines[0]}" = "main: configured=1 quiesce=1 active=0 inherit=0" ]
	[ "${lines[1]}" = "thread: configured=0 quiesce=0 active=0 inherit=0" ]
}

@test "the configuration is kept over exec, and vm.stat_interval is left alone" {
	run -0 isolated env sh -c 'exec cat /proc/self/task_isolation /proc/sys/vm/stat_interval'
	[ "${lines[0]}" = "Configured state: quiesce " ]
	[ "${lines[1]}" = "Active state: none " ]
	[ "${lines[2]}" = "Quiescing: vmstat_sync " ]
	[ "${lines[3]}" = "$INTERVAL" ]
}

@test "-a -I active reaches the children of programs that know nothing of it" {
	run -0 "$CHISOL" -q vmstat_sync -a -I active sh -c 'sh -c "grep Active /proc/self/task_isolation"; true'
	[ "$output" = "Active state: quiesce " ]
}

@test "oneshot: the kernel quiesces once, and chisol refuses it together with -a" {
	run -0 isolated -s task_isolation.oneshot=yes "$TOOLS/isolstate" --activate
	[ "${lines[1]}" = "thread: configured=1 quiesce=1 active=1 inherit=1" ]
	run -125 "$CHISOL" -q vmstat_sync -a -s task_isolation.oneshot=yes touch ran
	[ ! -e ran ]
	[[ $output == *oneshot* ]]
}

@test "the state is confirmed for a command of another user" {
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR"
	run -0 isolated -u nobody "$TOOLS/isolstate"
	[ "${lines[1]}" = "thread: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "$(quiescing granted.state)" = granted ]
}

@test "--info begins with the posted line" {
	run -0 "$CHISOL" --info
	[ "${lines[0]}" = "quiesce: vmstat_sync " ]
	[[ $output == *"prctl 63 to 67, v6 form"* ]]
}

@test "the command's memory is not merged" {
	echo 1 >/sys/kernel/mm/ksm/run
	run -0 "$CHISOL" -q vmstat_sync -a -I active sh -c 'cat /proc/self/ksm_merging_pages; grep -c "^VmFlags.* mg" /proc/self/smaps || true'
	echo 0 >/sys/kernel/mm/ksm/run
	[ "$output" = $'0\n0' ]
}

@test "isolkernel, which plays this kernel elsewhere, differs from it in nothing" {
	"$TOOLS/isolabi" >kernel
	"$TOOLS/isolkernel" --base 300 "$TOOLS/isolabi" 300 >fixture
	grep -q 'after exec: file: Active state: quiesce' kernel
	diff kernel fixture
}

@test "a program that activates in its worker thread does so, and only there" {
	spin isolated -c $CPU --
	[ "$(state_of "$PROGRAM")" = configured ]
	[ "$(state_of "$THREAD")" = active ]
	stop_spinning
	[ "$(<spinner)" = active ]
	[ "$(quiescing observed.state)" = kept ]
}

@test "without chisol the same program activates nothing" {
	spin taskset -c $CPU --
	[ "$(state_of "$PROGRAM")/$(state_of "$THREAD")" = none/none ]
	stop_spinning
	[ "$(<spinner)" = "not active" ]
}

# While a realtime thread spins on the CPU, with a page fault now and then, somebody asks for statistics that the CPU's own worker would have to fold.
# Sets RESULT to the state of the thread, and what became of the write while it spun.
stat_refresh_during() { # COMMAND... --
	local refresh
	echo -1 >/proc/sys/kernel/sched_rt_runtime_us
	spin "$@" --fifo 1 --faults
	RESULT=$(state_of "$THREAD")
	eventually has_shared 2 4
	echo 1 >/proc/sys/vm/stat_refresh 3>&- &
	refresh=$!
	rounds 3
	if ended $refresh; then RESULT+=", returns"; else RESULT+=", hangs"; fi
	stop_spinning
	wait $refresh
	echo "$RUNTIME" >/proc/sys/kernel/sched_rt_runtime_us
}

# An ordinary thread that takes a page fault in each of its rounds: how often is it interrupted to fold that? On a CPU
# with a tick, as the worker's timer is one that does not fire without.
updates_during() { # COMMAND... --
	spin "$@" --faults
	: >$TRACING/trace
	rounds 5
	RESULT="$(state_of "$THREAD"), $(executed vmstat_update $TICKING)"
	[ "$(shared 2)" -gt 0 ]
	stop_spinning
}

has_threads() { # PID
	[ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 1 ]
}

table() { # TITLE COLUMN [COMMAND RESULT]...
	printf '# %-60s %s\n' "$@" >&3
}

@test "the maintainer's acceptance test: vm.stat_refresh hangs behind a realtime spinner without, and returns with chisol" {
	stat_refresh_during taskset -c $CPU --
	without=$RESULT
	stat_refresh_during isolated -c $CPU --
	table "realtime thread on CPU $CPU, and: echo 1 > vm.stat_refresh" "thread, write" \
		"taskset -c $CPU spinner" "$without" "chisol -c $CPU -q vmstat_sync -I conf spinner" "$RESULT"
	[ "$without" = "none, hangs" ]
	[ "$RESULT" = "active, returns" ]
}

@test "the vmstat worker interrupts a thread that takes page faults without, and never with chisol" {
	updates_during taskset -c $TICKING --
	without=$RESULT
	updates_during isolated -c $TICKING --
	table "thread with page faults on CPU $TICKING" "thread, runs of vmstat_update there" \
		"taskset -c $TICKING spinner" "$without" "chisol -c $TICKING -q vmstat_sync -I conf spinner" "$RESULT"
	[[ $without == "none, "[1-9]* ]]
	[ "$RESULT" = "active, 0" ]
}

@test "stock oslat, which never activates, runs active under -a -I active, in all of its threads" {
	local n t
	"$CHISOL" -c $CPU -q vmstat_sync -a -I active -r json:report.json \
		sh -c 'echo $$ >there; exec oslat -c "$1" -D 600 -q' sh $CPU >oslat 2>&1 3>&- &
	RUN=$!
	eventually test -s there
	PIDS+=("$(<there)")
	eventually has_threads "${PIDS[0]}"
	rounds 3 # past its warming up, which has threads of its own
	: >$TRACING/trace
	for t in "/proc/${PIDS[0]}/task"/*; do [ "$(state_of "${t##*/}")" = active ]; done
	rounds 3
	n=$(executed vmstat_update $CPU)
	kill -INT "${PIDS[0]}"
	wait "$RUN"
	RUN=
	table "stock oslat on CPU $CPU" "threads, runs of vmstat_update there" "chisol -c $CPU -q vmstat_sync -a -I active oslat" "active, $n"
	[ "$n" -eq 0 ]
	[ "$(quiescing granted.value)" = "vmstat_sync, active, inherit conf,active" ]
}
