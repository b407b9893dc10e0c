# SPDX-License-Identifier: GPL-2.0-or-later
# The run's own cpusets, on whatever cgroup version this machine has.

bats_require_minimum_version 1.5.0
load helpers

setup_file() {
	lock_machine
	export TWOTHREADS=${TWOTHREADS:-$REPO/build/tests/tools/twothreads}
	[ -x "$TWOTHREADS" ] || make -s -C "$REPO" build/tests/tools/twothreads
}

setup() {
	((EUID == 0)) || skip "needs root"
	cd "$BATS_TEST_TMPDIR"
	# The last CPU that is not isolated at boot, and a housekeeping CPU.
	local isolated
	isolated=$(</sys/devices/system/cpu/isolated)
	((${#isolated} == 0)) || skip "CPUs are isolated at boot ($isolated)"
	CPU=$(</sys/devices/system/cpu/online)
	CPU=${CPU##*[-,]}
	((CPU > 0)) || skip "needs two CPUs"
	if [ -e /sys/fs/cgroup/cpuset/release_agent ]; then
		VERSION=1 TREE=/sys/fs/cgroup/cpuset TASKS=tasks
	else
		VERSION=2 TASKS=cgroup.threads
		for TREE in /sys/fs/cgroup /sys/fs/cgroup/unified ''; do
			! grep -qw cpuset "$TREE/cgroup.controllers" 2>/dev/null || [ -e $TREE/cgroup.type ] || break
		done
		[ -n "$TREE" ] || skip "no cpuset hierarchy whose root is visible"
	fi
	[ -w $TREE/cgroup.procs ] || skip "$TREE is read-only"
	PIDS=()
	machine_snapshot | sort >before
}

teardown() {
	((${#PIDS[@]} == 0)) || kill "${PIDS[@]}" 2>/dev/null || true
}

isolated() { # [OPTION...] COMMAND...: run on $CPU in its own cpuset
	"$CHISOL" -c $CPU -s cgroup.policy=require "$@"
}

unchanged() {
	machine_snapshot | sort | diff before -
}

cpus_of() { # PID...
	local pid
	for pid; do
		sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$pid/status"
	done
}

group_of() { # PID
	if [ $VERSION = 1 ]; then
		sed -n 's/^[0-9]*:\([^:]*,\)*cpuset\(,[^:]*\)*://p' "/proc/$1/cgroup"
	else
		sed -n 's/^0:://p' "/proc/$1/cgroup"
	fi
}

# Waits until the command of a run says that it is there.
wait_for() { # FILE
	local i
	for i in {1..200}; do
		[ ! -s "$1" ] || return 0
		sleep 0.05
	done
	return 1
}

@test "the command starts in a cpuset of its own, pinned to what was asked for" {
	export -f group_of
	export VERSION
	run -0 --separate-stderr isolated bash -c 'group_of self; sed -n "s/^Cpus_allowed_list:.//p" /proc/self/status'
	[[ ${lines[0]} == */chisol-* ]]
	[ "${lines[1]}" = $CPU ]
	unchanged
}

@test "a mask that chisol was started with does not limit the command" {
	run -0 --separate-stderr taskset -c 0 "$CHISOL" -c $CPU -s cgroup.policy=require cat /proc/self/status
	[[ $output == *"Cpus_allowed_list:"$'\t'"$CPU"$'\n'* ]]
}

@test "-c alone pins and makes no group" {
	run -0 --separate-stderr "$CHISOL" -c $CPU cat /proc/self/status /proc/self/cgroup
	[[ $output == *"Cpus_allowed_list:"$'\t'"$CPU"$'\n'* ]]
	[[ $output != *chisol-* ]]
}

@test "everybody else leaves the CPU for the run, and has its mask and group back afterwards" {
	taskset -c $CPU sleep 60 &
	PIDS+=($!)
	taskset -c 0 sleep 60 &
	PIDS+=($!)
	sleep 60 &
	PIDS+=($!)
	local masks groups pid
	for pid in "${PIDS[@]}"; do
		eventually grep -qx sleep "/proc/$pid/comm"
	done
	masks=$(cpus_of "${PIDS[@]}")
	groups=$(for pid in "${PIDS[@]}"; do group_of "$pid"; done)
	isolated bash -c 'for p; do sed -n "s/^Cpus_allowed_list:.//p" /proc/$p/status; done >during' - "${PIDS[@]}"
	[ "$(wc -l <during)" -eq 3 ]
	while read -r list; do refute has_cpu "$list" $CPU; done <during
	[ "$(cpus_of "${PIDS[@]}")" = "$masks" ]
	[ "$(for pid in "${PIDS[@]}"; do group_of "$pid"; done)" = "$groups" ]
	unchanged
}

@test "a task that is born of another one during the run is put back as well" {
	local before
	before=$(group_of self)
	(
		eventually [ -e go ]
		sleep 60 &
		echo $! >child
		wait
	) &
	PIDS+=($!)
	isolated timeout 60 bash -c 'touch go; while [ ! -s child ]; do sleep 0.05; done; cat /proc/$(<child)/cgroup >during'
	PIDS+=("$(<child)")
	[ $VERSION = 2 ] || grep -q chisol-.*/rest during
	[ "$(group_of "$(<child)")" = "$before" ]
	has_cpu "$(cpus_of "$(<child)")" $CPU
}

@test "what the command leaves behind moves to the group above, and the run's groups go" {
	isolated bash -c 'setsid sleep 60 >/dev/null 2>&1 & echo $! >daemon'
	PIDS+=("$(<daemon)")
	[[ $(group_of "$(<daemon)") != *chisol-* ]]
	kill -0 "$(<daemon)"
	unchanged
}

@test "what the command leaves behind is then where chisol was started" {
	local group=$TREE/start-$$ file
	mkdir "$group"
	for file in cpuset.cpus cpuset.mems; do
		[ $VERSION = 2 ] || cat "$TREE/$file" >"$group/$file"
	done
	(
		echo $BASHPID >"$group/cgroup.procs"
		isolated bash -c 'setsid sleep 60 >/dev/null 2>&1 & echo $! >daemon'
	)
	PIDS+=("$(<daemon)")
	[ "$(group_of "$(<daemon)")" = "/${group##*/}" ] || local elsewhere=1
	kill "$(<daemon)"
	eventually rmdir "$group" 2>/dev/null
	[ -z "${elsewhere-}" ]
	unchanged
}

@test "groups that the command makes below its own go with all that is in them" {
	local controller=
	[ $VERSION = 2 ] || controller=cpuset
	isolated bash -c 'own='$TREE'$(sed -n "s/^[0-9]*:'$controller'://p" /proc/self/cgroup)
		mkdir -p "$own/a/b/c" "$own/a/d"
		for g in a a/b a/d; do
			[ '$VERSION' = 2 ] || { cat "$own/cpuset.cpus" >"$own/$g/cpuset.cpus"; cat "$own/cpuset.mems" >"$own/$g/cpuset.mems"; }
			[ '$VERSION' = 1 ] || echo threaded >"$own/$g/cgroup.type"
			setsid sleep 60 >/dev/null 2>&1 &
			echo $! >>daemons
			echo $! >"$own/$g/'$TASKS'"
		done'
	mapfile -t PIDS <daemons
	((${#PIDS[@]} == 3))
	for pid in "${PIDS[@]}"; do
		[[ $(group_of "$pid") != *chisol-* ]]
	done
	unchanged
}

@test "v1: no set with the CPU balances load during the run, and the root does again afterwards" {
	[ $VERSION = 1 ] || skip "cgroup v2"
	isolated bash -c 'cd '$TREE'; cat cpuset.sched_load_balance chisol-*/cpuset.sched_load_balance chisol-*/{hot,help}/cpuset.sched_load_balance' >during
	[ "$(tr '\n' ' ' <during)" = "0 0 0 1 " ]
	[ "$(<$TREE/cpuset.sched_load_balance)" = 1 ]
}

@test "v2: the CPU is in an isolated partition during the run, and back in the root afterwards" {
	[ $VERSION = 2 ] || skip "cgroup v1"
	isolated bash -c 'cat '$TREE'$(sed -n s/^0:://p /proc/self/cgroup)/cpuset.cpus.partition '$TREE'/cpuset.cpus.effective' >during
	[ "$(head -1 during)" = isolated ]
	refute has_cpu "$(tail -1 during)" $CPU
	has_cpu "$(<$TREE/cpuset.cpus.effective)" $CPU
	unchanged
}

@test "a second thread of the command can be put on the housekeeping CPUs" {
	isolated -s cgroup.partition=member bash -c \
		'exec "$TWOTHREADS" '$TREE'/chisol-*/help/'$TASKS >told
	grep -qx "main $CPU" told
	local list
	list=$(sed -n 's/^second //p' told)
	has_cpu "$list" 0
	refute has_cpu "$list" $CPU
	unchanged
}

@test "a killed run is put back by --restore, its command's leftovers and all" {
	sleep 60 &
	PIDS+=($!)
	isolated bash -c 'setsid sleep 60 >/dev/null 2>&1 & echo $! >daemon; echo $PPID >there; sleep 60' &
	local run=$!
	PIDS+=($run)
	wait_for there
	PIDS+=("$(<daemon)")
	kill -KILL "$(<there)"
	wait $run || true
	refute unchanged
	"$CHISOL" --restore
	[[ $(group_of "$(<daemon)") != *chisol-* ]]
	[[ $(group_of "${PIDS[0]}") != *chisol-* ]]
	unchanged
}

@test "v1: a set of somebody else that balances load over the CPU is named, not touched" {
	[ $VERSION = 1 ] || skip "cgroup v2"
	mkdir $TREE/other
	echo 0-$CPU >$TREE/other/cpuset.cpus
	machine_snapshot | sort >before
	run -0 isolated -v true
	local now
	now=$(machine_snapshot | sort | diff before -) || true
	rmdir $TREE/other
	[[ $output == *cpu-conflict* || $output == *"$TREE/other"* ]]
	[ -z "$now" ] || { echo "$now"; false; }
}

@test "CPUs that another group has exclusively end the launch, the group named and nothing changed" {
	if [ $VERSION = 1 ]; then
		mkdir $TREE/other
		echo $CPU >$TREE/other/cpuset.cpus
		echo 1 >$TREE/other/cpuset.cpu_exclusive
	else
		grep -qw cpuset $TREE/cgroup.subtree_control || skip "no other group has cpusets here"
		mkdir $TREE/other
		echo $CPU >$TREE/other/cpuset.cpus
		echo isolated >$TREE/other/cpuset.cpus.partition
	fi
	machine_snapshot | sort >before
	run isolated touch ran
	local now
	now=$(machine_snapshot | sort | diff before -) || true
	rmdir $TREE/other
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	[[ ${output//[$'\n' ]/} == *"$TREE/other"* ]]
	[ -z "$now" ] || { echo "$now"; false; }
}

@test "a group to run in that does not exist ends the launch" {
	run -125 isolated -s cgroup.parent=nowhere touch ran
	[ ! -e ran ]
	[[ $output == *nowhere* ]]
	unchanged
}

@test "a task that forks without pause is evicted with all its children" {
	bash -c 'while :; do (:) & wait; done' &
	PIDS+=($!)
	isolated bash -c 'for i in {1..20}; do sed -n "s/^Cpus_allowed_list:.//p" /proc/'$!'/status; sleep 0.01; done >during'
	while read -r list; do refute has_cpu "$list" $CPU; done <during
	kill "${PIDS[@]}"
	wait 2>/dev/null || true
	PIDS=()
	unchanged
}
