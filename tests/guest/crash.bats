#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The crash sweep of tests/sweep.bats with what only a guest has: a partition and managed interrupts.

load ../helpers
load guest

# Which of each four calls fails: another one in each guest of the matrix, so that together they fail all.
which_fourth() {
	if ! kernel_is 6.7; then
		echo 0
	elif kernel_is 6.13; then
		echo 1
	elif grep -q '[0-9]' $CPU_DIR/nohz_full; then
		echo 2
	else
		echo 3
	fi
}

sweep() { # REGEX [ONE_IN [WHICH]]: its tests of that name, with that one of so many calls
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
		policy = try # Linux 6.12 now and then says EBUSY
		fair_server = off
		[task_isolation]
		quiesce = vmstat_sync
		[vmstat]
		stat_interval = 120
	END
	SWEEP_PROFILES=$BATS_TEST_TMPDIR/sweep.conf SWEEP_ONE_IN=${2:-1} SWEEP_WHICH=${3:-0} bats --tap --filter "$1|^afterwards" \
		"$REPO/tests/sweep.bats" >"$BATS_TEST_TMPDIR/swept" 2>&1 || { cat "$BATS_TEST_TMPDIR/swept" && false; }
	grep -E '^# .*restored' "$BATS_TEST_TMPDIR/swept" >&3
	refute grep '# skip' "$BATS_TEST_TMPDIR/swept"
	no_complaint
}

@test "killed after any of a run's calls, the machine is put back: partition, masks, interrupts and all" {
	sweep '^killed after any call'
}

@test "killed while it puts the machine back, it is done by the next --restore; and so is what the kernel rounds" {
	sweep '^a --restore|^killed between'
}

@test "whatever call fails, the machine is put back; what is required ends the launch, what is tried is reported" {
	sweep '^whatever call fails' 4 "$(which_fourth)"
}
