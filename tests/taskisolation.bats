# SPDX-License-Identifier: GPL-2.0-or-later
# Task isolation: on this kernel, and on the kernels that tests/tools/isolkernel plays.

bats_require_minimum_version 1.5.0
load helpers

setup_file() {
	lock_machine
	make -s -C "$REPO" build/tests/tools/{isolkernel,isolstate,prctlcheck}
}

setup() {
	TOOLS=$REPO/build/tests/tools
	PATH=$TOOLS:$PATH
	cd "$BATS_TEST_TMPDIR"
	((EUID == 0)) || skip "needs root"
	isolkernel true || skip "isolkernel cannot play a kernel here (status $?)"
	[ ! -e /proc/self/task_isolation ] || skip "this kernel really has task isolation"
	INTERVAL=$(</proc/sys/vm/stat_interval)
}

teardown() {
	[ -z "${INTERVAL:-}" ] || [ "$(</proc/sys/vm/stat_interval)" = "$INTERVAL" ]
}

# setting FIELD: of task_isolation.quiesce in the report report.json
setting() {
	jq -r ".settings[] | select(.name == \"task_isolation.quiesce\") | $1" report.json
}

# The kernel's calls in the order in which chisol's child made them, up to its exec.
calls() {
	awk '$2 ~ /_SET$/ { printf "%s%s%s", sep, $2, ($2 == "CFG_SET" ? $3 : ""); sep = " " }' calls.log
}

@test "on a kernel without the interface none of its prctl numbers is called" {
	command -v strace || skip "needs strace"
	strace -f -e trace=prctl -e raw=prctl -o trace "$CHISOL" -q vmstat_sync -a -I active prctlcheck
	grep -q 'prctl(0x42' trace # which is what prctlcheck asks, as it does 0x44
	run grep -E 'prctl\((0x3e|0x3f|0x40|0x41|0x43)\b' trace
	[ "$status" -eq 1 ]
}

@test "the command has neither page merging nor MDWE turned on" {
	run -0 "$CHISOL" -q vmstat_sync -I conf prctlcheck
	[[ $output == *"MEMORY_MERGE=0 MDWE=0"* ]] || [[ $output == *"MEMORY_MERGE=-1 MDWE=-1"* ]]
}

@test "without the interface vmstat_sync is met by a stand-in for the time of the run, and says so" {
	run -0 "$CHISOL" -q vmstat_sync -I conf -r json:report.json cat /proc/sys/vm/stat_interval
	[ "$output" = 120 ]
	[ "$(setting .reason)" = by-stand-in ]
	[ "$(setting .granted.state)" = granted ]
	[[ $(setting .detail) == *"no task isolation interface"*"without being activated or inherited"* ]]
	[ "$(</proc/sys/vm/stat_interval)" = "$INTERVAL" ]
}

@test "activation without the interface is reported, not dropped" {
	run -0 "$CHISOL" -q vmstat_sync -a -I active -r json:report.json true
	[ "$(setting .asked)" = "vmstat_sync, active, inherit conf,active" ]
	[ "$(setting .granted.value)" = stand-in ]
}

@test "policy = require without the interface ends with 125 before the command runs" {
	printf '%s\n' '[task_isolation]' 'policy = require' 'quiesce = vmstat_sync' >strict.conf
	run -125 "$CHISOL" -p ./strict.conf touch ran
	[ ! -e ran ]
	[[ $output == *"no task isolation interface"*"accept"* ]]
}

@test "policy = try without the interface runs the command and reports what is missing" {
	printf '%s\n' '[task_isolation]' 'policy = try' 'quiesce = vmstat_sync' 'accept = kernel' >lax.conf
	run -0 "$CHISOL" -p ./lax.conf -r json:report.json touch ran
	[ -e ran ]
	[ "$(setting .granted.state)" = unavailable ]
	[ "$(setting .reason)" = no-interface ]
}

@test "-a without -q is an error" {
	run -125 "$CHISOL" -a touch ran
	[ ! -e ran ]
	[[ $output == *"-q vmstat_sync"* ]]
}

@test "oneshot is refused together with activation" {
	run -125 isolkernel "$CHISOL" -q vmstat_sync -a -s task_isolation.oneshot=yes touch ran
	[ ! -e ran ]
	[[ $output == *oneshot* ]]
}

for_both_forms() { # COMMAND...
	local abi
	for abi in v6 v4; do
		echo "# $abi"
		"$@" "$abi"
	done
}

configures_and_inherits() {
	run -0 isolkernel --abi "$1" --log calls.log "$CHISOL" -q vmstat_sync -I conf -r json:report.json isolstate
	[ "${lines[0]}" = "main: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "${lines[1]}" = "thread: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "${lines[2]}" = "child: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "$(setting .reason)" = by-kernel ]
	[ "$(setting .granted.value)" = "vmstat_sync, inherit conf" ]
	[[ $(calls) == *"CFG_SET1 CFG_SET2" && $(calls) != *ACTIVATE* ]]
}

@test "with the interface the command is configured and its threads and children inherit" {
	for_both_forms configures_and_inherits
}

activates_in_posted_order() {
	run -0 isolkernel --abi "$1" --log calls.log "$CHISOL" -q vmstat_sync -a -I active -r json:report.json isolstate
	[ "${lines[0]}" = "main: configured=1 quiesce=1 active=1 inherit=3" ]
	[ "${lines[1]}" = "thread: configured=1 quiesce=1 active=1 inherit=3" ]
	[ "${lines[2]}" = "child: configured=1 quiesce=1 active=1 inherit=3" ]
	[[ $(calls) == *"CFG_SET1 ACTIVATE_SET CFG_SET2" ]]
	[ "$(setting .granted.value)" = "vmstat_sync, active, inherit conf,active" ]
}

@test "-a -I active takes effect in the posted order, in every thread" {
	for_both_forms activates_in_posted_order
}

@test "without -I only the main thread is configured, and the report says so" {
	run -0 isolkernel "$CHISOL" -q vmstat_sync -r json:report.json isolstate
	[ "${lines[0]}" = "main: configured=1 quiesce=1 active=0 inherit=0" ]
	[ "${lines[1]}" = "thread: configured=0 quiesce=0 active=0 inherit=0" ]
	[[ $(setting .detail) == *"threads and children start without it"* ]]
}

@test "a program activates what chisol configured" {
	run -0 isolkernel "$CHISOL" -q vmstat_sync -I conf isolstate --activate
	[ "${lines[1]}" = "thread: configured=1 quiesce=1 active=1 inherit=1" ]
	[ "${lines[0]}" = "main: configured=1 quiesce=1 active=0 inherit=1" ]
}

@test "oneshot is configured in the v6 form and refused by the v4 form" {
	printf '%s\n' '[task_isolation]' 'policy = require' 'quiesce = vmstat_sync' 'inherit = conf' 'oneshot = yes' >one.conf
	run -0 isolkernel --abi v6 "$CHISOL" -p ./one.conf isolstate --activate
	[ "${lines[1]}" = "thread: configured=1 quiesce=1 active=1 inherit=1" ]
	run -125 isolkernel --abi v4 "$CHISOL" -p ./one.conf touch ran
	[ ! -e ran ]
	[[ $output == *oneshot* ]]
}

@test "moved numbers are used when the profile names them" {
	run -0 isolkernel --base 200 --file /proc/sys/kernel/osrelease=6.18.0 --log calls.log \
		"$CHISOL" -q vmstat_sync -I conf -s task_isolation.prctl_base=200 -r json:report.json isolstate 200
	[ "${lines[1]}" = "thread: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "$(setting .reason)" = by-kernel ]
}

@test "the posted numbers are used on a kernel of any version that answers them" {
	run -0 isolkernel --file /proc/sys/kernel/osrelease=6.18.0 \
		"$CHISOL" -q vmstat_sync -I conf -r json:report.json isolstate
	[ "${lines[1]}" = "thread: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "$(setting .reason)" = by-kernel ]
}

@test "numbers that do not answer are not used, and the reason names the owner and prctl_base" {
	run -0 isolkernel --base 200 --file /proc/sys/kernel/osrelease=6.18.0 \
		"$CHISOL" -q vmstat_sync -a -I active -r json:report.json prctlcheck
	[[ $output == *"MEMORY_MERGE=0 MDWE=0"* ]] || [[ $output == *"MEMORY_MERGE=-1 MDWE=-1"* ]]
	[ "$(setting .reason)" = by-stand-in ]
	[[ $(setting .detail) == *"prctl 63 (PR_SME_SET_VL since Linux 5.19)"*prctl_base* ]]
	run -0 isolkernel --base 200 "$CHISOL" -q vmstat_sync -r json:report.json true
	[[ $(setting .detail) == *"prctl 63 does not answer"*prctl_base* ]]
}

@test "numbers that answer as somebody else's are called once, and a stand-in takes over" {
	run -0 isolkernel --abi taken --proc yes --log calls.log "$CHISOL" -q vmstat_sync -a -I active -r json:report.json true
	[ "$(awk '{ print $2 }' calls.log | sort -u)" = FEAT_GET ]
	[ "$(setting .reason)" = by-stand-in ]
	[[ $(setting .detail) == *"something else"* ]]
}

@test "numbers that are somebody else's are not called at all without the file in /proc" {
	run -0 isolkernel --abi taken --log calls.log "$CHISOL" -q vmstat_sync -a -I active -r json:report.json true
	[ ! -s calls.log ]
	[ "$(setting .reason)" = by-stand-in ]
}

@test "a kernel with the interface configured out leads to the stand-in" {
	for proc in no yes; do
		run -0 isolkernel --abi eopnotsupp --proc $proc --log calls.log "$CHISOL" -q vmstat_sync -I conf -r json:report.json true
		[ "$(setting .reason)" = by-stand-in ]
		[ -z "$(calls)" ]
	done
}

@test "on CPUs that are isolated at boot vmstat_sync is met by placement, and nothing is written" {
	run -0 isolkernel --abi taken --file /proc/sys/kernel/osrelease=6.18.0 --file /sys/devices/system/cpu/isolated=1 \
		"$CHISOL" -c 1 -q vmstat_sync -I conf -r json:report.json cat /proc/sys/vm/stat_interval
	[ "$output" = "$INTERVAL" ]
	[ "$(setting .reason)" = by-placement ]
	[ "$(setting .granted.value)" = placement ]
}

@test "the state is confirmed for a command that runs as another user" {
	id nobody || skip "needs the user nobody"
	chmod 755 .
	run -0 isolkernel "$CHISOL" -u nobody -q vmstat_sync -I conf -r json:report.json "$TOOLS/isolstate"
	[ "${lines[1]}" = "thread: configured=1 quiesce=1 active=0 inherit=1" ]
	[ "$(setting .granted.state)" = granted ]
	# /proc/PID/task_isolation, which that user cannot read, was seen by chisol.
	run -0 isolkernel "$CHISOL" -u nobody -q vmstat_sync -I conf -r json:report.json sleep 0.3
	[ "$(setting .observed.state)" = kept ]
}

@test "a program that gives its configuration up is seen to have drifted" {
	run -0 isolkernel "$CHISOL" -q vmstat_sync -r json:report.json isolstate --clear
	[ "$(setting .observed.state)" = drifted ]
	[ "$(setting .observed.value)" = none ]
}

@test "the flush before the start is made when asked for, and only then" {
	command -v strace || skip "needs strace"
	strace -f -e trace=openat -o trace "$CHISOL" -q vmstat_sync true
	run grep stat_refresh trace
	[ "$status" -eq 1 ]
	strace -f -e trace=openat,execve -o trace "$CHISOL" -s vmstat.flush=yes -r json:report.json true
	[ "$(grep -c stat_refresh trace)" -eq 1 ]
	[ "$(jq -r '.settings[] | select(.name == "vmstat.flush") | .granted.state' report.json)" = granted ]
	# Before the command, after chisol itself:
	awk '/execve\(/ { n++ } /stat_refresh/ { at = n } END { exit !(at == 1 && n > 1) }' trace
}

@test "the flush is made on kernels without close_range, too, and its helper holds nothing" {
	command -v strace >/dev/null || skip "strace is not installed"
	cd "$BATS_TEST_TMPDIR"
	strace -f -e trace=close_range,close,write -e inject=close_range:error=ENOSYS -o trace \
		"$CHISOL" -s vmstat.flush=yes -r json:report.json true
	grep -q 'close_range.*ENOSYS' trace
	[ "$(jq -r '.settings[] | select(.name == "vmstat.flush") | .granted.state' report.json)" = granted ]
	# The helper is who makes that call; it closes standard error and whatever else there is.
	helper=$(sed -n 's/^\([0-9]*\) *close_range.*/\1/p' trace)
	[ "$(grep -c "^$helper *close(" trace)" -ge 3 ]
	grep -q "^$helper *close(2)" trace
}

@test "the flush helper is neither a child of the command nor holds its pipes" {
	run -0 --separate-stderr "$CHISOL" -s vmstat.flush=yes sh -c 'read -r children </proc/$$/task/$$/children; echo "children: $children"'
	[ "$output" = "children: " ]
}

@test "--info prints the posted line first, then what else there is" {
	run -0 isolkernel "$CHISOL" -i
	[ "${lines[0]}" = "quiesce: vmstat_sync " ]
	[[ $output == *"task isolation:"*"prctl 63 to 67, v6 form"* ]]
	run -0 isolkernel --abi v4 --base 200 --file /proc/sys/kernel/osrelease=6.18.0 "$CHISOL" -i -s task_isolation.prctl_base=200
	[[ $output == *"prctl 200 to 204, v4 form"* ]]
	run -0 "$CHISOL" --info
	[[ ${lines[0]} == kernel:* ]]
	[[ $output == *"no task isolation interface"* ]]
}

@test "--info prints JSON as its schema says" {
	"$CHISOL" -i -r json >"$BATS_TEST_TMPDIR/info"
	valid "$BATS_TEST_TMPDIR/info"
	"$CHISOL" -i -r json | jq -e '.chisol_info == 1 and .quiesce == [] and (.cpus_online | length > 0)'
	isolkernel "$CHISOL" -i -r json | jq -e '.quiesce == ["vmstat_sync"]'
}

@test "--info and --dry-run work on a recorded tree" {
	mkdir -p tree/proc/sys/{kernel,vm} tree/proc/self tree/sys/devices/system/cpu
	echo 0-3 >tree/sys/devices/system/cpu/online
	echo 2-3 >tree/sys/devices/system/cpu/isolated
	echo 6.12.0 >tree/proc/sys/kernel/osrelease
	echo 1 >tree/proc/sys/vm/stat_interval
	run -0 "$CHISOL" -i --root tree
	[[ $output == *"by placement on CPUs 2-3"* ]]
	run -0 "$CHISOL" -n --root tree -q vmstat_sync -c 2-3
	[[ $output == *"keeps its vmstat worker off"* ]]
	run -0 "$CHISOL" -n --root tree -q vmstat_sync -c 1-2
	[[ $output == *stat_interval*120* ]]
}
