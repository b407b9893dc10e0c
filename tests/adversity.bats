# SPDX-License-Identifier: GPL-2.0-or-later
# A machine that is short of something, other people's programs in the way, and several chisols at
# once: whatever chisol says, the machine is put back.

load helpers
bats_require_minimum_version 1.5.0

FILE=/proc/sys/vm/stat_interval
CHANGE=(--set vmstat.stat_interval=77 --set vmstat.policy=require)

setup_file() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	lock_machine
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	before=$(<$FILE)
	pids=()
}

teardown() {
	local pid
	for pid in "${pids[@]}"; do
		kill -CONT "$pid" 2>/dev/null || true
		kill -KILL "$pid" 2>/dev/null || true
	done
	"$CHISOL" --restore >/dev/null
	[ "$(<$FILE)" = "$before" ] || { echo "$FILE: $(<$FILE), was $before"; "$CHISOL" --status; false; }
}

# start OPTION...: a run that lasts; its process is in $chisol.
start() {
	rm -f started
	"$CHISOL" "${CHANGE[@]}" "$@" sh -c 'echo $PPID >started; exec sleep 60' >out 2>err 9>&- 3>&- &
	eventually test -s started
	chisol=$(<started)
	pids+=("$chisol")
}

can_watch() {
	"$CHISOL" -c 0 --probe=watch -s probe.policy=require true 2>/dev/null || skip "trace events cannot be watched here"
}

@test "a live run is live to a chisol in another pid namespace, with the probe as well" {
	unshare --pid --fork --mount-proc true || skip "needs unshare --pid"
	for probe in '' --probe=watch --probe=thread; do
		start ${probe:+"$probe"}
		run -0 unshare --pid --fork --mount-proc "$CHISOL" --restore
		[[ $output == *'is live; left alone'* ]]
		[ "$(<$FILE)" = 77 ]
		kill -TERM "$chisol"
		wait "$chisol" || true
	done
}

@test "a report into a FIFO without a reader keeps no other run waiting" {
	mkfifo fifo
	"$CHISOL" "${CHANGE[@]}" --report json:fifo true 9>&- 3>&- &
	pids+=($!)
	sleep 0.3
	timeout 10 "$CHISOL" "${CHANGE[@]}" true
	timeout 10 cat fifo >report
	wait "${pids[0]}"
	jq -e '.run_id' report
}

@test "with however few descriptors the machine is put back" {
	local n status ran=0 refused=0
	for probe in '' --probe=thread --probe=watch; do
		for n in {4..28} {30..80..5}; do
			status=0
			(ulimit -n "$n" && exec timeout 20 "$CHISOL" "${CHANGE[@]}" ${probe:+"$probe"} true) >out 2>&1 || status=$?
			case $status in
			0) ran=$((ran + 1)) ;;
			125) refused=$((refused + 1)) ;;
			127) ;; # not even the dynamic loader has enough
			*) cat out && false ;;
			esac
			[ "$(<$FILE)" = "$before" ] || { echo "$probe, $n descriptors:"; cat out; false; }
		done
	done
	((ran > 20 && refused > 20))
}

@test "events may take more descriptors than the soft limit allows, which stays the command's" {
	can_watch
	ulimit -Sn 30
	"$CHISOL" --probe=watch -s probe.policy=require sh -c 'ulimit -Sn >limit'
	[ "$(<limit)" = 30 ]
}

@test "breaks that nobody reads do not keep the machine changed" {
	can_watch
	mkfifo pipe
	exec 8<>pipe
	head -c 61440 /dev/zero >&8 # one page is left
	"$CHISOL" "${CHANGE[@]}" -c 1 --probe=watch --report jsonl:/proc/self/fd/8 --report text:text \
		sh -c 'touch started; timeout 4 sh -c "while :; do :; done"' 9>&- 3>&- &
	pids+=($!)
	eventually test -e started
	[ "$(<$FILE)" = 77 ]
	eventually eval '[ "$(<$FILE)" = "$before" ]'
	timeout 5 cat <&8 >read || true # the last line may have had to wait for it
	wait "${pids[0]}" || [ $? = 124 ]
	grep -q 'nobody has read from' text
}

@test "who waits for another chisol, as one that was stopped, says for which" {
	"$CHISOL" --restore >/dev/null
	flock /run/chisol/lock sleep 4 3>&- 9>&- &
	pids+=($!)
	eventually refute flock -n /run/chisol/lock true
	"$CHISOL" "${CHANGE[@]}" true 2>err
	grep "waiting for process ${pids[0]}, which holds /run/chisol/lock" err
}

@test "a live run whose journal cannot be read, as of another version, keeps others from changing the machine" {
	start
	journal=$(echo /run/chisol/*.journal)
	cp "$journal" journal
	sed 's/"chisol_journal":1/"chisol_journal":2/' journal | dd of="$journal" conv=notrunc status=none
	run -125 "$CHISOL" "${CHANGE[@]}" true
	[[ $output == *"another version"*"but its run is live"* ]]
	run -125 "$CHISOL" --restore
	[[ $output == *"but its run is live"* ]]
	[ "$(<$FILE)" = 77 ]
	"$CHISOL" true
	dd if=journal of="$journal" conv=notrunc status=none
	kill -TERM "$chisol"
	wait "$chisol" || true
	[ "$(<$FILE)" = "$before" ]
}
