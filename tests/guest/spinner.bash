# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the task isolation guests' tests, after guest.bash: a spinner, and what the kernel does to its CPU meanwhile.

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

executed() { # FUNCTION [CPU]: how often
	grep -c "function $1\$" "$TRACING${2:+/per_cpu/cpu$2}/trace" || true
}

has_executed() { # FUNCTION TIMES
	(($(executed "$1") >= $2))
}

rounds() { # N: waits for so many of the shepherd
	eventually has_executed vmstat_shepherd $(($(executed vmstat_shepherd) + $1))
}

shared() { # WORD: of the spinner's shared memory
	od -An -t u4 -j $((4 * $1)) -N 4 "$BATS_TEST_TMPDIR/shared" | tr -d ' '
}

has_shared() { # WORD NUMBER: at least
	[ -s "$BATS_TEST_TMPDIR/shared" ] && (($(shared "$1") >= $2))
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
	eventually has_shared 1 1
	THREAD=$(shared 1)
	PROGRAM=$(awk '$1 == "Tgid:" { print $2 }' "/proc/$THREAD/status")
}

stop_spinning() {
	printf '\1' | dd of="$BATS_TEST_TMPDIR/shared" bs=1 conv=notrunc status=none
	wait "$SPINNER"
	SPINNER=
}

# The state in one word: none, configured, active.
state_of() { # TID
	awk '$1 == "Configured" && $3 == "quiesce" { s = "configured" }
		$1 == "Active" && $3 == "quiesce" { s = "active" }
		END { print s ? s : "none" }' "/proc/$1/task_isolation"
}

quiescing() { # FIELD: of that setting in report.json
	setting task_isolation.quiesce "$1"
}
