#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# CPUs 2 and 3 of four are isolated at boot (isolcpus=).

load ../helpers
load guest

TREE=/sys/fs/cgroup

setup() {
	begin_snapshot
}

teardown() {
	run_cleared
	no_complaint
}

@test "the isolated CPUs are the default, and need no partition: the command is pinned" {
	run_started -s cgroup.policy=require -s cpus.policy=require
	[ "$(cpus_of "$COMMAND")" = 2-3 ]
	refute grep -q isolated <(cat $TREE/chisol-*/cpuset.cpus.partition $TREE/chisol-*/*/cpuset.cpus.partition 2>/dev/null)
	run_ended
	[ "$(setting cpus.affinity granted.state)" = granted ]
	[[ $(jq -r '[.settings[], .notes[]?] | map(.reason) | join(" ")' report.json) != *refused* ]]
	unchanged
}

@test "the machine's last housekeeping CPUs are refused before anything is written, and this kernel does not crash" {
	run -125 strace -f -y -o trace -e trace=mkdir,mkdirat,write "$CHISOL" -c 0-1 -s cgroup.policy=require touch ran
	[[ $(text <(echo "$output")) == *"leave at least one"* ]]
	refute grep -F $TREE trace
	[ ! -e ran ]
	run -125 "$CHISOL" -c 0-2 -s cgroup.policy=require touch ran
	[ ! -e ran ]
	unchanged
}

@test "a CPU that is not isolated can still be had beside those that are, and whom it is taken from gets no isolated one" {
	local pid partition
	taskset -c 1 sleep 600 3>&- &
	PIDS+=($!)
	eventually runs $! sleep
	sleep 600 3>&- &
	PIDS+=($!)
	[ "$(cpus_of "${PIDS[1]}")" = 0-1 ]
	for partition in auto isolated; do
		# Whoever asks for the partition has it, with what the kernel does to those that never asked for a mask.
		[ $partition = auto ] || kernel_is 6.2 || continue
		run_started -c 1 -s cgroup.policy=try -s cgroup.partition=$partition
		[ "$(cpus_of "$COMMAND")" = 1 ]
		for pid in "${PIDS[@]}"; do cpus_of "$pid"; done >evicted
		run_ended
		echo "$partition: evicted from CPU 1 to $(xargs <evicted)"
		if [ $partition = auto ]; then
			refute grep '[23]' evicted
			[[ $(text) == *"no partition is made: the kernel would let other tasks run"* ]]
		else
			[ "$(head -n 1 evicted)" = 0 ]
		fi
		[ "$(cpus_of "${PIDS[0]}")" = 1 ]
		[ "$(cpus_of "${PIDS[1]}")" = 0-1 ]
		unchanged
	done
	[ "$(<$CPU_DIR/isolated)" = 2-3 ]
}

@test "isolated and other CPUs together are told apart, or had, and the machine is the same afterwards" {
	run_started -c 1-2 -s cgroup.policy=try
	[ "$(cpus_of "$COMMAND")" = 1-2 ]
	run_ended
	unchanged
	[ "$(<$CPU_DIR/isolated)" = 2-3 ]
}

@test "managed interrupts on the isolated CPUs are reported as exposed, by this kernel's errno" {
	run_started -c 2-3 -s irq.policy=require -s cgroup.policy=off
	run_ended
	[ "$(jq '[.settings[] | select(.reason == "managed-irq" and .granted.state == "exposed" and (.name | startswith("irq.")))] | length' report.json)" -ge 2 ]
	[ "$(setting irq.default_affinity granted.state)" = granted ]
	unchanged
}
