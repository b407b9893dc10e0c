#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Two runs at a time on cgroup v1, where each moves everybody else to a set of its own.

load ../helpers
load guest

setup() {
	[ -e /sys/fs/cgroup/cpuset/cpuset.cpus ] || skip "no cpusets of v1"
	begin_snapshot
	sleep 600 3>&- &
	PIDS+=($!) BYSTANDER=$!
}

teardown() {
	touch go.2 go.3
	wait_for 2
	wait_for 3
	run_cleared
	no_complaint
}

# start CPU: a run there; comes back when its command runs.
start() {
	rm -f "go.$1" "there.$1"
	"$CHISOL" -c "$1" -s cgroup.policy=require -r "json:report.$1.json" -r "text:report.$1.txt" \
		sh -c 'echo $PPID >there.$0; until [ -e go.$0 ]; do sleep 0.1; done' "$1" 3>&- &
	eventually test -s "there.$1"
}

wait_for() { # CPU
	[ ! -s "there.$1" ] || wait "$(<"there.$1")" || true
}

end() { # CPU
	touch "go.$1"
	wait_for "$1"
	cat "report.$1.txt"
	jq -e '.verdict.settings == "kept" and ([.settings[] | select(.restored.state == "foreign" or .restored.state == "failed")] == [])' \
		"report.$1.json"
}

@test "what the first run moved away keeps off the second one's CPU, whichever ends first" {
	local first second
	for first in 2 3; do
		second=$((5 - first))
		[ "$(cpus_of "$BYSTANDER")" = 0-3 ]
		start 2
		[ "$(cpus_of "$BYSTANDER")" = 0-1,3 ]
		start 3
		[ "$(cpus_of "$BYSTANDER")" = 0-1 ]
		run -0 "$CHISOL" --status
		end "$first"
		[ "$(cpus_of "$BYSTANDER")" = "$([ "$first" = 2 ] && echo 0-1 || echo 0-1,3)" ]
		end "$second"
		[ "$(cpus_of "$BYSTANDER")" = 0-3 ]
		unchanged
	done
}

@test "a first run that was killed is put back without giving the second one's CPU away" {
	start 2
	start 3
	kill -9 "$(<there.2)"
	eventually "$CHISOL" --restore
	[ "$(cpus_of "$BYSTANDER")" = 0-1 ]
	end 3
	[ "$(cpus_of "$BYSTANDER")" = 0-3 ]
	unchanged
}
