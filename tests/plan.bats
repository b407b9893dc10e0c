# SPDX-License-Identifier: GPL-2.0-or-later
# Plans and checks: they change nothing, also against a recorded machine.
load helpers

setup_file() {
	requires "build/tests/trees/mktree (make programs)" [ -x "$REPO/build/tests/trees/mktree" ] || return 0
	export TREE=$BATS_FILE_TMPDIR/tree
	"$REPO/build/tests/trees/mktree" --managed=4 --cgroup=v1 --interrupts "$TREE" 8 24
}

plan() { # FORMAT [OPTION...]: a plan for the recorded machine
	local format=$1
	shift
	"$CHISOL" --root "$TREE" --dry-run="$format" -c 2-3 -s irq.policy=try "$@"
}

make_as_asked() { # DIR: a copy of the recorded machine that has what a plan asks for
	local path value
	cp -r "$TREE" "$1"
	while IFS=$'\t' read -r path value; do
		echo "$value" >"$1$path"
	done < <(plan json | jq -r '.settings[] | select(.granted.state == "planned" and .path and .asked and .asked != .found) | [.path, .asked] | @tsv')
}

@test "a plan names path, found and wanted of each write, and the command" {
	run plan text ./app 'a b'
	[ "$status" -eq 0 ]
	[[ $output == *"/proc/irq/"*"/smp_affinity"*" -> "* ]]
	[[ $output == *"Then: ./app 'a b'"* ]]
	refute grep -qE '.{101}' <<<"$output"
}

@test "a plan in JSON is as its schema says and has the same settings" {
	plan json ./app >"$BATS_TEST_TMPDIR/plan"
	valid "$BATS_TEST_TMPDIR/plan"
	[ "$(jq '.settings | length' "$BATS_TEST_TMPDIR/plan")" -eq "$(plan text ./app | grep -cE '^ +([0-9]+\.|-) ')" ]
}

@test "a managed interrupt is exposed in the plan, and not written in the script" {
	local path
	plan json ./app >"$BATS_TEST_TMPDIR/plan"
	plan sh ./app >"$BATS_TEST_TMPDIR/script"
	path=$(jq -r 'first(.settings[] | select(.reason == "managed-irq")).path' "$BATS_TEST_TMPDIR/plan")
	[[ $path == /proc/irq/* ]]
	refute grep -q "> '$path'" "$BATS_TEST_TMPDIR/script"
}

@test "a plan as a script is sound sh, whatever the command is called" {
	plan sh "it's" '$(reboot)' '`x`' $'a\nb' '' '#' >"$BATS_TEST_TMPDIR/script"
	sh -n "$BATS_TEST_TMPDIR/script"
	tail -2 "$BATS_TEST_TMPDIR/script" | head -1 | grep -qF "exec 'it'\\''s' '\$(reboot)'"
	command -v shellcheck >/dev/null || skip "shellcheck is not installed; sh -n was clean"
	shellcheck -s sh "$BATS_TEST_TMPDIR/script"
}

@test "a plan as a script sets CPUs as chisol does, and becomes the command" {
	local cpu
	cpu=$(($(nproc --all) - 1))
	"$CHISOL" --dry-run=sh -c $cpu sh -c 'echo $CHISOL_CPUS; taskset -pc $$' >"$BATS_TEST_TMPDIR/script"
	run sh "$BATS_TEST_TMPDIR/script"
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "$cpu" || ${lines[-2]} == "$cpu" ]]
	[[ ${lines[-1]} == *"list: $cpu" ]]
}

@test "a check tells one line per finding, and exits with 1" {
	run "$CHISOL" --root "$TREE" --check -c 2-3 -s irq.policy=try
	[ "$status" -eq 1 ]
	[[ $output == *"irq."*".affinity: is "*", should be "*"(/proc/irq/"* ]]
	[[ ${lines[-1]} == "not-as-asked: "* ]]
	[ "$(grep -c 'exposed: ' <<<"$output")" -lt 4 ]
}

@test "a check passes a machine that is as asked, and fails none for what only a run makes" {
	make_as_asked "$BATS_TEST_TMPDIR/tree"
	run "$CHISOL" --root "$BATS_TEST_TMPDIR/tree" --check -c 2-3 -s irq.policy=try -s cgroup.partition=member
	echo "$output"
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} == "as-asked: "* ]]
}

@test "a check that cannot read a setting says that it could not tell" {
	make_as_asked "$BATS_TEST_TMPDIR/tree"
	printf 'a\nb\n' >"$BATS_TEST_TMPDIR/tree/proc/irq/default_smp_affinity"
	run "$CHISOL" --root "$BATS_TEST_TMPDIR/tree" --check -c 2-3 -s irq.policy=try
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"unreadable (/proc/irq/default_smp_affinity): "* ]]
}

@test "a check that nothing is asked of passes no machine" {
	run "$CHISOL" --root "$TREE" --check
	[ "$status" -eq 125 ]
	[[ $output == *"could-not-tell: 0 settings"* && $output == *"there is nothing to check"* ]]
}

@test "a check names the groups that claim the CPUs" {
	local group=$BATS_TEST_TMPDIR/tree/sys/fs/cgroup/docker
	"$REPO/build/tests/trees/mktree" "$BATS_TEST_TMPDIR/tree" 8 24
	mkdir "$group"
	echo 3-4 | tee "$group"/cpuset.cpus{,.effective,.exclusive,.exclusive.effective} >/dev/null
	echo root >"$group/cpuset.cpus.partition"
	echo cpuset >"$group/cgroup.controllers"
	: >"$group/cgroup.procs"
	run "$CHISOL" --root "$BATS_TEST_TMPDIR/tree" --check -c 2-3 -s cgroup.partition=isolated
	[ "$status" -eq 0 ]
	grep -x 'note: other groups claim .*/sys/fs/cgroup/docker (CPUs 3-4)' <<<"$output"
}

@test "a check in JSON is as its schema says, with the verdict of the exit status" {
	"$CHISOL" --root "$TREE" --check --report=json -c 2-3 -s irq.policy=try >"$BATS_TEST_TMPDIR/check" || [ $? -eq 1 ]
	valid "$BATS_TEST_TMPDIR/check"
	jq -e '.verdict == "not-as-asked" and (.findings | any(.kind == "differs"))' "$BATS_TEST_TMPDIR/check"
}

@test "neither plan nor check writes to the recorded machine" {
	local before
	before=$(cd "$TREE" && find . -type f -exec sha1sum {} + | sort)
	plan text ./app >/dev/null
	"$CHISOL" --root "$TREE" --check -c 2-3 -s irq.policy=try >/dev/null || true
	[ "$before" = "$(cd "$TREE" && find . -type f -exec sha1sum {} + | sort)" ]
}

@test "--info says what an ordinary user cannot have, and why" {
	[ "$(id -u)" = 0 ] || skip "needs root, to be somebody else"
	run "$CHISOL" -u nobody "$CHISOL" --info
	[[ $output == *"by stand-in (vm.stat_interval, now "*" s), which takes root"* ]]
	[[ $output == *"--probe=watch is not possible: cannot open tracefs"*"it takes root"* ]]
}

@test "--check and --info name the CPUs that share a core with the command's and are not isolated" {
	local tree=$BATS_TEST_TMPDIR/tree
	cp -r "$TREE" "$tree" # CPU N shares its core with CPU N+4
	run "$CHISOL" --root "$tree" --check -c 2-3
	[[ $output == *"advice: CPU 2-3 shares its core with CPU 6-7, "*"isolcpus=6-7"* ]]
	run "$CHISOL" --root "$tree" --check -c 2,6
	[[ $output != *"shares its core"* ]]
	mkdir -p "$tree/sys/devices/system/cpu/smt"
	echo 1 >"$tree/sys/devices/system/cpu/smt/active"
	echo 2-3,6 >"$tree/sys/devices/system/cpu/isolated"
	run "$CHISOL" --root "$tree" --check -c 2
	[[ $output != *"shares its core"* ]]
	run "$CHISOL" --root "$tree" --info
	[[ $output == *"SMT: "*" on; on the core of an isolated CPU, and not isolated: 7"* ]]
}

@test "--info says where a cpu cgroup refuses realtime policies" {
	local tree=$BATS_TEST_TMPDIR/tree own
	own=$tree/sys/fs/cgroup/cpu,cpuacct/user.slice
	cp -r "$TREE" "$tree"
	mkdir -p "$own" "$tree/proc/self"
	echo '40 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct' >"$tree/proc/self/mountinfo"
	echo '4:cpu,cpuacct:/user.slice' >"$tree/proc/self/cgroup"
	echo 950000 >"$tree/proc/sys/kernel/sched_rt_runtime_us"
	echo 1000000 >"$tree/proc/sys/kernel/sched_rt_period_us"
	run "$CHISOL" --root "$tree" --info
	[[ $output == *"realtime: "*" up to 950000 us in 1000000 us"* ]]
	echo 0 >"$own/cpu.rt_runtime_us"
	run "$CHISOL" --root "$tree" --info
	[[ $output == *"realtime: "*" refused "*"(EPERM): /sys/fs/cgroup/cpu,cpuacct/user.slice/cpu.rt_runtime_us is 0"* ]]
	echo -1 >"$tree/proc/sys/kernel/sched_rt_runtime_us"
	run "$CHISOL" --root "$tree" --info
	[[ $output == *"realtime: "*" without limit"* ]]
}
