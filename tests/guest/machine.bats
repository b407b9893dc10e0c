#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What every guest must be able to do, whatever its kernel, CPUs and cgroup layout.

load ../helpers

@test "chisol tells what this machine is" {
	run "$CHISOL" --info
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"$(uname -r)"* ]]
}

@test "a command runs pinned, and its status is kept" {
	run "$CHISOL" -c 1 sh -c 'grep Cpus_allowed_list /proc/self/status; exit 7'
	echo "$output"
	[ "$status" -eq 7 ]
	[[ $output == *"Cpus_allowed_list:"*[[:space:]]1 ]]
}

@test "the usage as posted works and leaves nothing behind" {
	machine_snapshot >"$BATS_TEST_TMPDIR/before"
	run "$CHISOL" -q vmstat_sync -I conf true
	echo "$output"
	[ "$status" -eq 0 ]
	machine_snapshot >"$BATS_TEST_TMPDIR/after"
	diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
}
