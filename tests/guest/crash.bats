#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The crash sweep of tests/sweep.bats with what only a guest has: a partition and managed interrupts.

load ../helpers
load guest

@test "killed after any of a run's calls, the machine is put back: partition, masks, interrupts and all" {
	cat >"$BATS_TEST_TMPDIR/sweep.conf" <<-'END'
		[profile]
		policy = try
		[cgroup]
		partition = isolated
		[irq]
		default_affinity = yes
		[kthreads]
		move = yes
		[scheduler]
		fair_server = off
		[task_isolation]
		quiesce = vmstat_sync
		[vmstat]
		stat_interval = 120
	END
	SWEEP_PROFILES=$BATS_TEST_TMPDIR/sweep.conf bats --tap --filter '^killed after any call' \
		"$REPO/tests/sweep.bats" >"$BATS_TEST_TMPDIR/swept" 2>&1 || { cat "$BATS_TEST_TMPDIR/swept" && false; }
	grep -E '^# .*restored' "$BATS_TEST_TMPDIR/swept" >&3
	no_complaint
}
