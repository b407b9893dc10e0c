#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The probe where isolation can be kept, and on kernels that have other trace events than the host's. CPU 2 is nohz_full.
# Counts, names and orders only: an emulator has no durations.

load ../helpers
load guest

QUIET=$REPO/build/tests/tools/quiet
HUGEPAGES=/sys/kernel/mm/transparent_hugepage/enabled

setup() {
	beside_nohz_full
	HUGEPAGES_WERE=$(grep -o '\[.*\]' $HUGEPAGES | tr -d '[]')
}

teardown() {
	run_cleared
	echo "$HUGEPAGES_WERE" >$HUGEPAGES
}

# watched CPU SECONDS OPTION...: a spinner on the CPU, with the probe, in the background; comes back when it spins.
watched() {
	rm -f there
	"$CHISOL" -c "$1" --probe -r json:report.json -r text:report.txt -r jsonl:breaks "${@:3}" \
		sh -c 'echo $$ >there; exec "$@"' sh "$QUIET" 1 "$2" >counts 3>&- &
	RUN=$!
	eventually test -s there
}

watched_ended() {
	wait "$RUN"
	RUN=
	jq -c '.probe.cpus[0] | .verdict, .reasons, (.causes[] | [.cause, .breaks, .seen])' report.json
	jq -e '.probe.unavailable == null and .probe.cpus[0].lost_events == 0' report.json
}

seen() { # CAUSE...: how often, in breaks and between
	local causes
	causes=$(printf '"%s",' "$@")
	jq "[.probe.cpus[0].causes[] | select(.cause | IN(${causes%,})) | .seen] | add // 0" report.json
}

parts() { # FILTER: is there such a part of a break?
	jq -s -e "[.[].parts[]? | select($1)] | length > 0" breaks
}

called() { # CPU: interrupts that others sent to it
	awk -v column=$(($1 + 2)) '/Function call|TLB shootdown|Rescheduling/ { n += $column } END { print n }' /proc/interrupts
}

@test "on a nohz_full CPU of a run isolation is kept, and that is the verdict" {
	local policy='' try
	if [ -e /sys/kernel/debug/sched/fair_server ]; then
		needs_fair_server_off
		policy=-sscheduler.policy=require
	fi
	echo never >$HUGEPAGES # khugepaged has every CPU drain its lists, once a while
	for try in 1 2 3; do
		watched 2 6 -p oslat -s cgroup.start=hot -s verdict.grace=3000 ${policy:+"$policy"}
		watched_ended
		jq -c 'select(.self == false) | {cause, start_ns, parts: [.parts[] | [.cause, .name, .functions, .sender]]}' breaks
		[ "$(jq -r .probe.verdict report.json)" != kept ] || break
	done
	jq -e '.probe.verdict == "kept" and .probe.cpus[0].foreign.count == 0' report.json
	grep -q 'CPU 2 kept; 0 foreign breaks' report.txt
}

@test "on a CPU with a tick the ticks are named, as many as the kernel counted" {
	watched 1 3
	watched_ended
	local told counted
	told=$(seen tick program-timer sleep-timer watchdog sched-timer perf timer)
	counted=$(jq '[.interrupts.rows[] | select(.id == "LOC" or (.name | test("arch_timer"))) | .counts["1"]] | add' report.json)
	echo "$told told, $counted counted"
	((told > 50 && told <= counted + 2 && counted <= told + 2))
}

@test "a worker that the kernel sends is named, with its function" {
	[ -e /proc/sys/vm/stat_refresh ] || skip "this kernel has no vm.stat_refresh"
	watched 2 $UNTIL_ENDED
	refreshed there
	watched_ended
	jq -e '.probe.verdict == "broken"' report.json
	parts '(.cause == "vmstat" or .cause == "kworker") and (.functions | index("refresh_vm_stats"))'
}

@test "what hits the command when it has left user mode for the last time is of its ending, and no break" {
	local try
	for try in 1 2 3; do # the kernel may have another task's turn come in between
		watched 2 $UNTIL_ENDED
		eventually has_spun "$(<there)" 1
		kill -KILL "$(<there)" # for which its CPU is interrupted
		wait "$RUN" || [ $? = 137 ]
		RUN=
		jq -c '.probe.cpus[0] | .ending, .foreign, .reasons' report.json
		[ "$(jq '.probe.cpus[0].ending.count' report.json)" = 0 ] || break
	done
	jq -e '.probe.cpus[0].ending.count >= 1' report.json
}

@test "another task on the CPU is named" {
	watched 1 $UNTIL_ENDED
	taskset -c 1 sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'
	kill "$(<there)"
	watched_ended
	parts '.cause == "task" and .self == false and .name == "sh"'
}

@test "an interrupt from another CPU is named, with its sender where the kernel tells it" {
	watched 1 $UNTIL_ENDED
	mkfifo pipe
	taskset -c 1 sh -c 'while read x; do :; done <pipe' 3>&- &
	taskset -c 0 sh -c 'i=0; while [ $i -lt 50 ]; do echo x; sleep 0.02; i=$((i+1)); done >pipe'
	kill "$(<there)"
	watched_ended
	jq -s -c '[.[].parts[]? | select(.sender) | {cause, sender}] | group_by(.cause) | map([.[0].cause, length, .[0].sender])[]' breaks
	(($(seen reschedule call-function ipi) >= 10))
	! kernel_is 6.4 || parts '.sender.cpu == 0'
}

@test "a device's interrupt is named with the device" {
	[ -b /dev/vda ] || skip "this guest has no disk"
	watched 1 $UNTIL_ENDED
	taskset -c 1 dd if=/dev/vda of=/dev/null bs=4k count=200 iflag=direct
	kill "$(<there)"
	watched_ended
	jq -c '[.interrupts.rows[] | select(.kind == "device")]' report.json
	jq -s -c '[.[].parts[]? | select(.cause == "device-irq") | [.name, .number]] | unique' breaks
	(($(seen device-irq) == $(jq '[.interrupts.rows[] | select(.kind == "device" and (.name | test("arch_timer") | not)) | .counts["1"]] | add // 0' report.json)))
	parts '.cause == "device-irq" and (.name | test("virtio"))'
}

@test "a run opens its trace events without a call to the CPUs that it does not use, if they are held" {
	local before without with
	before=$(called 3)
	"$CHISOL" -c 2 --probe -r json:report.json true
	eventually refute pgrep -x chisol-close # which has them
	sleep 2                                 # the kernel lets go of the last of a kind a second later
	without=$(($(called 3) - before))
	"$CHISOL" --hold-trace >holder 3>&- &
	PIDS+=($!)
	eventually test -s holder
	before=$(called 3)
	"$CHISOL" -c 2 --probe -r json:report.json true
	with=$(($(called 3) - before))
	echo "# calls to CPU 3: $without, with the events held $with" >&3
	jq -e --argjson pid "${PIDS[-1]}" '.probe.events_held_by == $pid' report.json
	((without > 5 * with)) # 50 on arm64, where patching takes fewer
}

@test "events that this kernel does not have are listed, and the rest is watched" {
	"$CHISOL" -c 2 --probe -r json:report.json true
	jq -r '.probe.events_missing[]' report.json | sort >missing
	echo "# missing: $(xargs <missing)" >&3
	refute grep -E '^(sched:sched_switch|irq:irq_handler_entry|irq:softirq_entry|timer:hrtimer_expire_entry)$' missing
	if kernel_is 6.4; then refute grep ipi_send_cpu missing; else grep -qx ipi:ipi_send_cpu missing; fi
	refute grep -qx context_tracking:user_exit missing
	no_complaint
}
