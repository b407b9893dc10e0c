# SPDX-License-Identifier: GPL-2.0-or-later
# chisol --hold-trace: runs of the probe that do not have the kernel patch itself.
load helpers
bats_require_minimum_version 1.5.0

setup_file() {
	requires_trace_events || return 0
	lock_machine
}

setup() {
	check_requirements
	cd "$BATS_TEST_TMPDIR"
	"$CHISOL" --info -r json | jq -e '.trace_hold | startswith("not held")' || skip "somebody holds the trace events of this machine"
}

teardown() {
	[ -z "${RUN-}" ] || kill "$RUN"
	end_holder
}

start_holder() {
	rm -f holder.out
	"$CHISOL" --hold-trace >holder.out 2>holder.err 9>&- 3>&- &
	HOLDER=$!
	eventually [ -s holder.out ]
}

end_holder() {
	[ -n "${HOLDER-}" ] || return 0
	kill "$HOLDER"
	wait "$HOLDER" && HOLDER=
}

# sent CPU NAME: how many function calls chisol sends to CPU 1 when it runs something on CPU with the probe
sent() {
	local cpu=$1 pid
	shift
	rm -f gate && mkfifo gate
	taskset -c 0 sh -c 'read x <gate; exec "$@"' sh "$CHISOL" -c "$cpu" --probe -r json:"$1" true 9>&- 3>&- &
	pid=$!
	unshare -m sh -c 'mount -t tracefs none /mnt && TRACEFS=/mnt exec "$0" 1 "$1" 3' \
		"$REPO/build/tests/tools/observe" $pid >"$1.sent" 9>&- 3>&- &
	sleep 1
	echo >gate
	wait $pid && wait $!
	sed -n 's/^sent //p' "$1.sent"
}

@test "the holder says that it is ready, is told of, and leaves nothing" {
	local mounts
	mounts=$(cat /proc/mounts)
	start_holder
	grep -qx "Holding [0-9]* trace events, until SIGTERM to process $HOLDER." holder.out
	[ "$(wc -l <holder.out)" = 1 ]
	[ "$(cat /proc/mounts)" = "$mounts" ]
	"$CHISOL" --info | grep -q "^trace events: .*held by process $HOLDER "
	"$CHISOL" --status | grep -q "Process $HOLDER holds the trace events"
	[ "$("$CHISOL" --status -r json | jq .trace_holder)" = "$HOLDER" ]
	[ "$(grep -c . /proc/$HOLDER/task/*/comm)" = 1 ]
	[ "$(find /proc/$HOLDER/fd -lname '*perf_event*' | wc -l)" = "$(sed 's/[^0-9]*\([0-9]*\).*/\1/' holder.out)" ]
	end_holder
	[ -z "$(cat holder.err)" ]
	[ ! -e /run/chisol/trace-hold ]
	[ "$("$CHISOL" --status -r json | jq .trace_holder)" = null ]
	[ "$(cat /proc/mounts)" = "$mounts" ]
}

@test "a second holder says who the first is, and ends" {
	start_holder
	run -125 "$CHISOL" --hold-trace
	[[ $output == *"process $HOLDER holds the trace events already"* ]]
	"$CHISOL" --status | grep -q "Process $HOLDER holds"
}

@test "a holder that was killed holds nothing, and another takes its place" {
	start_holder
	kill -KILL $HOLDER
	wait $HOLDER || true
	[ "$("$CHISOL" --status -r json | jq .trace_holder)" = null ]
	start_holder
	[ "$("$CHISOL" --status -r json | jq .trace_holder)" = "$HOLDER" ]
}

@test "the holder ends by SIGINT, but not where it was started to ignore it" {
	local pid
	start_holder # by a shell, which has it ignored in the background
	kill -INT $HOLDER
	sleep 1
	kill -0 $HOLDER
	end_holder
	env --default-signal=INT "$CHISOL" --hold-trace >again.out 9>&- 3>&- &
	pid=$!
	eventually [ -s again.out ]
	kill -INT $pid
	wait $pid
}

@test "a service manager is told when the holder is ready" {
	needs python3
	python3 -c '
import socket, subprocess, sys
for address in ("notify", "\0chisol-test-%s" % sys.argv[2]):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.settimeout(60)
    s.bind(address)
    path = address.replace("\0", "@")
    if path == address:
        import os
        path = os.path.abspath(path)
    p = subprocess.Popen([sys.argv[1], "--hold-trace"], env={"NOTIFY_SOCKET": path}, stdout=subprocess.DEVNULL)
    assert s.recv(100) == b"READY=1"
    p.terminate()
    assert s.recv(100) == b"STOPPING=1"
    assert p.wait() == 0
' "$CHISOL" $$
}

@test "a run interrupts its CPU hundreds of times without a holder, and a few dozen times with one" {
	needs "$REPO/build/tests/tools/observe"
	[ "$(nproc)" -gt 1 ] || skip "needs two CPUs"
	[ -n "$(unshare -m true 2>&1)" ] && skip "needs unshare -m"
	local without with
	without=$(sent 1 without)
	start_holder
	with=$(sent 1 with)
	echo "without $without, with $with"
	((without > 300 && with < 100)) # closing takes one function call for each event
	jq -e '.probe.events_held_by == null' without
	jq -e --argjson pid "$HOLDER" '.probe.events_held_by == $pid' with
	end_holder
}

@test "with a holder a run sends nothing at all to the CPUs of another run" {
	needs "$REPO/build/tests/tools/observe"
	[ "$(nproc)" -gt 1 ] || skip "needs two CPUs"
	[ -n "$(unshare -m true 2>&1)" ] && skip "needs unshare -m"
	start_holder
	# Nobody else may use its CPU: this shell, say, which the run wakes by its end, wherever it is.
	"$CHISOL" -c 1 -p "$REPO/conf/oslat.conf" -s cgroup.start=hot -s cgroup.policy=require -r json:other \
		sh -c 'touch started; exec sleep 1000' 9>&- 3>&- &
	RUN=$!
	eventually [ -e started ]
	[ "$(sent 0 one)" = 0 ]
	jq -e '.probe.cpus_spared == "1" and .probe.unavailable == null' one
	kill $RUN
	wait $RUN || true
	RUN=
	[ "$(sent 0 one)" -gt 0 ]
	jq -e '.probe.cpus_spared == ""' one
	end_holder
}

@test "the text report says whether the kernel was patched" {
	start_holder
	"$CHISOL" -c 0 --probe -r text:held true
	grep -q "trace events  held by process $HOLDER: nothing was patched" held
	end_holder
	"$CHISOL" -c 0 --probe -r text:patched true
	grep -q 'trace events  patched into the kernel for this run' patched
}

@test "closing is left to a child that has only the events open, and ends" {
	local pid=
	exec 8>lock
	flock 8
	"$CHISOL" -c 0 --probe -r json:json sh -c 'exit 7' && false
	[ $? = 7 ]
	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" != chisol-close ] || pid=${p#/proc/}
	done
	if [ -n "$pid" ]; then # or it was that quick
		[ "$(readlink /proc/$pid/cwd)" = / ] || [ ! -e /proc/$pid/cwd ]
		[ -z "$(find /proc/$pid/fd -lname '?*' ! -lname '*perf_event*' 2>/dev/null)" ]
	fi
	exec 8>&-
	flock -n lock true
	[ -z "$pid" ] || timeout 60 tail --pid=$pid -f /dev/null
}

@test "without the permission the holder says what is missing" {
	needs setpriv
	run -125 setpriv --reuid=65534 --regid=65534 --clear-groups "$CHISOL" --hold-trace
	[[ $output == *"root"* ]]
}
