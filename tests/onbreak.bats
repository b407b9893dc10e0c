# SPDX-License-Identifier: GPL-2.0-or-later
# What is done when isolation is broken: probe.on_break, on this machine, whose tick breaks it.
load helpers
bats_require_minimum_version 1.5.0

SPIN='i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'

setup_file() {
	requires_trace_events && requires_two_cpus || return 0
	lock_machine
}

setup() {
	check_requirements
	cd "$BATS_TEST_TMPDIR" || return
}

# on_break ACTION [OPTION...] SHELL-COMMAND: a run on CPU 1
on_break() {
	local action=$1
	shift
	"$CHISOL" -c 1 --probe -s probe.on_break="$action" -r json:json -r text:text "${@:1:$#-1}" sh -c "${@: -1}"
}

ended() { # PID: is it gone, or will be soon?
	timeout 60 tail --pid="$1" -f /dev/null
}

@test "the command is sent the signal, and may end by it" {
	run -42 on_break signal:SIGUSR1 'trap "exit 42" USR1; while :; do :; done'
	jq -e '.probe.on_break | .action == "signal:SIGUSR1" and .taken >= 1 and .breaks >= .taken and
		.failed == 0 and .longest_delay_ns > 0' json
	grep -q '^  on break      signal:SIGUSR1: [0-9]* breaks, done [0-9]* times' text
}

@test "breaks that are not longer than on_break_over, within the grace, or of its own doing are let pass" {
	on_break signal:SIGKILL -s probe.on_break_over=2147483647 "$SPIN"
	jq -e '.probe.on_break | .breaks == 0 and .taken == 0 and .longest_delay_ns == null' json
	on_break signal:SIGKILL -s verdict.grace=1000000 "$SPIN"
	jq -e '.probe.on_break.breaks == 0 and .probe.cpus[0].startup.count > 0' json
	on_break signal:SIGURG -s probe.on_break_of=self 'for i in 1 2 3 4 5; do sleep 0.1; done'
	jq -e '.probe.on_break.breaks <= .probe.cpus[0].self.count and .probe.on_break.breaks >= 5' json
}

@test "stop stops the command, says so, and SIGCONT continues it" {
	local chisol pid
	on_break stop 'echo $$ >pid; while :; do :; done' 2>err 9>&- 3>&- &
	chisol=$!
	eventually grep -q 'stopped process' err
	pid=$(cat pid)
	grep -q "^chisol: [a-z-]*.* us on CPU 1 at [0-9.]* s: stopped process $pid; kill -CONT $pid continues it$" err
	grep -q '^State:.T' "/proc/$pid/status"
	kill -CONT "$pid"
	eventually eval '[ "$(grep -c "stopped process" err)" -gt 1 ]' # the next tick
	kill -KILL "$pid"
	wait $chisol && false
	jq -e '.exit.signal == 9 and .probe.on_break.taken >= 2' json
}

@test "a command is told of the break, and runs on the housekeeping CPUs with chisol's standard error" {
	run --separate-stderr on_break 'command:env | grep ^CHISOL_BREAK >vars; grep Cpus_allowed_list /proc/self/status; readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2; find /proc/self/fd -mindepth 1 | wc -l; cat' \
		"$SPIN; echo done; echo \$\$ >pid"
	[ "$status" -eq 0 ]
	[ "$output" = "done" ]
	[[ ${stderr_lines[0]} == Cpus_allowed_list:*[^1] ]]
	[ "${stderr_lines[1]}" = /dev/null ]
	[ "${stderr_lines[2]}" = "${stderr_lines[3]}" ]
	[ "${stderr_lines[4]}" = "$(find /proc/self/fd -mindepth 1 | wc -l)" ]
	grep -qx CHISOL_BREAK_CPU=1 vars
	grep -qx "CHISOL_BREAK_PID=$(cat pid)" vars
	grep -qE '^CHISOL_BREAK_CAUSE=[a-z-]+$' vars
	grep -qE '^CHISOL_BREAK_NS=[1-9][0-9]*$' vars
	grep -qE '^CHISOL_BREAK_START_NS=[1-9][0-9]*$' vars
	grep -qE '^CHISOL_BREAK_COUNT=[1-9][0-9]*$' vars
	[ "$(grep -c ^CHISOL_BREAK_NAME= vars)" = 1 ]
}

@test "a command does not run twice at a time, and its failure is told once" {
	on_break 'command:mkdir running || echo twice >>overlaps; echo x >>runs; sleep 0.3; rmdir running; exit 3' \
		"$SPIN; $SPIN; $SPIN; $SPIN; $SPIN"
	[ ! -e overlaps ]
	[ "$(wc -l <runs)" = "$(jq .probe.on_break.taken json)" ]
	jq -e '.probe.on_break | .busy > 0 and .failed == .taken' json
	jq -e '[.warnings[] | select(contains("the command exited with status 3"))] | length == 1' json
}

@test "a command that does not end is ended, with all that it started" {
	on_break 'command:sleep 1000 & echo $! >child; echo $$ >pid; wait' "$SPIN"
	ended "$(cat pid)"
	ended "$(cat child)"
	jq -e 'any(.warnings[]; contains("still ran 5 s after the end of the run, and was ended"))' json
}

@test "a command ends when chisol is killed" {
	local pid
	on_break 'command:echo $$ >pid; exec sleep 1000' 'while :; do :; done' 9>&- 3>&- &
	eventually [ -s pid ]
	pid=$(pgrep -P $! -x chisol) || pid=$!
	kill -KILL "$pid"
	wait $! || true
	ended "$(cat pid)"
}

@test "trace-off marks the trace, switches tracing off once, and leaves it off" {
	[ -z "$(unshare -m true 2>&1)" ] || skip "needs unshare -m"
	unshare -m sh -ec 'mount -t tracefs none /mnt; cp /mnt/tracing_on found; echo 1 >/mnt/tracing_on; echo >/mnt/trace'
	on_break trace-off "$SPIN"
	unshare -m sh -ec 'mount -t tracefs none /mnt; cat /mnt/tracing_on >now; cat /mnt/trace >trace; cat found >/mnt/tracing_on; echo >/mnt/trace'
	[ "$(cat now)" = 0 ]
	[ "$(grep -c 'chisol: [a-z-]*.* us on CPU 1 at ' trace)" = 1 ]
	jq -e '.probe.on_break | .taken == 1 and .failed == 0' json
	grep -q 'tracing stays off' text
}

@test "tracing that is off already is told, and no success" {
	[ -z "$(unshare -m true 2>&1)" ] || skip "needs unshare -m"
	unshare -m sh -ec 'mount -t tracefs none /mnt; cp /mnt/tracing_on found; echo 0 >/mnt/tracing_on'
	on_break trace-off "$SPIN"
	unshare -m sh -ec 'mount -t tracefs none /mnt; cat found >/mnt/tracing_on'
	jq -e '.probe.on_break | .taken == 0 and .failed > 0' json
	jq -e 'any(.warnings[]; contains("tracing was off already"))' json
}

@test "where nothing can be watched the report says that nothing will be done" {
	command -v setpriv >/dev/null || skip "needs setpriv"
	chmod 777 .
	run -0 setpriv --reuid=65534 --regid=65534 --clear-groups "$CHISOL" -c 1 --probe -s probe.on_break=stop -r json:json true
	jq -e '.probe.on_break == null and any(.warnings[]; contains("trace events are not watched, so nothing will be done"))' json
}

@test "in a profile the action keeps its blanks and colons, and a wrong one is refused with its line" {
	printf '[probe]\non_break = command:echo "a : b" >said\non_break_over = 0\n' >p.conf
	"$CHISOL" -c 1 -p ./p.conf -r json:json sh -c "$SPIN"
	[ "$(cat said)" = 'a : b' ]
	printf '[probe]\non_break = signal:SIGUSER1\n' >p.conf
	run -125 "$CHISOL" -p ./p.conf true
	[[ $output == *'p.conf:2: probe.on_break: there is no signal "SIGUSER1"; did you mean "SIGUSR1"?'* ]]
}
