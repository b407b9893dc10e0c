# SPDX-License-Identifier: GPL-2.0-or-later
# Interrupts of this machine: moved off the workload's CPU for a run, and put back.
load helpers

setup_file() {
	lock_machine
	export CPU=$(($(nproc --all) - 1)) ALL=0-$(($(nproc --all) - 1))
	masks >"$BATS_FILE_TMPDIR/before"
	threads >"$BATS_FILE_TMPDIR/threads"
}

setup() {
	REPORT=$BATS_TEST_TMPDIR/report.json
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	[ "$CPU" -ge 1 ] || skip "needs two CPUs"
	[ -w /proc/irq/default_smp_affinity ] || skip "/proc/irq is not writable here"
	refute pgrep -x irqbalance || skip "irqbalance runs and would move interrupts meanwhile"
	movable | grep -q . || skip "no interrupt of this machine may use all CPUs and be moved"
}

teardown() { # a failed test must not leave its masks to the next one
	local file value pid list
	while IFS=: read -r file value; do
		[ "$(cat "$file")" = "$value" ] || echo "$value" >"$file" || true
	done <"$BATS_FILE_TMPDIR/before" 2>/dev/null
	while read -r pid list; do
		[ "$(cpus_of "$pid")" = "$list" ] || taskset -pc "$list" "$pid" >/dev/null
	done <"$BATS_FILE_TMPDIR/threads"
}

masks() { # every requested mask, as the files say it
	grep -Hs '' /proc/irq/default_smp_affinity /proc/irq/[0-9]*/smp_affinity_list || true
}

movable() { # numbers of the interrupts that may use all CPUs; writing the mask back tells managed ones
	local dir
	for dir in /proc/irq/[0-9]*; do
		[ "$(cat "$dir/smp_affinity_list")" = "$ALL" ] || continue
		[ $((0$(stat -c %a "$dir/smp_affinity_list") & 0200)) -ne 0 ] || continue
		{ echo "$ALL" >"$dir/smp_affinity_list"; } 2>/dev/null && echo "${dir##*/}"
	done
}

threads() { # "PID CPUS" of the threads of interrupts
	local pid
	for pid in $(pgrep '^irq/'); do
		[ "$(ps -o ppid= -p "$pid")" -eq 2 ] && echo "$pid $(cpus_of "$pid")"
	done
	true
}

cpus_of() { # PID
	sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$1/status"
}

run_irq() { # [OPTION...] COMMAND...: a run that moves interrupts, its report in $REPORT
	"$CHISOL" -c "$CPU" -s irq.policy=try --report "json:$REPORT" "$@"
}

field() { # NAME FIELD: of a setting in the report
	jq -r --arg name "$1" '.settings[] | select(.name == $name) | .'"$2" "$REPORT"
}

@test "during a run no movable interrupt may use the workload's CPU, or is reported as pending there" {
	local dir irq state mask effective
	run_irq sh -c 'for d in /proc/irq/[0-9]*; do
			echo "${d##*/} $(cat $d/smp_affinity_list) $(cat $d/effective_affinity_list)"
		done; cat /proc/irq/default_smp_affinity >&2' >"$BATS_TEST_TMPDIR/during" 2>"$BATS_TEST_TMPDIR/default"
	[ $((0x$(head -1 "$BATS_TEST_TMPDIR/default" | tr -d ,) >> CPU & 1)) -eq 0 ]
	while read -r irq mask effective; do
		state=$(field "irq.$irq.affinity" granted.state)
		[ "$state" != exposed ] || continue
		refute has_cpu "$mask" "$CPU"
		if has_cpu "$effective" "$CPU"; then
			[ "$state" = pending ]
		fi
	done <"$BATS_TEST_TMPDIR/during"
	[ "$(jq '[.settings[] | select(.name | test("^irq[.][0-9]+[.]affinity$"))] | length' "$REPORT")" -eq "$(wc -l <"$BATS_TEST_TMPDIR/during")" ]
}

@test "after a run every mask is byte for byte as before" {
	masks >"$BATS_TEST_TMPDIR/before"
	run_irq true
	masks | diff "$BATS_TEST_TMPDIR/before" -
}

@test "a mask that somebody rewrites during the run is drift, and left alone at the end" {
	local irq
	irq=$(movable | head -1)
	run run_irq --fail-on drift sh -c "echo $CPU >/proc/irq/$irq/smp_affinity_list"
	[ "$status" -eq 122 ]
	[ "$(cat "/proc/irq/$irq/smp_affinity_list")" = "$CPU" ]
	[ "$(field "irq.$irq.affinity" observed.value)" = "$CPU" ]
	[ "$(field "irq.$irq.affinity" restored.state)" = foreign ]
}

@test "threads of interrupts are moved along and back" {
	local pid
	pid=$(threads | head -1)
	pid=${pid%% *}
	[ -n "$pid" ] || skip "no interrupt of this machine has a thread"
	taskset -pc "$CPU" "$pid" >/dev/null
	run run_irq sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$pid/status"
	[ "$status" -eq 0 ]
	refute has_cpu "${lines[0]}" "$CPU"
	[ "$(cpus_of "$pid")" = "$CPU" ]
}

@test "a managed interrupt is reported as exposed, not as a failure" {
	local managed
	run_irq -s irq.policy=require true
	managed=$(jq -r '[.settings[] | select(.reason == "managed-irq")] | length' "$REPORT")
	[ "$managed" -gt 0 ] || skip "no interrupt of this machine is managed"
	jq -e '.settings[] | select(.reason == "managed-irq") | .granted.state == "exposed" and (.remedy | contains("managed_irq"))' "$REPORT"
}

@test "an interrupt that the profile keeps stays where it is" {
	local irq
	irq=$(movable | head -1)
	run run_irq -s irq.keep="$irq" cat "/proc/irq/$irq/smp_affinity_list"
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "$ALL" ]
	[ "$(field "irq.$irq.affinity" reason)" = kept ]
}

@test "a read-only /proc/irq, as in a container, is told as such; nothing is changed" {
	local irq
	irq=$(movable | head -1)
	masks >"$BATS_TEST_TMPDIR/before"
	run unshare -m sh -c "mount --bind /proc/irq /proc/irq && mount -o remount,bind,ro /proc/irq &&
		exec '$CHISOL' -c $CPU -s irq.policy=try --report 'json:$REPORT' true"
	[ "$status" -eq 0 ]
	[ "$(field "irq.$irq.affinity" reason)" = read-only ]
	run unshare -m sh -c "mount --bind /proc/irq /proc/irq && mount -o remount,bind,ro /proc/irq &&
		exec '$CHISOL' -c $CPU -s irq.policy=require true"
	[ "$status" -eq 125 ]
	masks | diff "$BATS_TEST_TMPDIR/before" -
}

@test "the mask of a run on top of another one is put back to the first one's, whichever ends first" {
	local irq first second
	[ "$(nproc --all)" -ge 3 ] || skip "needs three CPUs"
	irq=$(movable | head -1)
	"$CHISOL" -c "$CPU" -s irq.policy=try sleep 3 &
	first=$!
	sleep 0.5
	"$CHISOL" -c $((CPU - 1)) -s irq.policy=try sleep 1
	refute has_cpu "$(cat "/proc/irq/$irq/smp_affinity_list")" "$CPU"
	wait "$first"
	[ "$(cat "/proc/irq/$irq/smp_affinity_list")" = "$ALL" ]
}
