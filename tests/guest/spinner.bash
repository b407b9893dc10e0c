# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the task isolation guests' tests: a spinner, and what the kernel does to its CPU meanwhile.

CPU=2     # nohz_full
TICKING=1 # not
TRACING=/sys/kernel/tracing
TOOLS=$REPO/build/tests/tools

# Everything is told in the kernel's own rounds, not in seconds: its shepherd goes through the CPUs and queues
# vmstat_update() where there is something to fold.
trace_on() {
	local event=$TRACING/events/workqueue/workqueue_execute_start f filter=
	for f in vmstat_update vmstat_shepherd; do
		filter+="${filter:+ || }function == 0x$(awk -v f=$f '$3 == f { print $1 }' /proc/kallsyms)"
	done
	echo 0 >$event/enable
	echo "$filter" >$event/filter
	echo 1 >$event/enable
	: >$TRACING/trace
}

runs() { # FUNCTION [CPU]: how often it was executed
	grep -c "function $1\$" "$TRACING${2:+/per_cpu/cpu$2}/trace" || true
}

rounds() { # N: waits for so many of the shepherd
	local from
	from=$(runs vmstat_shepherd)
	until (($(runs vmstat_shepherd) >= from + $1)); do sleep 0.2; done
}

shared() { # WORD: of the spinner's shared memory
	od -An -t u4 -j $((4 * $1)) -N 4 "$BATS_TEST_TMPDIR/shared" | tr -d ' '
}

# Starts the spinner under the command, and comes back when it spins: as PROGRAM, its second thread as THREAD. What it
# says at the end is in the file spinner.
spin() { # COMMAND... -- SPINNER_OPTION...
	local command=()
	while [ "$1" != -- ]; do command+=("$1") && shift; done
	shift
	rm -f "$BATS_TEST_TMPDIR/shared"
	"${command[@]}" "$TOOLS/spinner" "$@" "$BATS_TEST_TMPDIR/shared" >"$BATS_TEST_TMPDIR/spinner" 3>&- &
	SPINNER=$!
	until [ -s "$BATS_TEST_TMPDIR/shared" ] && [ "$(shared 1)" != 0 ]; do
		! ended $SPINNER || return 1
		sleep 0.1
	done
	THREAD=$(shared 1)
	PROGRAM=$(awk '$1 == "Tgid:" { print $2 }' "/proc/$THREAD/status")
}

stop_spinning() {
	printf '\1' | dd of="$BATS_TEST_TMPDIR/shared" bs=1 conv=notrunc status=none
	wait $SPINNER
	SPINNER=
}

# The state in one word: none, configured, active.
state_of() { # TID
	awk '$1 == "Configured" && $3 == "quiesce" { s = "configured" }
		$1 == "Active" && $3 == "quiesce" { s = "active" }
		END { print s ? s : "none" }' "/proc/$1/task_isolation"
}

ended() { # PID of a child
	[ ! -d "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

setting() { # FIELD: of task_isolation.quiesce in the report report.json
	jq -r ".settings[] | select(.name == \"task_isolation.quiesce\") | $1" "$BATS_TEST_TMPDIR/report.json"
}

# The kernel's own checks find a fault of the patch.
no_complaint() {
	! dmesg | grep -E 'BUG:|WARNING:|Call Trace'
}
