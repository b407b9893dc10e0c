# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/deps on machines that are not as it would like.
load helpers

setup() { # a PATH with nothing but what the script itself uses
	mkdir "$BATS_TEST_TMPDIR/bin"
	local tool
	for tool in sh cat sort tr id mktemp rm; do
		ln -s "$(command -v $tool)" "$BATS_TEST_TMPDIR/bin/$tool"
	done
}

@test "without apt-get, what is missing is listed and it fails" {
	PATH=$BATS_TEST_TMPDIR/bin run "$REPO/scripts/deps" build
	[ "$status" -eq 1 ]
	[[ $output == *"missing: "*gcc*libcap-ng-dev*libjansson-dev* ]]
	[[ $output != *bats* ]]
}

@test "a failing apt-get ends it with what apt-get said" {
	[ "$(id -u)" -eq 0 ] || skip "needs root: nobody else would call apt-get"
	printf '#!/bin/sh\necho E: no route to the archive; exit 100\n' >"$BATS_TEST_TMPDIR/bin/apt-get"
	chmod +x "$BATS_TEST_TMPDIR/bin/apt-get"
	PATH=$BATS_TEST_TMPDIR/bin run "$REPO/scripts/deps" build
	[ "$status" -eq 1 ]
	[[ $output == *"E: no route to the archive"* ]]
}

@test "nothing is said when nothing is missing" {
	"$REPO/scripts/deps" build check || skip "something is missing here"
	run "$REPO/scripts/deps" build check
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}
