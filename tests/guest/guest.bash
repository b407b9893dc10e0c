# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the tests in guests: loaded after ../helpers.

bats_require_minimum_version 1.5.0

CPU_DIR=/sys/devices/system/cpu
# Seconds, more than any test takes: of a spinner that the test ends.
UNTIL_ENDED=3600

# The kernel is at least MAJOR.MINOR.
kernel_is() {
	printf '%s\n' "$1" "$(uname -r)" | sort -CV
}

cpus_of() { # PID
	sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$1/status"
}

# run_started OPTION...: a run in the background, its command waiting for the file "go"; comes back when it runs. RUN is
# chisol, COMMAND what it runs; the report will be in report.json.
run_started() {
	rm -f go there
	"$CHISOL" -r json:report.json -r text:report.txt "$@" \
		sh -c 'echo $$ >there; until [ -e go ]; do sleep 0.1; done; cat /proc/self/status >status' 3>&- &
	RUN=$!
	eventually test -s there
	COMMAND=$(<there)
}

# In teardown: a failed test leaves nothing behind that holds the next one up.
run_cleared() {
	local pid
	touch go
	for pid in "${PIDS[@]}" $RUN; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
}

ended() { # PID: and nobody need have waited for it
	[ ! -d "/proc/$1" ] || grep -qs '^State:.Z' "/proc/$1/status"
}

runs() { # PID COMMAND: it has become it
	[ "$(<"/proc/$1/comm")" = "$2" ]
}

run_ended() { # [STATUS]
	local status=0
	touch go
	wait "$RUN" || status=$?
	RUN=
	cat report.txt
	[ "$status" -eq "${1:-0}" ]
}

setting() { # NAME FIELD: of the report
	jq -r --arg name "$1" '.settings[] | select(.name == $name) | .'"$2" report.json
}

# What people read, as one line.
text() { # [FILE]
	tr -s '\n ' ' ' <"${1:-report.txt}"
}

has_spun() { # PID SECONDS: of a CPU's time
	local stat
	read -r -a stat <"/proc/$1/stat" # a program would have to be started beside the spinner
	((stat[13] >= 100 * $2))
}

# In a test: the fair server of CPU 2 can be turned off. Linux 6.12 may lose count of deadline bandwidth when partitions
# come and go, and then lets nobody.
needs_fair_server_off() {
	"$CHISOL" -c 2 -s scheduler.fair_server=off -s scheduler.policy=require true 2>refusal && return
	cat refusal
	! grep -q EBUSY refusal || skip "the kernel has lost count of deadline bandwidth"
	return 1
}

# refreshed FILE: has the kernel send a worker to every CPU, in the window of "quiet" whose pid is in the file and who
# settles for up to a second, and ends that. The write returns when all workers are done.
refreshed() {
	eventually test -s "$1"
	eventually has_spun "$(<"$1")" 2
	echo 1 >/proc/sys/vm/stat_refresh
	kill "$(<"$1")"
}

# The numbers of the network card's interrupts.
card_irqs() {
	awk -F: '/virtio[0-9]+-(input|output)/ { sub(" *", "", $1); print $1 }' /proc/interrupts
}

snapshot() {
	machine_snapshot | sort
	grep -Hs '' /sys/devices/virtual/workqueue/cpumask* $CPU_DIR/online
}

same() { # as at "snapshot >before"
	snapshot | diff before -
}

unchanged() { # some of it comes back a moment after a run
	for _ in {1..10}; do
		same >differs && return
		sleep 1
	done
	cat differs
	return 1
}

# The kernel itself found no fault, other than Linux 6.12 one of its own, see isolcore/scheduler.c.
no_complaint() {
	refute grep -E 'BUG:|WARNING:|Oops|general protection' <(dmesg | grep -v 'WARNING: .* task_non_contending+')
}

# For setup: in the test's directory, with no run and nothing else started.
begin_test() {
	cd "$BATS_TEST_TMPDIR" || return 1
	PIDS=() RUN=''
}

begin_snapshot() {
	begin_test
	snapshot >before
}

# The test itself on CPUs 0 and 1, for what is to have CPU 2 for itself.
beside_nohz_full() {
	grep -qw 2 <(tr ',-' '\n\n' <$CPU_DIR/nohz_full) || skip "CPU 2 is not nohz_full here"
	begin_test
	taskset -pc 0,1 $BASHPID >/dev/null
}
