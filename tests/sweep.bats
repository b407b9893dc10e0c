# SPDX-License-Identifier: GPL-2.0-or-later
# The crash sweep: chisol is killed after every single call that changes the machine, and each of
# these calls fails once with every errno that it can give. Afterwards the machine is as before.
# SWEEP_PROFILES: other profiles than those in conf/. SWEEP_ONE_IN=K: of each K calls only one, the first
# or SWEEP_WHICH, counted from 0.

load helpers

SWEEP=$REPO/build/tests/sweep/sweep.so

setup_file() {
	lock_machine
	# Tasks come and go: only what stays the same for a moment can be held against chisol.
	tasks >"$BATS_FILE_TMPDIR/tasks.1"
	sleep 1
	tasks >"$BATS_FILE_TMPDIR/tasks.2"
	sort "$BATS_FILE_TMPDIR"/tasks.[12] | uniq -d >"$BATS_FILE_TMPDIR/tasks"
	machine_snapshot >"$BATS_FILE_TMPDIR/machine" || true
}

teardown_file() {
	"$CHISOL" --restore >/dev/null 2>&1 || true
}

setup() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ -e "$SWEEP" ] || skip "needs $SWEEP (make programs)"
	read -r -a profiles <<<"${SWEEP_PROFILES:-$(echo "$REPO"/conf/*.conf)}"
	cpu=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
	[ "$cpu" != 0 ] || skip "needs two CPUs"
	one_in=${SWEEP_ONE_IN:-1}
	cd "$BATS_TEST_TMPDIR"
}

# The mask and the cpuset of every task, as "FILE: VALUE". The kernel itself moves its workers about, and
# an interrupt's thread follows its interrupt when that comes next.
tasks() {
	grep -Hs -e '^Name:' -e '^Cpus_allowed_list:' -e '^/' /proc/[0-9]*/task/[0-9]*/status /proc/[0-9]*/cpuset |
		awk -F: '$2 == "Name" { keep = $3 !~ /^\t(kworker|irq\/)/; next } keep || $2 ~ /^\//'
}

# What a run of the profile may change, quickly: the files that it writes, what a partition takes from
# the others, the groups, the journals.
state() {
	local written
	mapfile -t written <files
	grep -Hs '' "${written[@]}" /sys/fs/cgroup/{cpuset.cpus.{effective,isolated},cgroup.subtree_control} \
		/sys/devices/virtual/workqueue/cpumask* || true
	find /sys/fs/cgroup -type d -path '*/chisol-*'
	printf '%s\n' /run/chisol/*
}

differences() {
	local bad=0
	[ "$(state)" = "$(<before)" ] || { state | diff before - || bad=1; }
	tasks | awk -F: '{ key = $1; sub(/^[^:]*:/, "") }
		NR == FNR { before[key] = $0; next }
		key in before && before[key] != $0 { print key ": was " before[key] ", is " $0; bad = 1 }
		END { exit bad }' "$BATS_FILE_TMPDIR/tasks" - || bad=1
	return "$bad"
}

# is_as_before: compares with the first look; prints what differs. A run that is live is somebody
# else's, and is waited for.
is_as_before() {
	local tries
	for ((tries = 0; tries < 240; tries++)); do
		! differences >/dev/null || return 0
		((tries < 4)) || grep -q ', live, ' <("$CHISOL" --status) || break
		sleep 0.5
	done
	differences
}

# swept [NAME=VALUE...]: a run of $profile under the shim; its status in $status, messages in err.
swept() {
	status=0
	(export LD_PRELOAD="$SWEEP" "$@" && exec "$CHISOL" -c "$cpu" -p "$profile" "${options[@]}" true) >out 2>err || status=$?
} 2>/dev/null # what the shell says of a killed chisol

# learn: one run of $profile, for the list of its calls in log and their files in files.
learn() {
	rm -f log
	# Once a task's mask has been put back the kernel takes it for the task's own, and does so itself.
	swept
	swept SWEEP_LOG="$PWD/log"
	[ "$status" = 0 ] || { cat err; return 1; }
	awk '{ print $3 }' log | sort -u | grep -v -e /chisol -e '/tasks$' -e cgroup.procs -e cgroup.threads |
		while read -r f; do [ ! -f "$f" ] || echo "$f"; done >files
	state >before
	is_as_before
}

complain() {
	echo "profile $profile, $1: $(grep "^${1##* } " log)"
	cat differs err
	return 1
}

# The errnos that a call can give: by name, from a line of the log.
errnos() {
	case $1 in
	'fsync '* | 'write /run/'* | 'renameat '*) echo EIO ENOSPC ;;
	'unlinkat /run/'*) echo EIO EROFS ;;
	'mkdirat '*) echo EACCES EBUSY ENOSPC ;;
	'unlinkat '*) echo EBUSY EACCES ;;
	'sched_setaffinity '*) echo EINVAL EPERM ;;
	'write /proc/irq/'*) echo EIO EPERM EINVAL ENOSPC EBUSY EACCES ;;
	'write '*/tasks | 'write '*/cgroup.*) echo EACCES EBUSY EINVAL ENOSPC ;;
	'write /proc/sys/'*) echo EACCES EINVAL EPERM ;;
	*) echo EACCES EBUSY EINVAL ENOSPC EIO ;;
	esac
}

number_of() {
	case $1 in
	EPERM) echo 1 ;; EIO) echo 5 ;; EACCES) echo 13 ;; EBUSY) echo 16 ;; EINVAL) echo 22 ;;
	ENOSPC) echo 28 ;; EROFS) echo 30 ;;
	esac
}

# some LOG: of a group with many members the first, the second and the last.
some() {
	awk '{ split($1, n, "."); if (n[1] != group) { if (last) print last; print; last = ""; group = n[1] }
		else if (n[2] == 2) print; else last = $0 } END { if (last) print last }' "$1"
}

# sample <LIST: the calls to sweep.
sample() {
	awk -v k="$one_in" -v which="${SWEEP_WHICH:-0}" '(NR - 1) % k == which'
}

restored() { # WHAT: $n times
	local of=''
	((n > 0)) || return
	[ "$one_in" = 1 ] || of=" (number ${SWEEP_WHICH:-0} of each $one_in calls)"
	echo "# $1: $n of $n restored$of" >&3
}

@test "killed after any call, the machine is put back by --restore or by the next run" {
	local profile n place places total=0 options=()
	for profile in "${profiles[@]}"; do
		learn
		n=0
		mapfile -t places < <(echo 0 && cut -d' ' -f1 log | sample)
		for place in "${places[@]}"; do
			swept SWEEP_KILL="$place"
			# The last call of a group may have gone with the tasks that it was for.
			[ "$status" = 137 ] || continue
			n=$((n + 1))
			if ((n % 4)); then
				"$CHISOL" --restore >differs 2>>err || complain "killed after $place"
			else
				"$CHISOL" -c "$cpu" -p "$profile" true >differs 2>>err || complain "killed after $place"
			fi
			is_as_before >differs || complain "killed after $place"
		done
		((n * 10 > ${#places[@]} * 9))
		restored "$(basename "$profile"), killed"
		total=$((total + n))
	done
	n=$total restored "all profiles, killed"
}

@test "killed between a write that the kernel rounds and the note of it, the machine is put back" {
	local profile=minimal place n=0 options=(--set vmstat.stat_interval=77 --set vmstat.policy=try)
	export SWEEP_ROUND=/proc/sys/vm/stat_interval
	learn
	grep -q "writev $SWEEP_ROUND" log
	for place in $(cut -d' ' -f1 log | sample); do
		swept SWEEP_KILL="$place"
		[ "$status" = 137 ]
		"$CHISOL" --restore >differs 2>>err || complain "killed after $place"
		is_as_before >differs || complain "killed after $place"
		n=$((n + 1))
	done
	restored rounded
}

@test "a --restore that is killed after any call is finished by the next one" {
	local profile=${profiles[-1]} n=0 place last options=()
	learn
	# The run is killed when the command has been started: everything is applied.
	last=$(grep ' write /run/chisol/.*\.journal$' log | tail -1 | cut -d' ' -f1)
	swept SWEEP_KILL="$last"
	[ "$status" = 137 ]
	LD_PRELOAD=$SWEEP SWEEP_LOG=$PWD/log.restore "$CHISOL" --restore
	is_as_before
	for place in $(some log.restore | cut -d' ' -f1 | sample); do
		swept SWEEP_KILL="$last"
		[ "$status" = 137 ]
		{ LD_PRELOAD=$SWEEP SWEEP_KILL=$place "$CHISOL" --restore >out 2>err || status=$?; } 2>/dev/null
		"$CHISOL" --restore >differs 2>>err || complain "restore killed after $place"
		is_as_before >differs || complain "restore killed after $place"
		n=$((n + 1))
	done
	restored "--restore killed"
}

# fail_each CHECK ERRNOS: each call fails with each errno that ERRNOS lists for it. The command runs
# (0) or not (125), and the machine is as before: at once, unless chisol says that it could not, and
# after --restore in any case.
fail_each() {
	local place call path error n=0
	learn
	while read -r place call path; do
		for error in $("$2" "$call $path"); do
			echo "$error $place $call $path"
		done
	done < <(some log) | sample >failures
	while read -r error place call path; do
		swept SWEEP_FAIL="$place" SWEEP_ERRNO="$(number_of "$error")"
		: >differs
		[ "$status" = 0 ] || [ "$status" = 125 ] || complain "status $status, $error at $place"
		[ "$status" = 0 ] || [ -s err ] || complain "no message, $error at $place"
		"$1" || complain "$1, $error at $place"
		if ! is_as_before >differs; then
			grep -q 'chisol --restore' err || complain "not put back, $error at $place"
			"$CHISOL" --restore >>err 2>&1 || complain "--restore, $error at $place"
			is_as_before >differs || complain "$error at $place"
		fi
		n=$((n + 1))
	done <failures
	restored "$(basename "$profile"), $1"
}

@test "whatever call fails, the machine is put back, and what is required and not granted ends the launch" {
	local profile options=(--set profile.policy=require --report json:report.json)
	nothing_required_is_missing() {
		[ "$status" = 125 ] || jq -e '[.settings[] | select(.policy == "require" and .asked and
			(.granted.state | IN("granted", "pending", "exposed") | not))] == []' report.json
	} >differs
	for profile in "${profiles[@]}"; do
		fail_each nothing_required_is_missing errnos
	done
}

@test "whatever call fails, what is only tried does not keep the command from running, and is reported" {
	local profile options=(--set profile.policy=try --report json:report.json) launched
	one_errno() {
		case $1 in
		*' /run/'*) ;; # without a journal nothing is tried
		*) errnos "$1" | (read -r first _ && echo "$first") ;;
		esac
	}
	# Until the command is started, a call on a setting's path is its only one.
	it_is_reported() {
		[ "$status" = 0 ] || return
		((${place%.*} < ${launched%.*})) || return 0
		jq -e --arg path "$path" 'def plain: gsub("chisol-[0-9]+-[0-9]+"; "chisol");
			[.settings[] | select(.path and (.path | plain) == ($path | plain) and
				.granted.state == "granted")] == []' report.json
	} >differs
	for profile in "${profiles[@]}"; do
		learn
		launched=$(grep ' write /run/chisol/.*\.journal$' log | tail -1 | cut -d' ' -f1)
		fail_each it_is_reported one_errno
	done
}

@test "afterwards the whole machine is as it was before the sweep" {
	machine_snapshot >now || true
	diff "$BATS_FILE_TMPDIR/machine" now
}
