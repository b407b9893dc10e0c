#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What every guest must be able to do, whatever its kernel, CPUs and cgroup layout.

load ../helpers

@test "chisol tells what this machine is" {
	run "$CHISOL" --info
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"$(uname -r)"* ]]
	[[ $output != *"(null)"* ]] # as kernels write that no CPU is nohz_full
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

# Linux 6.4 gave the posted number of PR_ISOL_ACTIVATE_SET to one that turns page merging on.
@test "the command of the usage as posted has neither page merging nor MDWE turned on" {
	run "$CHISOL" -q vmstat_sync -a -I active "$REPO/build/tests/tools/prctlcheck"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"MEMORY_MERGE=0 MDWE=0"* ]] || [[ $output == *"MEMORY_MERGE=-1 MDWE=-1"* ]] ||
		[[ $output == *"MEMORY_MERGE=-1 MDWE=0"* ]]
}
