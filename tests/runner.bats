# SPDX-License-Identifier: GPL-2.0-or-later
# The runner itself: what would let a broken test pass for a good one.
load helpers

run_on() { # the text of a bats file, with TEST for @test
	sed s/TEST/@test/ >"$BATS_TEST_TMPDIR/a.bats"
	run -1 env -u BATS_TEST_DIRNAME "$REPO/tests/run" "$BATS_TEST_TMPDIR/a.bats"
}

setup() {
	bats_require_minimum_version 1.5.0
	[ -z "$(find /run/chisol -name '*.journal' 2>/dev/null)" ] || skip "a chisol run is on this machine"
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
