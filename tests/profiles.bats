# SPDX-License-Identifier: GPL-2.0-or-later
# The profiles in conf/, on every kind of machine.
load helpers

setup_file() {
	unset CHISOL_PROFILE_PATH XDG_CONFIG_HOME SUDO_UID DOAS_USER PKEXEC_UID
}

# tree KIND: a recorded machine of two CPUs with that kind of cgroups.
tree() {
	"$REPO/build/tests/trees/mktree" --cgroup="$1" "$BATS_TEST_TMPDIR/$1" 2 4
}

setup() {
	export HOME=$BATS_TEST_TMPDIR
	cd "$HOME"
}

@test "every profile is found by name from a source tree, and says what it is for" {
	local conf
	for conf in "$REPO"/conf/*.conf; do
		"$CHISOL" -n -c 1 -p "$(basename "$conf" .conf)" true
		grep -q '^description = ' "$conf"
	done
}

@test "every profile can be planned on cgroup v1, on v2 and without cpusets, with two CPUs" {
	[ -x "$REPO/build/tests/trees/mktree" ] || skip "build/tests/trees/mktree is not built"
	local kind conf
	for kind in v1 v2 none; do
		tree $kind
		for conf in "$REPO"/conf/*.conf; do
			"$CHISOL" -n --root "$BATS_TEST_TMPDIR/$kind" -c 1 -p "$conf" >plan
			grep -q 'stat_interval' plan
		done
	done
}

@test "no profile requires what a plain machine does not have" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ "$(nproc --all)" -ge 2 ] || skip "needs two CPUs"
	lock_machine
	local conf
	machine_snapshot | sort >before
	for conf in "$REPO"/conf/*.conf; do
		"$CHISOL" -c 1 -p "$conf" true
	done
	machine_snapshot | sort | diff before -
}

@test "a profile that is copied and changed is found by its name before the shipped one" {
	mkdir -p "$HOME/.config/chisol"
	sed 's/^description = .*/description = mine/; s/^policy = try/policy = off/' "$REPO/conf/oslat.conf" \
		>"$HOME/.config/chisol/oslat.conf"
	[[ $("$CHISOL" -n -c 1 -p oslat true) != *irq.* ]]
	# Not under sudo, where it would be the caller's word against the administrator's.
	[ "$(id -u)" != 0 ] || [[ $(SUDO_UID=1000 "$CHISOL" -n -c 1 -p oslat true) == *irq.* ]]
}
