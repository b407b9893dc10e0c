# SPDX-License-Identifier: GPL-2.0-or-later
# What becomes of a run's changes when it is killed, when others run, and in a container.

bats_require_minimum_version 1.5.0
load helpers

FILE=/proc/sys/vm/stat_interval

setup_file() {
	requires_root "runs change the machine" || return 0
	lock_machine
}

setup() {
	check_requirements
	cd "$BATS_TEST_TMPDIR" || return
	before=$(<$FILE)
	pids=()
}

teardown() {
	check_requirements
	kill -9 "${pids[@]}" 2>/dev/null || true
	"$CHISOL" --restore >/dev/null
	[ "$(<$FILE)" = "$before" ]
}

# start SECONDS [COMMAND...]: a run that sets vm.stat_interval; waits until its command runs.
start() {
	local seconds=$1
	shift
	"$CHISOL" --set vmstat.stat_interval="$seconds" --set vmstat.policy=require "$@" \
		sh -c 'echo $PPID >"$0"; exec sleep 60' "started.$seconds" 2>/dev/null &
	eventually test -s "started.$seconds"
	pids+=("$(<"started.$seconds")")
}

# start_two: runs that share the setting, the second on top.
start_two() {
	pids=()
	rm -f started.*
	start 77
	start 88
	[ "$(<$FILE)" = 88 ]
}

# end PID SIGNAL: ends a run and waits for it.
end() {
	kill -"$2" "$1"
	wait "$1" 2>/dev/null || true
}

@test "a killed run is shown as dead, and --restore puts back what it left" {
	start 77
	[ "$(<$FILE)" = 77 ]
	run "$CHISOL" --status
	[ "$status" = 0 ]
	[[ $output == *"run ${pids[0]}-"*", live, since "* ]]
	end "${pids[0]}" KILL
	[ "$(<$FILE)" = 77 ]
	run "$CHISOL" --status
	[ "$status" = 1 ]
	[[ $output == *", dead, since "*"chisol --restore"* ]]
	run "$CHISOL" --restore
	[ "$status" = 0 ]
	[[ $output == *"1 put back"* ]]
	[ "$(<$FILE)" = "$before" ]
	[ -z "$(find /run/chisol -name '*.journal')" ]
}

@test "what cannot be put back of a dead run keeps no other run from starting, until it is given up" {
	local id cpu
	cpu=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
	start 77
	end "${pids[0]}" KILL
	id=$(basename /run/chisol/"${pids[0]}"-*.journal .journal)
	sed -i 's/"found":"[^"]*"/"found":"no number"/' "/run/chisol/$id.journal"
	run "$CHISOL" --restore
	[ "$status" = 1 ]
	[[ $output == *"not put back: vmstat.stat_interval: "*"chisol --forget $id"* ]]
	# What is left over is not touched: what is tried is refused, what is required ends the launch.
	run "$CHISOL" --set vmstat.stat_interval=88 --set vmstat.policy=try cat $FILE
	[ "$status" = 0 ]
	[ "${lines[0]}" = 77 ]
	[[ $output == *"run $id was killed"*"chisol --forget $id"* ]]
	run "$CHISOL" --set vmstat.stat_interval=88 --set vmstat.policy=require true
	[ "$status" = 125 ]
	[[ $output == *"run $id was killed"* ]]
	[ "$(<$FILE)" = 77 ]
	# Everything else goes on.
	run "$CHISOL" -c "$cpu" --set irq.policy=try --report json:report.json true
	[ "$status" = 0 ]
	jq -e --arg id "$id" '[.notes[] | select(.reason == "restore-failed" and (.text | contains($id)))] |
		length == 1' report.json

	run "$CHISOL" --forget 1-1
	[ "$status" = 125 ]
	cp "/run/chisol/$id.journal" journal
	run "$CHISOL" --forget "$id"
	[ "$status" = 0 ]
	[[ $output == *"given up"*"/run/chisol/$id.forgotten"* ]]
	cp journal "/run/chisol/$id.journal"
	"$CHISOL" --report json --forget "$id" | jq -e '.runs[0].forgotten and .runs[0].outcomes.failed == 1'
	[ -s "/run/chisol/$id.forgotten" ]
	rm "/run/chisol/$id.forgotten"
	run "$CHISOL" --set vmstat.stat_interval=88 --set vmstat.policy=require cat $FILE
	[ "${lines[0]}" = 88 ]
	[ "$(<$FILE)" = 77 ]
	echo "$before" >$FILE
}

@test "what a failed attempt to put back made of a setting is put back by the next one" {
	local sweep=$REPO/build/tests/sweep/sweep.so
	[ -e "$sweep" ] || skip "needs $sweep (make programs)"
	echo 33 >$FILE
	start 77
	end "${pids[0]}" KILL
	run env LD_PRELOAD="$sweep" SWEEP_ROUND=$FILE "$CHISOL" --restore
	[ "$status" = 1 ]
	[ "$(<$FILE)" = 30 ]
	run "$CHISOL" --restore
	[ "$status" = 0 ]
	[ "$(<$FILE)" = 33 ]
	echo "$before" >$FILE
}

@test "a live run cannot be given up" {
	start 77
	run "$CHISOL" --forget "$(basename /run/chisol/"${pids[0]}"-*.journal .journal)"
	[ "$status" = 125 ]
	[[ $output == *"it is live, process ${pids[0]}"* ]]
	end "${pids[0]}" TERM
}

@test "--status names a setting that somebody changed, and --restore leaves it alone" {
	start 77
	echo 33 >$FILE
	run "$CHISOL" --status
	[ "$status" = 1 ]
	[[ $output == *"drifted: vmstat.stat_interval ($FILE): wanted \"77\", now \"33\""* ]]
	end "${pids[0]}" KILL
	run "$CHISOL" --restore
	[ "$status" = 1 ]
	[[ $output == *"left alone: vmstat.stat_interval: $FILE reads \"33\""* ]]
	[ "$(<$FILE)" = 33 ]
	echo "$before" >$FILE
}

@test "of two runs that share a setting the last one to end puts it back, whichever that is" {
	local first second
	for first in 0 1; do
		second=$((1 - first))
		start_two
		end "${pids[first]}" TERM
		[ "$(<$FILE)" = $((first ? 77 : 88)) ]
		end "${pids[second]}" TERM
		[ "$(<$FILE)" = "$before" ]
	done
}

@test "a run that was killed below or above a live one is put back when the live one ends" {
	local dead live
	for dead in 0 1; do
		live=$((1 - dead))
		start_two
		end "${pids[dead]}" KILL
		[ "$(<$FILE)" = 88 ]
		end "${pids[live]}" TERM
		"$CHISOL" --restore
		[ "$(<$FILE)" = "$before" ]
	done
}

@test "CPUs of a live run are refused with that run's name" {
	local cpu
	cpu=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
	[ "$cpu" != 0 ] || skip "needs two CPUs"
	start 77 -c "$cpu" --set irq.policy=try
	run "$CHISOL" -c "$cpu" --set irq.policy=try true
	[ "$status" = 125 ]
	[[ $output == *"CPU $cpu: run ${pids[0]}-"*"(process ${pids[0]}: sh -c "* ]]
	end "${pids[0]}" TERM
}

@test "a --restore that does not see the files of a dead run, as in a container, keeps its journal" {
	local hidden
	for hidden in /proc/sys/vm /proc /sys; do
		pids=()
		rm -f started.*
		start 77
		end "${pids[0]}" KILL
		run unshare --mount --propagation private sh -c 'mount -t tmpfs none "$2" && exec "$1" --restore' \
			sh "$CHISOL" "$hidden"
		if [ "$hidden" != /sys ]; then # /sys has nothing of this run, but chisol needs it to run
			[[ $status = 1 || $status = 125 ]] # and does not crash
		fi
		[ "$(<$FILE)" = 77 ]
		run "$CHISOL" --restore
		[ "$status" = 0 ]
		[ "$(<$FILE)" = "$before" ]
	done
}

@test "a journal of another boot is cleared, and nothing of it is replayed" {
	start 77
	end "${pids[0]}" KILL
	sed -i 's/"boot_id":"[^"]*"/"boot_id":"another"/' /run/chisol/"${pids[0]}"-*.journal
	run "$CHISOL" --restore
	[ "$status" = 0 ]
	[[ $output == *"was before this boot"* ]]
	[ "$(<$FILE)" = 77 ]
	[ -z "$(find /run/chisol -name '*.journal')" ]
	echo "$before" >$FILE
}

@test "a chisol that runs out of memory says so, ends its command, and has the machine put back" {
	local sweep=$REPO/build/tests/sweep/sweep.so
	[ -e "$sweep" ] || skip "needs $sweep (make programs)"
	run env LD_PRELOAD="$sweep" SWEEP_NOMEM="$PWD/now" "$CHISOL" --set vmstat.stat_interval=77 \
		sh -c 'trap "echo ended; exit" TERM; : >now; sleep 10 & wait'
	[ "$status" = 125 ]
	[[ $output == *"out of memory"* ]]
	[[ $output == *ended* ]]
	[[ $output == *"1 put back"* ]]
	[ -z "$(find /run/chisol -name '*.journal')" ]
	[ "$(<$FILE)" = "$before" ]
}

@test "what --status and --restore tell in JSON is as its schema says, of live and of dead runs" {
	start 77
	echo $((before + 54)) >$FILE
	"$CHISOL" --status -r json >live || [ $? = 1 ]
	jq -e '.runs[0] | .state == "live" and (.drifted | length) == 1' live
	valid live
	end "${pids[0]}" KILL
	"$CHISOL" --status -r json >dead || [ $? = 1 ]
	jq -e '.runs[0].state == "dead"' dead
	valid dead
	"$CHISOL" --restore -r json >restored || [ $? = 1 ]
	echo "$before" >$FILE
	jq -e '.runs[0] | .outcomes.foreign == 1 and .problems[0].outcome == "foreign"' restored
	valid restored
}

@test "every key of a journal is in isolcore/journal.md" {
	local key
	start 77
	cat "/run/chisol/${pids[0]}"-*.journal | jq -r 'keys[]' | sort -u >keys
	[ "$(wc -l <keys)" -gt 15 ]
	while read -r key; do
		grep -q "[\`\"]$key[\`\"]" "$REPO/isolcore/journal.md" || { echo "$key"; false; }
	done <keys
}

@test "root is told that other users have runs, whatever they have put there" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	unshare -m true 2>/dev/null || skip "needs unshare -m"
	run -0 unshare -m bash -ec '
		mount -t tmpfs none /run
		mkdir -p /run/user/{1000,1001,1002,1003,4711}/chisol /run/user/strange/chisol
		touch /run/user/1000/chisol/{1-2.journal,lock,3-4.forgotten} /run/user/1003/chisol/{1,2}-3.journal
		touch /run/user/{4711,strange}/chisol/1-2.journal
		rmdir /run/user/1002/chisol
		ln -s ../4711/chisol /run/user/1002/chisol
		"$0" --status
		"$0" --status -r json | jq -c .other_users' "$CHISOL"
	[ "$output" = "User 1000 has 1 run; chisol --status as that user tells of it.
User 1003 has 2 runs; chisol --status as that user tells of them.
User 4711 has 1 run; chisol --status as that user tells of it."$'\n[{"user":1000,"runs":1},{"user":1003,"runs":2},{"user":4711,"runs":1}]' ]
}
