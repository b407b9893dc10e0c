#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What hits the workload's CPU under chisol with each shipped profile, and under what people use otherwise: counts by kind,
# in windows of $WINDOW seconds (CHISOL_GUEST_WINDOW), with load on the housekeeping CPUs and a network card whose interrupts
# start out on CPU 2.

load ../helpers
load guest

QUIET=$REPO/build/tests/tools/quiet
WINDOW=${CHISOL_GUEST_WINDOW:-60}

masks() { # TASK LIST, of every task
	grep -Hs '^Cpus_allowed_list:' /proc/[0-9]*/task/[0-9]*/status | sed -E 's|.*/task/([0-9]+)/status:.*\t|\1 |'
}

signal_load() { # SIGNAL: to all of the load
	kill -s "$1" -- "-$(<"$BATS_FILE_TMPDIR/load")"
}

setup_file() {
	local dir
	export ROWS=$BATS_FILE_TMPDIR/rows
	: >"$ROWS"
	taskset -pc 0,1 $BASHPID >/dev/null
	for dir in proc sys dev chisol; do
		mkdir -p "/peers/$dir"
		mount --rbind "/$dir" "/peers/$dir"
	done
	card_irqs >"$BATS_FILE_TMPDIR/irqs"
	setsid stress-ng -q --timer 1 --fault 1 --vm 1 --vm-bytes 32M 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/load"
	ping 10.0.2.2 >/dev/null 3>&- & # one packet a second each way
	echo $! >"$BATS_FILE_TMPDIR/ping"
	# Until all of the load is there, and the traffic.
	sleep 3
	ping -c 3 -W 30 10.0.2.2 >/dev/null
	masks >"$BATS_FILE_TMPDIR/masks"
}

teardown_file() {
	signal_load TERM
	kill "$(<"$BATS_FILE_TMPDIR/ping")" || true
	{
		echo "interrupts and switches on CPU 2 in $WINDOW s, $(uname -r), cgroup $(cgroup_version), nohz_full $(cat $CPU_DIR/nohz_full)"
		printf '%-34s %6s %6s %6s %6s %7s %6s %9s %6s\n' '' LOC RES CAL IWI device other switches total
		cat "$ROWS"
	} | sed 's/^/# /' >&3
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	while read -r irq; do
		echo 2 >"/proc/irq/$irq/smp_affinity_list"
	done <"$BATS_FILE_TMPDIR/irqs"
}

# What a tool leaves behind is none of the next one's.
teardown() {
	local task list
	signal_load CONT
	awk 'NR == FNR { mask[$1] = $2; next } $1 in mask && mask[$1] != $2 { print $1, mask[$1] }' \
		"$BATS_FILE_TMPDIR/masks" <(masks) | while read -r task list; do
		taskset -pc "$list" "$task" >/dev/null || true
	done
}

cgroup_version() {
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo v2; else echo v1; fi
}

# COMMAND...: of the packages that are not the guest's own. Their Python takes minutes beside the load.
peer() {
	signal_load STOP
	chroot /peers "$@"
	signal_load CONT
}

row() { # NAME COMMAND...: that runs "quiet" on CPU 2
	local name=$1
	shift
	"$@" "$QUIET" 3 $WINDOW >counts
	cat counts
	awk -v name="$name" '
		$1 == "switches" { switches = $2; next }
		{ total += $2; if ($1 ~ /^[0-9]+$/) device += $2; else if ($1 ~ /^(LOC|RES|CAL|IWI)$/) n[$1] = $2; else other += $2 }
		END { printf "%-34s %6d %6d %6d %6d %7d %6d %9d %6d\n", name, n["LOC"], n["RES"], n["CAL"], n["IWI"], device, other, switches,
			total + switches }' counts >>"$ROWS"
}

total() { # NAME
	awk -v name="$1" 'index($0, name " ") == 1 { n = $NF } END { print n }' "$ROWS"
}

devices() { # NAME
	awk -v name="$1" 'index($0, name " ") == 1 { n = $(NF - 3) } END { print n }' "$ROWS"
}

@test "taskset" {
	row "taskset -c 2" taskset -c 2
	[ "$(devices "taskset -c 2")" -gt 0 ] # there was traffic
}

@test "cset, on v1" {
	[ "$(cgroup_version)" = v1 ] || skip "cset is for cgroup v1"
	peer cset shield --cpu 2 --kthread on
	signal_load STOP
	(eventually pgrep -x quiet >/dev/null && signal_load CONT) 3>&- &
	row "cset shield" chroot /peers cset shield --exec --
	peer cset shield --reset
}

@test "tuna" {
	peer tuna --cpus=2 --isolate
	row "tuna --isolate, taskset" taskset -c 2
	# Its --include, which would undo it, ends with a TypeError in Debian 12.
}

@test "what systemd-run does: a cpuset by hand, on v2 an isolated partition" {
	local group=/sys/fs/cgroup/app.slice file=cgroup.procs
	if [ "$(cgroup_version)" = v2 ]; then
		echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
		mkdir $group
		echo 2 >$group/cpuset.cpus
		echo isolated >$group/cpuset.cpus.partition
	else
		group=/sys/fs/cgroup/cpuset/app.slice
		mkdir $group
		echo 2 >$group/cpuset.cpus
		echo 0 >$group/cpuset.mems
	fi
	# shellcheck disable=SC2016
	row "cpuset by hand, as systemd-run" sh -c 'echo $$ >"$0" && exec "$@"' $group/$file
	rmdir $group
	[ "$(cgroup_version)" = v1 ] || echo -cpuset >/sys/fs/cgroup/cgroup.subtree_control
}

@test "chisol with each shipped profile: fewer than any of them, and -p minimal, which only pins, no more than taskset" {
	local conf name line total
	for conf in "$REPO"/conf/*.conf; do
		name=$(basename "$conf" .conf)
		row "chisol -p $name" "$CHISOL" -c 2 -p "$name" -r text:report.txt
		cat report.txt
	done
	row "chisol -p oslat, start = hot" "$CHISOL" -c 2 -p oslat -s cgroup.start=hot -r text:report.txt
	cat report.txt
	(($(total "chisol -p minimal") * 2 <= $(total "taskset -c 2") * 3)) # they differ by what is random
	# Nobody is spared a worker that the kernel sends to all CPUs now and then: one counts about six.
	grep '^chisol' "$ROWS" | grep -v ' minimal ' | while read -r line; do
		echo "$line"
		total=${line##* }
		((total <= WINDOW / 5)) ||
			refute awk -v total="$total" '!/^chisol/ && $NF <= total { found = 1 } END { exit !found }' "$ROWS"
	done
}
