#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# --probe=thread: libisolprobe's thread in the run's group for helpers, on CPUs that the command has for itself.

load ../helpers
load guest

setup() {
	HABITS=$REPO/build/tests/tools/habits
	begin_test
}

teardown() {
	run_cleared
	no_complaint
}

# As run_started, with a command that is linked dynamically: the guest's sh is not.
followed() { # OPTION...
	rm -f go there
	"$CHISOL" -r json:report.json -r text:report.txt --probe=thread "$@" \
		bash -c 'echo $$ >there; until [ -e go ]; do sleep 0.1; done' 3>&- &
	RUN=$!
	eventually test -s there
	COMMAND=$(<there)
}

# The library's thread in the command.
probe_thread() {
	grep -lx chisol-probe "/proc/$COMMAND"/task/*/comm | sed 's|/comm$||' | grep .
}

turns() { # TASK, a directory in /proc: how often it went to sleep
	awk '/^voluntary_ctxt_switches:/ { print $2 }' "$1/status"
}

has_turned() { # TASK TIMES
	(($(turns "$1") >= $2))
}

# Until one who looks now and then, and sleeps between, has looked some more times.
looked() { # TASK
	eventually has_turned "$1" $(($(turns "$1") + 8))
}

threads() { # FILTER
	jq -e ".probe.threads | $1" report.json
}

@test "the library's thread is moved to the group for helpers, and the command's stay where they are" {
	followed -c 2-3 -s cgroup.policy=require -s cgroup.helpers=yes
	eventually probe_thread
	eventually grep -q '/help$' "$(probe_thread)/cgroup"
	[ "$(cpus_of "$COMMAND")" = 2-3 ]
	refute grep -qE '[23]' <<<"$(sed -n 's/^Cpus_allowed_list:\t//p' "$(probe_thread)/status")"
	looked "$(probe_thread)"
	run_ended
	threads '.library.loaded and .library.helper_group and .library.looks > 0'
	threads '.list[0] | .main and .hot'
}

@test "without a group for helpers it goes by itself where the cpuset allows, and else chisol looks from outside" {
	followed -c 2-3 -s cgroup.policy=require -s cgroup.helpers=no
	sleep 1 # at first chisol waits for the library's thread more often than it looks
	looked "/proc/$RUN"
	run_ended
	threads '.library.loaded and (.library.looks > 0 or .looks_from_outside > 1)'
	threads '.library.helper_group | not'
}

@test "who interrupts the threads of the program is named, on this kernel and this machine, too" {
	"$CHISOL" -c 2 --probe=thread -r json:report.json "$HABITS" own-enemy
	threads '.own_calls[] | select(.call == "munmap" and .count == 500) | .object | endswith("habits")'
	threads 'any(.list[]; .name == "spinner" and .hot and .on_workload)'
}

@test "threads, forks, signals, descriptors and filters are as without the library" {
	local habit
	for habit in thousand fork signals descriptors close-all many filter; do
		"$CHISOL" -c 2 --probe=thread -r json:report.json "$HABITS" $habit </dev/null 3>&-
		threads '.library.loaded'
	done
}
