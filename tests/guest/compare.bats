#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What hits the workload's CPU under chisol with each shipped profile, and under what people use otherwise: counts by kind,
# in windows of $WINDOW seconds, with load on the housekeeping CPUs and a network card whose interrupts start out on CPU 2.

load ../helpers
load guest

QUIET=$REPO/build/tests/tools/quiet
WINDOW=20

setup_file() {
	local dir
	export ROWS=$BATS_FILE_TMPDIR/rows
	: >"$ROWS"
	taskset -pc 0,1 $BASHPID >/dev/null
	for dir in proc sys dev chisol; do
		mkdir -p "/peers/$dir"
		mount --rbind "/$dir" "/peers/$dir"
	done
	awk -F: '/virtio[0-9]+-(input|output)/ { sub(" *", "", $1); print $1 }' /proc/interrupts >"$BATS_FILE_TMPDIR/irqs"
	stress-ng -q --timer 1 --fault 1 --vm 1 --vm-bytes 32M 3>&- &
	echo $! >"$BATS_FILE_TMPDIR/load"
	ping 10.0.2.2 >/dev/null 3>&- & # one packet a second each way
	echo $! >>"$BATS_FILE_TMPDIR/load"
}

teardown_file() {
	xargs kill <"$BATS_FILE_TMPDIR/load" || true
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

cgroup_version() {
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo v2; else echo v1; fi
}

peer() { # COMMAND...: of the packages that are not the guest's own
	chroot /peers "$@"
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
	row "cset shield" peer cset shield --exec --
	peer cset shield --reset
}

@test "tuna" {
	peer tuna --cpus=2 --isolate
	row "tuna --isolate, taskset" taskset -c 2
	# Its --include, which would undo it, ends with a TypeError in Debian 12.
	local pid
	for pid in /proc/[0-9]*; do taskset -apc 0-3 "${pid#/proc/}" >/dev/null 2>&1 || true; done
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

@test "chisol with each shipped profile; with one that moves interrupts no device is left, and there is nothing better" {
	local conf name best
	for conf in "$REPO"/conf/*.conf; do
		name=$(basename "$conf" .conf)
		row "chisol -p $name" "$CHISOL" -c 2 -p "$name" -r text:report.txt
		cat report.txt
	done
	row "chisol -p oslat, start = hot" "$CHISOL" -c 2 -p oslat -s cgroup.start=hot -r text:report.txt
	[ "$(devices "chisol -p oslat")" = 0 ]
	best=$(grep '^chisol' "$ROWS" | awk '{ print $NF }' | sort -n | head -n 1)
	grep -v '^chisol' "$ROWS" | while read -r line; do
		echo "$line"
		((${line##* } + WINDOW >= best)) # a spread of one a second, as that of the fair server
	done
}
