#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Partitions of cgroup v2, made while the machine runs, in the cases that go wrong: CPUs 2 and 3 of four, nothing isolated at boot.

load ../helpers
load guest

TREE=/sys/fs/cgroup
UNIT=$TREE/system.slice/app.service

setup() {
	begin_snapshot
}

teardown() {
	local group
	run_cleared
	echo 1 >$CPU_DIR/cpu3/online
	[ -z "${IRQ_FILE:-}" ] || echo "$IRQ_MASK" >"$IRQ_FILE"
	echo $BASHPID >$TREE/cgroup.procs
	for group in $TREE/other $UNIT/main $UNIT $TREE/{system.slice,user.slice,init.scope}; do
		[ ! -d $group ] || eventually rmdir $group
	done
	echo -cpuset >$TREE/cgroup.subtree_control 2>/dev/null || true
	no_complaint
}

other() { # CPUS: a group of somebody else
	echo +cpuset >$TREE/cgroup.subtree_control
	mkdir -p $TREE/other
	echo "$1" >$TREE/other/cpuset.cpus
}

of_run() { # FILE: of the group with the run's CPUs
	cat $TREE/chisol-*/hot/$1 2>/dev/null || cat $TREE/chisol-*/$1
}

partition() { # the run's partition, as the kernel says it
	of_run cpuset.cpus.partition
}

has_lost() { # CPU: the run's group
	refute has_cpu "$(of_run cpuset.cpus.effective)" "$1"
}

@test "two CPUs become a partition, nobody else may use them, and afterwards everything is as before" {
	sleep 600 3>&- &
	PIDS+=($!)
	run_started -c 2-3 -s cgroup.policy=require
	[ "$(partition)" = isolated ]
	[ "$(cpus_of "$COMMAND")" = 2-3 ]
	[ "$(cpus_of "${PIDS[0]}")" = 0-1 ]
	[ "$(<$TREE/cpuset.cpus.effective)" = 0-1 ]
	run_ended
	unchanged
	has_cpu "$(cpus_of "${PIDS[0]}")" 3
}

@test "a mask that chisol was started with does not take a CPU from the command" {
	taskset -pc 0-2 $BASHPID >/dev/null
	run_started -c 2-3 -s cgroup.policy=require
	[ "$(cpus_of "$COMMAND")" = 2-3 ]
	run_ended
}

@test "a task that was pinned to a CPU of the partition has its own mask back, and so has one pinned beside it" {
	local mask
	for mask in 2 2-3 1,3 0; do
		taskset -c $mask sleep 600 3>&- &
		PIDS+=($!)
		eventually runs $! sleep
	done
	run_started -c 2-3 -s cgroup.policy=require
	for pid in "${PIDS[@]}"; do
		refute has_cpu "$(cpus_of "$pid")" 2
		refute has_cpu "$(cpus_of "$pid")" 3
	done
	run_ended
	[ "$(for pid in "${PIDS[@]}"; do cpus_of "$pid"; done | tr '\n' ' ')" = "2 2-3 1,3 0 " ]
}

@test "tasks in groups of others have their own masks afterwards, with a partition and without" {
	local mask option
	mkdir $TREE/other
	for mask in 0 0-1 2 1-2; do
		taskset -c $mask sleep 600 3>&- &
		PIDS+=($!)
		eventually runs $! sleep
		echo $! >$TREE/other/cgroup.procs
	done
	for option in cgroup.partition=auto cgroup.partition=member; do
		run_started -c 2-3 -s cgroup.policy=require -s $option
		run_ended
		[ "$(for pid in "${PIDS[@]}"; do cpus_of "$pid"; done | tr '\n' ' ')" = "0 0-1 2 1-2 " ]
	done
	kill "${PIDS[@]}"
	eventually rmdir $TREE/other
}

@test "kernel threads that the kernel keeps off nohz_full CPUs are kept off them again after a run" {
	masks() { awk -F '\t' '/^Name:/ { keep = $2 !~ /^kworker/ } /^PPid:/ { keep = keep && $2 == 2 }
		/^Cpus_allowed_list:/ && keep { print FILENAME, $2 }' /proc/[0-9]*/status; }
	masks >masks
	run_started -c 2-3 -s cgroup.policy=require
	run_ended
	masks | diff masks -
}

@test "the workqueues' mask is the same after a run as before, whatever the partition made of it" {
	run_started -c 2-3 -s cgroup.policy=require
	run_ended
	unchanged
}

@test "a partition that the kernel refuses is told with its reason, and if it is required nothing runs" {
	other 2-3
	echo root >$TREE/other/cpuset.cpus.partition # so it cannot be had twice
	snapshot >before
	run -125 "$CHISOL" -c 2-3 -s cgroup.policy=require touch ran
	[ ! -e ran ]
	[[ $(text <(echo "$output")) == *"$TREE/other"* ]]
	unchanged
}

@test "CPUs that another group claims without a partition are told, and the run is what the report says" {
	other 2-3
	snapshot >before
	run_started -c 2-3 -s cgroup.policy=try
	partition >now || true
	echo "# Linux $(uname -r), claimed by another group: $(<now)" >&3
	run_ended
	[[ $(text) == *"$TREE/other"* ]]
	[[ $(<now) == "isolated invalid"* ]] # on each kernel so far
	[ "$(jq -r '.settings[] | select(.asked == "isolated") | .granted.state' report.json)" = refused ]
	[[ $(text) == *"$(sed 's/.*(\(.*\))/\1/' now)"* ]]
	unchanged
}

@test "a sibling that claims a CPU of the live partition: drift where the kernel breaks it, kept where it does not" {
	run_started -c 2-3 -s cgroup.policy=require --fail-on drift
	mkdir $TREE/other
	echo 3 >$TREE/other/cpuset.cpus || true
	partition >now
	echo "# Linux $(uname -r), a sibling that claims a CPU: $(<now)" >&3
	if kernel_is 6.7; then # exclusive CPUs are nobody else's to claim
		[ "$(<now)" = isolated ]
		run_ended
	else
		[[ $(<now) == "isolated invalid"* ]]
		run_ended 122
		[[ $(text) == *"drifted cgroup."*partition* ]]
	fi
	rmdir $TREE/other
	echo -cpuset >$TREE/cgroup.subtree_control # left alone, as the sibling used it
	unchanged
}

@test "somebody who ends the partition during the run is seen as drift, and nothing of the run is left" {
	run_started -c 2-3 -s cgroup.policy=require --fail-on drift
	local file
	file=$(find $TREE/chisol-* -name cpuset.cpus.partition -exec grep -lx isolated {} +)
	echo member >"$file"
	run_ended 122
	[[ $(text) == *"drifted cgroup."*partition* ]]
	unchanged
}

@test "the scheduler has no domain on the CPUs of a run, which is told with what it means for threads, and has afterwards" {
	local domains=/sys/kernel/debug/sched/domains
	echo Y >/sys/kernel/debug/sched/verbose
	[ -e $domains/cpu2/domain0 ] || skip "this kernel does not show its scheduling domains"
	run_started -c 2-3 -s cgroup.policy=require
	ls $domains/cpu*
	[ ! -e $domains/cpu2/domain0 ]
	[ ! -e $domains/cpu3/domain0 ]
	[ -e $domains/cpu1/domain0 ]
	run_ended
	[[ $(text) == *"load is not balanced among the workload's 2 CPUs"* ]]
	eventually test -e $domains/cpu2/domain0
	[ -e $domains/cpu3/domain0 ]
}

@test "a CPU of the partition that goes offline during the run is drift, and all is put back once it is online" {
	run_started -c 2-3 -s cgroup.policy=require --fail-on drift
	echo 0 >$CPU_DIR/cpu3/online
	[ "$(<$CPU_DIR/online)" = 0-2 ]
	eventually has_lost 3
	run_ended 122
	echo 1 >$CPU_DIR/cpu3/online
	unchanged
	[ "$(<$TREE/cpuset.cpus.effective)" = 0-3 ]
}

@test "what was pinned to a CPU that went offline during the run is left where the kernel put it, and the run is over" {
	local irq
	irq=$(card_irqs | head -n 1)
	IRQ_FILE=/proc/irq/$irq/smp_affinity_list IRQ_MASK=$(<"/proc/irq/$irq/smp_affinity_list")
	echo 3 >"$IRQ_FILE"
	taskset -c 3 sleep 600 3>&- &
	PIDS+=($!)
	eventually runs $! sleep
	run_started -c 2-3 -s cgroup.policy=require -s irq.policy=try
	echo 0 >$CPU_DIR/cpu3/online
	run_ended
	[ -z "$(find /run/chisol -name '*.journal')" ]
	run -0 "$CHISOL" --restore
	[[ $output != *"cannot"* ]]
}

@test "the last housekeeping CPUs are refused before anything is written" {
	run -125 strace -f -y -o trace -e trace=mkdir,mkdirat,write "$CHISOL" -c 0-3 -s cgroup.policy=require touch ran
	[[ $output == *"leave at least one"* ]]
	refute grep -F $TREE trace
	[ ! -e ran ]
	unchanged
	other 2-3
	echo isolated >$TREE/other/cpuset.cpus.partition
	snapshot >before
	run -125 "$CHISOL" -c 0-1 -s cgroup.policy=require touch ran
	echo "$output"
	[[ $(text <(echo "$output")) == *"leave at least one"* || $(text <(echo "$output")) == *"not enough for the workload and a housekeeping CPU"* ]]
	[ ! -e ran ]
	unchanged
}

@test "a run beside another one gets a partition of its own, and the last of them gives back the CPUs" {
	run_started -c 3 -s cgroup.policy=require
	run -0 --separate-stderr "$CHISOL" -c 2 -s cgroup.policy=require cat $TREE/cpuset.cpus.effective
	[ "$output" = 0-1 ]
	run_ended
	unchanged
}

@test "threads of one process are placed apart: the first in the partition, the second on housekeeping CPUs" {
	run -0 --separate-stderr "$CHISOL" -c 2-3 -s cgroup.policy=require -s cgroup.helpers=yes \
		bash -c 'exec "$1" '$TREE'/chisol-*/help/cgroup.threads' - "$REPO/build/tests/tools/twothreads"
	[[ $output == *"main 2-3"* ]]
	local list
	list=$(sed -n 's/^second //p' <<<"$output")
	refute has_cpu "$list" 2
	refute has_cpu "$list" 3
	unchanged
}

@test "below a delegated group of a tree like systemd's a run works, or the report says why it does not" {
	echo "+cpuset" >$TREE/cgroup.subtree_control
	mkdir -p $TREE/{init.scope,user.slice} $UNIT/main
	sleep 600 3>&- &
	PIDS+=($!)
	echo $! >$UNIT/main/cgroup.procs
	echo $BASHPID >$TREE/init.scope/cgroup.procs
	snapshot >before
	run_started -c 2-3 -s cgroup.policy=try -s cgroup.parent=/system.slice/app.service
	grep '' $UNIT/chisol-*/cpuset.cpus.partition $UNIT/chisol-*/*/cpuset.cpus.partition >now || true
	[ "$(cpus_of "$COMMAND")" = 2-3 ]
	run_ended
	cat now
	if kernel_is 6.7; then
		grep -q ':isolated$' now
		[ "$(jq -r '.settings[] | select(.asked == "isolated") | .granted.state' report.json)" = granted ]
	else
		refute grep -q ':isolated$' now
		[[ $(text) == *"not a partition root"* || $(text) == *"is no partition"* ]]
	fi
	unchanged
	# A unit's own group has processes: nothing can be made in it.
	run -125 "$CHISOL" -c 2-3 -s cgroup.policy=require -s cgroup.parent=/system.slice/app.service/main touch ran
	[[ $(text <(echo "$output")) == *"has processes of its own"* ]]
	unchanged
}

@test "a run that is killed in the middle is put back by --restore" {
	taskset -c 2 sleep 600 3>&- &
	PIDS+=($!)
	eventually runs $! sleep
	run_started -c 2-3 -p oslat -s cgroup.partition=auto -s cgroup.start=hot
	kill -KILL "$RUN"
	touch go
	wait "$RUN" || true
	refute same
	run -0 "$CHISOL" --restore
	unchanged
	[ "$(cpus_of "${PIDS[0]}")" = 2 ]
}
