# SPDX-License-Identifier: GPL-2.0-or-later
# The runner itself: what would let a broken test pass for a good one.
load helpers

run_on() { # the text of a bats file, with TEST for @test
	sed s/TEST/@test/ >"$BATS_TEST_TMPDIR/a.bats"
	run -1 env -u BATS_TEST_DIRNAME "$REPO/tests/run" "$BATS_TEST_TMPDIR/a.bats"
}

setup() {
	bats_require_minimum_version 1.5.0
	(lock_machine && clean_machine) || skip "a chisol run is on this machine"
}

@test "failing, skipped and passing tests are counted, and the skip is named with its reason" {
	run_on <<-'END'
		TEST "good" { true; }
		TEST "bad" { echo details; false; }
		TEST "later" { skip "no such 50% machine"; }
	END
	[[ $output == *"a.bats: later: no such 50% machine"* ]]
	[[ $output == *"# details"* ]]
	[ "${lines[-1]}" = "2 passed, 1 failed, 1 skipped" ] # the machine's own test is the second
}

@test "a file without a test is a failure" {
	run_on <<<'true'
	[ "${lines[-1]}" = "1 passed, 1 failed, 0 skipped" ]
}

@test "a program that dies after its tests passed is a failure" {
	printf '#!/bin/sh\necho 1..1; echo "ok 1 - fine"; kill -SEGV $$\n' >"$BATS_TEST_TMPDIR/dies"
	chmod +x "$BATS_TEST_TMPDIR/dies"
	run -1 "$REPO/tests/run" "$BATS_TEST_TMPDIR/dies"
	[ "${lines[-1]}" = "2 passed, 1 failed, 0 skipped" ]
}

@test "a program that runs fewer tests than it announced is a failure" {
	printf '#!/bin/sh\necho 1..2; echo "ok 1 - fine"\n' >"$BATS_TEST_TMPDIR/short"
	chmod +x "$BATS_TEST_TMPDIR/short"
	run -1 "$REPO/tests/run" "$BATS_TEST_TMPDIR/short"
	[ "${lines[-1]}" = "2 passed, 1 failed, 0 skipped" ]
}

@test "what a guest said before it had to be booted once more does not count" {
	cat >"$BATS_TEST_TMPDIR/guests" <<-'END'
		#!/bin/sh
		printf '%s\n' '# guest a: 6.1' 1..1 'ok 1 - in a' '# guest b: 6.1' 1..2 'not ok 1 - first in b'
		printf '%s\n' '# guest b: int3 panic of the emulation, once more' 1..2 'ok 1 - first in b' 'ok 2 - second in b'
	END
	chmod +x "$BATS_TEST_TMPDIR/guests"
	run -0 "$REPO/tests/run" "$BATS_TEST_TMPDIR/guests"
	[ "${lines[-1]}" = "4 passed, 0 failed, 0 skipped" ]
}

@test "how a guest ended is told apart: its tests, a hang, a panic, an early power-off, an emulator that crashed" {
	cd "$BATS_TEST_TMPDIR"
	mkdir bin amd64 arm64
	touch arm64/Image
	ends() { # STATUS SECONDS SCRIPT [ARCH]: what is told of an emulator that does this
		printf '#!/bin/sh\n%s\n' "$3" | tee bin/qemu-system-x86_64 >bin/qemu-system-aarch64
		chmod +x bin/*
		PATH=$PWD/bin:$PATH run "-$1" "$REPO/tests/guest/boot" "${4:-amd64}" initramfs 1 v2 "" "$2" log
	}
	ends 0 600 'exit 33' # isa-debug-exit: twice 16 + the tests' status, and one
	ends 1 600 'exit 35'
	ends 1 600 'echo guest: end 1; exit 0' arm64
	ends 124 1 'exec sleep 600'
	ends 125 600 'exit 1'
	ends 125 600 'kill -SEGV $$'
	ends 126 600 'exit 0'
	ends 126 600 'exit 0' arm64
	ends 127 600 'echo Kernel panic - not syncing; exit 0'
}
