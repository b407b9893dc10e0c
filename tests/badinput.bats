# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever chisol is given: a message with the offending piece, the documented status, the command
# not run, and nothing changed. The number of cases is printed at the end.
load helpers

bats_require_minimum_version 1.5.0

setup_file() {
	requires_root "runs change the machine" && requires_two_cpus || return 0
	lock_machine
	export CASES=$BATS_FILE_TMPDIR/cases HOME=$BATS_FILE_TMPDIR
	unset CHISOL_PROFILE_PATH XDG_CONFIG_HOME SUDO_UID DOAS_USER PKEXEC_UID
	: >"$CASES"
	machine_snapshot >"$BATS_FILE_TMPDIR/before" || true
}

teardown_file() {
	[ -s "${CASES-}" ] && echo "# badinput: $(wc -l <"$CASES") cases" >&3
	rm -rf /run/chisol/9-9.journal
}

setup() {
	check_requirements
	cd "$BATS_TEST_TMPDIR"
	quick_look >before
}

teardown() {
	check_requirements
	rm -rf /run/chisol/9-9.journal /run/chisol/4194304-1.journal
	diff before <(quick_look)
}

# The settings that the cases below ask for, were they granted.
quick_look() {
	cat /proc/sys/vm/stat_interval /proc/irq/default_smp_affinity /proc/irq/*/smp_affinity
	find /sys/fs/cgroup -maxdepth 2 -name 'chisol-*'
	ls /run/chisol | grep -vx -e lock -e irqbalance || true
}

# says PIECE STATUS COMMAND...: the command ends with the status and says the piece on standard
# error, in messages that a terminal can show.
says() {
	local piece=$1 expected=$2
	shift 2
	echo x >>"$CASES"
	run --separate-stderr timeout 20 "$@"
	if [ "$status" != "$expected" ] || [[ $stderr != *"$piece"* ]] ||
		LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' <<<"$stderr"; then
		printf '%s\n' "$*" "status $status instead of $expected; wanted: $piece" "$stderr"
		return 1
	fi
}

# refuses PIECE OPTION...: chisol with these options ends with 125, and the command does not run.
refuses() {
	local piece=$1
	shift
	says "$piece" 125 "$CHISOL" "$@" touch ran
	[ -z "$output" ]
	[ ! -e ran ]
}

# refuses_profile PIECE TEXT: the same for a profile; in the text \n is a new line.
refuses_profile() {
	printf '%b' "$2" >p.conf
	refuses "$1" -c 1 -p p.conf
}

# refuses_tree PIECE OPTION...: the same for the recorded tree in ./tree.
refuses_tree() {
	local piece=$1
	shift
	says "$piece" 125 "$CHISOL" -n --root tree "$@"
	[ -z "$output" ]
}

# record FILE TEXT: a file of the recorded tree.
record() {
	mkdir -p "tree/$(dirname "$1")"
	printf '%s\n' "$2" >"tree/$1"
}

record_machine() {
	record sys/devices/system/cpu/possible 0-15
	record sys/devices/system/cpu/present 0-7,12-15
	record sys/devices/system/cpu/online 0-3,5-7,12-15
}

# With mounts of its own, which the machine does not see; "$1" of the script is chisol.
in_namespace() {
	local piece=$1
	says "$piece" 125 unshare --mount --propagation private sh -c "$2" sh "$CHISOL"
	[ ! -e ran ]
}

nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

@test "options that do not exist, lack their value or take none are named" {
	refuses 'there is no option "-x"' -x
	refuses 'there is no option "-\x1b"' $'-\x1b'
	refuses 'there is no option "--frobnicate"' --frobnicate
	refuses 'did you mean --quiesce?' --quiese vmstat_sync
	refuses 'could be --profile or another' --pro x
	refuses '--activate takes no value' --activate=yes
	refuses '--cpus LIST' --cpus=
	says '-c needs a value' 125 "$CHISOL" -c
	says 'there is no command to run' 125 "$CHISOL"
	says 'there is no command to run' 125 "$CHISOL" -c 1 --
}

@test "option values that are none are named, with what there is" {
	refuses '"everything"; it takes vmstat_sync or none' -q everything
	refuses 'did you mean "vmstat_sync"?' -q vmstat-sync
	refuses '"x"; it takes conf, active or none' -I x
	refuses 'did you mean --profile (-p)?' -I my.conf
	refuses 'there is nothing to activate' -a
	refuses 'does not go with task_isolation.oneshot (--set)' -q vmstat_sync -a -s task_isolation.oneshot=yes
	refuses "'xml'" -r xml
	refuses 'no file name' -r json:
	refuses '/nonexistent/report' -r json:/nonexistent/report
	refuses 'it takes broken, inconclusive or drift' -f nothing
	refuses 'add --probe' -f broken
	refuses 'add --probe' -r jsonl
	refuses 'add --probe' -r oslat-json:x
	refuses 'use --probe=watch' --probe=thread -s probe.on_break=stop
	refuses 'add --probe=thread' -q vmstat_sync -s task_isolation.threads=worker
	refuses 'nothing to activate' --probe=thread -s 'task_isolation.threads=worker*'
	refuses 'user "no-such-user" does not exist' -u no-such-user
	refuses '"no_such_cap" is not a capability' -u nobody --keep-caps no_such_cap
}

@test "options that contradict each other are refused" {
	refuses '--check and --status contradict each other' --check --status
	refuses '-c does not go with --status' --status -c 1
	refuses '--status takes no command, but there is "touch"' --status
	refuses '-p does not go with --restore' --restore -p oslat
	refuses '-c and --set cpus.workload contradict each other' -c 1 -s cpus.workload=0
	refuses 'a command runs on the live machine' --root /
	says '-r does not go with --dry-run' 125 "$CHISOL" -n -r json
	says 'no FILE' 125 "$CHISOL" --check -r json:file
}

@test "CPU lists that are none are told from CPUs that are not there" {
	refuses '"1 2" is not a CPU number or range' -c '1 2'
	refuses '"1-" is not a CPU number or range' -c 1-
	refuses '"1-0" is a range that ends before it begins' -c 1-0
	refuses 'nothing between two commas' -c 0,,1
	refuses '"0-1:0" has a stride that is not a number from 1' -c 0-1:0
	refuses '"0-1:2/1" does not say how many' -c 0-1:2/1
	refuses 'a mask is written 0xf' -c f
	refuses '"00000001" could be a mask or a CPU number' -c 00000001
	refuses 'did you mean "isolated"?' -c izolated
	refuses '"node:x" does not name a NUMA node' -c node:x
	refuses '"\x1b[31m"' -c $'\x1b[31m'
	refuses 'that is no CPU on this machine' -c '!all'
	refuses '"4095" names a CPU that does not exist' -c 4095
	refuses '"0-18446744073709551615" names a CPU that does not exist' -c 0-18446744073709551615
	refuses '"99999999999999999999999999" names a CPU' -c 99999999999999999999999999
	refuses 'names a CPU that does not exist' -c 0x1000000000000000000000000000
	refuses '"node:4096" does not exist' -c node:4096
	refuses 'leave none' -c all -s irq.policy=try
}

@test "--set is checked as a profile is" {
	refuses 'it is written SECTION.KEY=VALUE' -s irq
	refuses 'it is written SECTION.KEY=VALUE' -s irq=yes
	refuses 'did you mean [irq]?' -s irk.threads=yes
	refuses 'did you mean "threads"?' -s irq.thread=yes
	refuses 'it belongs to [cgroup]' -s irq.partition=root
	refuses '"maybe"; it takes yes, no or auto' -s irq.threads=maybe
	refuses '"0"; it takes 1 to 2147483 (0 would make the kernel' -s vmstat.stat_interval=0
	refuses '[power] is not supported by this version' -s power.governor=performance
	refuses 'user.policy cannot be "try"' -u nobody -s user.policy=try
	refuses 'the value is not plain text' -s $'irq.keep=a\nb'
	refuses '"9-8"' -s cpus.housekeeping=9-8
	refuses 'task_isolation.prctl_base cannot be "1"' -s task_isolation.prctl_base=1
}

@test "profiles that are no files to read are told by name" {
	refuses 'there is no profile "no-such"' -p no-such
	refuses 'did you mean "oslat"?' -p oslt
	refuses './no-such.conf: No such file' -p ./no-such.conf
	mkdir dir.conf
	refuses 'dir.conf: it is a directory' -p dir.conf
	mkfifo fifo.conf
	refuses 'fifo.conf: it is not a regular file' -p fifo.conf
	refuses '/dev/zero: it is not a regular file' -p /dev/zero
	ln -s loop.conf loop.conf
	refuses 'loop.conf: Too many levels' -p loop.conf
	truncate -s 1T huge.conf
	refuses 'huge.conf: it is larger than 1048576 bytes' -p huge.conf
	head -c 100000 /dev/urandom >random.conf
	refuses 'random.conf:1: ' -p random.conf
	refuses 'the name of the profile is empty' -p ''
	refuses 'there is no profile "' -p "$(printf 'x%.0s' {1..5000})"
}

@test "a profile that chisol may not read is no profile that does not exist" {
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
	"${nobody[@]}" test -x "$CHISOL" || skip "the program cannot be reached by other users"
	echo '[irq]' >secret.conf
	chmod 600 secret.conf
	says "$PWD/secret.conf: Permission denied" 125 "${nobody[@]}" "$CHISOL" -p "$PWD/secret.conf" true
}

@test "what INI readers pass over in silence is told with file and line" {
	refuses_profile 'p.conf:1: key "threads" stands before any [section]' 'threads = yes\n'
	refuses_profile 'p.conf:1: a section is not closed' '[irq\nthreads = yes\n'
	refuses_profile 'p.conf:1: there is something after the "]"' '[irq] threads = yes\n'
	refuses_profile 'p.conf:1: a section has no name' '[]\n'
	refuses_profile 'p.conf:2: there is no key before the "="' '[irq]\n= yes\n'
	refuses_profile 'p.conf:2: "threads" is neither' '[irq]\nthreads\n'
	refuses_profile 'p.conf:2: "threads: yes" is neither' '[irq]\nthreads: yes\n'
	refuses_profile 'p.conf:3: threads is given twice in this file; line 2' '[irq]\nthreads=yes\nthreads=no\n'
	refuses_profile 'p.conf:3: the line is indented' '[irq]\nkeep = a\n  b\n'
	refuses_profile 'p.conf:2: character \x00' '[irq]\n# a\0b\n'
	refuses_profile 'p.conf:2: character \x0d' '[irq]\nkeep = a\rb\n'
	refuses_profile 'p.conf:2: character \x1b' '[irq]\nkeep = \033[2J\n'
	refuses_profile 'p.conf:2: the line has ' "[irq]\nkeep = $(printf 'x%.0s' {1..300})\n"
	refuses_profile 'p.conf:1: there is no section "' "[$(printf 'x%.0s' {1..100})]\n"
}

@test "unknown and misspelt names and values of a profile get the nearest known" {
	refuses_profile 'p.conf:1: there is no section "irqs"; did you mean [irq]?' '[irqs]\n'
	refuses_profile 'p.conf:2: there is no key "thread" in [irq]; did you mean "threads"?' '[irq]\nthread = yes\n'
	refuses_profile 'did you mean "isolated"?' '[cgroup]\npartition = isolatd\n'
	refuses_profile 'p.conf:1: section [workqueues] is not supported' '[workqueues]\n'
	refuses_profile 'p.conf:2: vmstat.stat_interval cannot be "1s"' '[vmstat]\nstat_interval = 1s\n'
	refuses_profile 'it takes 1 to 2147483' '[vmstat]\nstat_interval = 18446744073709551617\n'
	# each mistake on a line of its own
	refuses_profile $'chisol.conf(5) lists them\nchisol: p.conf:3: there is no key "bar"' '[irq]\nfoo = 1\nbar = 2\n'
	refuses_profile 'p.conf:2: cpus.housekeeping: CPU list "x"' '[cpus]\nhousekeeping = x\n'
}

@test "a recorded tree that is none, or has not what is needed, is told by path" {
	says 'cannot open the root directory /nonexistent' 125 "$CHISOL" -n --root /nonexistent
	says '/etc/passwd: Not a directory' 125 "$CHISOL" -n --root /etc/passwd
	mkdir tree
	refuses_tree '/sys/devices/system/cpu/online: No such file'
	record sys/devices/system/cpu/online ''
	refuses_tree '/sys/devices/system/cpu/online: no CPU is online'
	record sys/devices/system/cpu/online 'zero'
	refuses_tree '"zero" is not a list of CPUs'
	record sys/devices/system/cpu/online 0-99999999
	refuses_tree '"0-99999999" is not a list of CPUs'
	rm tree/sys/devices/system/cpu/online
	mkdir tree/sys/devices/system/cpu/online
	refuses_tree '/sys/devices/system/cpu/online: Is a directory'
	rmdir tree/sys/devices/system/cpu/online
	ln -s /proc/self/root/sys/devices/system/cpu/online tree/sys/devices/system/cpu/online
	refuses_tree '/sys/devices/system/cpu/online'
}

@test "in a tree with holes, absent and offline CPUs are told apart" {
	record_machine
	refuses_tree 'CPU 4 is offline; online are 0-3,5-7,12-15' -c 4
	refuses_tree 'CPU 4 in "3-5" is offline' -c 3-5
	refuses_tree 'CPU 8 does not exist; this machine has 0-7,12-15' -c 8
	refuses_tree 'CPUs 8-11 in "7-12" do not exist' -c 7-12
	refuses_tree '"16" names a CPU that does not exist' -c 16
	refuses_tree 'CONFIG_NO_HZ_FULL' -c nohz_full
	refuses_tree 'knows no NUMA nodes' -c node:0
	refuses_tree 'that is no CPU on this machine' -c isolated
	refuses_tree 'leave none' -c 0-3,5-7,12-15 -s cgroup.policy=try
	run -0 "$CHISOL" -n --root tree -c 12-N
}

@test "a container's partial view is told, and what is required of it refused" {
	in_namespace '/proc/irq/default_smp_affinity: No such file' '
		mount -t tmpfs none /proc/irq && exec "$1" -c 1 -s irq.policy=require touch ran'
	in_namespace 'no-controller' '
		mount -t tmpfs none /sys/fs/cgroup && exec "$1" -c 1 -s cgroup.policy=require touch ran'
}

@test "without /proc or /sys, as in a chroot, it is told what to mount" {
	in_namespace 'there is no /proc/self/stat; mount -t proc proc /proc' 'mount -t tmpfs none /proc && exec "$1" -c 1 touch ran'
	in_namespace 'there is no /sys/devices/system/cpu; mount -t sysfs sysfs /sys' 'mount -t tmpfs none /sys && exec "$1" --restore'
}

@test "read-only files are told by path" {
	in_namespace '/proc/sys/vm/stat_interval for vmstat.stat_interval: Read-only file system' '
		mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys &&
		exec "$1" -c 1 -s vmstat.policy=require -s vmstat.stat_interval=77 touch ran'
	in_namespace '/proc/irq/default_smp_affinity for irq.default_affinity: Read-only file system' '
		mount --bind /proc/irq /proc/irq && mount -o remount,ro,bind /proc/irq &&
		exec "$1" -c 1 -s irq.policy=require touch ran'
	in_namespace '/run/chisol/lock: Read-only file system' '
		mount --bind /run /run && mount -o remount,ro,bind /run &&
		exec "$1" -c 1 -s vmstat.policy=require -s vmstat.stat_interval=77 touch ran'
}

@test "without root, what only root may do is told" {
	"${nobody[@]}" test -x "$CHISOL" || skip "the program cannot be reached by other users"
	says '/proc/irq/default_smp_affinity for irq.default_affinity: Permission denied' 125 "${nobody[@]}" "$CHISOL" \
		-c 1 -s irq.policy=require touch ran
	says 'run chisol as root' 125 "${nobody[@]}" "$CHISOL" -c 1 -s vmstat.stat_interval=77 \
		-s vmstat.policy=require touch ran
	says "settings of the machine are root's to change" 4 "${nobody[@]}" "$CHISOL" -c 1 -s vmstat.stat_interval=77 sh -c 'exit 4'
	says 'refused       vmstat.stat_interval: asked 77' 4 "${nobody[@]}" "$CHISOL" -c 1 -s vmstat.stat_interval=77 sh -c 'exit 4'
	says "root's to change" 125 "${nobody[@]}" "$CHISOL" -q vmstat_sync touch ran
	says "root's to change" 125 "${nobody[@]}" "$CHISOL" --restore
	says 'lacks the capability cap_setuid' 125 "${nobody[@]}" "$CHISOL" -u root touch ran
	[ ! -e ran ]
}

# left_alone: --status and --restore name ./bad, put in place as a journal, and leave it there; a run
# beside it works.
left_alone() {
	local action
	for action in --status --restore; do
		echo x >>"$CASES"
		run --separate-stderr timeout 20 "$CHISOL" "$action"
		[ "$status" = 1 ]
		[[ "$output$stderr" == *9-9.journal* ]]
		[ -e /run/chisol/9-9.journal ] || [ -L /run/chisol/9-9.journal ]
	done
	run -0 "$CHISOL" -c 1 -s vmstat.stat_interval=77 true
	rm -rf /run/chisol/9-9.journal
}

@test "what is no journal is named, left alone and in nobody's way" {
	local journal=/run/chisol/9-9.journal
	: >$journal
	left_alone
	head -c 1000 /dev/urandom >$journal
	left_alone
	printf '{"chisol_journal": 99}\n' >$journal
	left_alone
	printf '[[[[[[[[[[' >$journal
	left_alone
	truncate -s 1T $journal
	left_alone
	mkdir $journal
	left_alone
	mkfifo $journal
	left_alone
	ln -s $journal $journal
	left_alone
}

@test "a journal cannot make chisol write to a file that is none of the kernel's" {
	local journal=/run/chisol/4194304-1.journal
	echo precious >precious
	# As chisol writes it, of a process that is gone, with another path and value in it.
	"$CHISOL" -c 1 -s vmstat.stat_interval=77 sh -c 'cp /run/chisol/*.journal journal' 2>report
	sed -E 's/"run_id":"[0-9]+-[0-9]+"/"run_id":"4194304-1"/; s/"pid":[0-9]+/"pid":4194304/
		s/"start_time":[0-9]+/"start_time":1/; s/"wanted":"77"/"wanted":"precious"/
		s|/proc/sys/vm/stat_interval|'"$PWD"'/precious|; s/"number-file"/"text-file"/' journal >$journal
	echo x >>"$CASES"
	run timeout 20 "$CHISOL" --restore
	rm -f $journal
	[ "$status" = 1 ]
	[[ $output == *"$PWD/precious: it is no file of the kernel's"* ]]
	[ "$(cat precious)" = precious ]
}

@test "after all of this the machine is as before" {
	diff "$BATS_FILE_TMPDIR/before" <(machine_snapshot)
	[ "$(wc -l <"$CASES")" -ge 60 ]
}
