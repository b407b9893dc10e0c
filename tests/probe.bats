# SPDX-License-Identifier: GPL-2.0-or-later
# Who broke the isolation: chisol --probe on this machine.
load helpers
bats_require_minimum_version 1.5.0

setup_file() {
	requires_trace_events && requires_two_cpus || return 0
	lock_machine
	cd "$BATS_FILE_TMPDIR" || return
	command -v oslat >/dev/null || return 0
	# once more if there was a task that the kernel tells nothing of
	local i
	for i in 1 2 3 4; do
		"$CHISOL" -c 1 --probe -r json:json -r text:text -r jsonl:jsonl oslat -c 1 -D 2 >out 2>err
		echo $? >status
		[ "$(jq '.probe.cpus[0].unseen' json)" != 0 ] || break
	done
}

# The counts of a JSON report's first CPU: seen CAUSE..., summed up.
seen() {
	local causes
	causes=$(printf '"%s",' "$@")
	jq "[.probe.cpus[0].causes[] | select(.cause | IN(${causes%,})) | .seen] | add // 0" json
}

interrupts() { # ID: of the same report
	jq --arg id "$1" '[.interrupts.rows[] | select(.id == $id and .kind != "softirq") | .counts["1"]] | add // 0' json
}

near() { # TOLD COUNTED DIFFERENCE: what the kernel tells nothing of is counted and not told
	local unseen
	unseen=$(jq '.probe.cpus[0].unseen' json)
	echo "$1 told and $2 counted, $unseen times not told"
	(($1 - $2 <= $3 && $2 - $1 <= $3 + 15 * unseen))
}

@test "a run of oslat is told with its causes, and keeps its status" {
	needs oslat
	cd "$BATS_FILE_TMPDIR"
	[ "$(cat status)" = 0 ]
	jq -e '.probe | .verdict == "broken" and .unavailable == null and .cpus[0].cpu == 1 and
		.cpus[0].verdict == "broken" and .cpus[0].lost_events == 0 and .window_ns > 3e9' json
	jq -e '[.probe.cpus[0].causes[].cause] | contains(["tick"]) and any(startswith("softirq-"))' json
	grep -q '^  isolation     CPU 1 broken' text
	grep -q '^  tick ' text
	grep -q -- '-> boot with nohz_full=' text
}

@test "as many timer interrupts are told as the kernel counted in the same time" {
	needs oslat
	cd "$BATS_FILE_TMPDIR"
	near "$(seen tick program-timer sleep-timer watchdog sched-timer perf timer)" "$(interrupts LOC)" 2
}

@test "as many interrupts from other CPUs are told as the kernel counted" {
	needs oslat
	cd "$BATS_FILE_TMPDIR"
	near "$(seen reschedule)" "$(interrupts RES)" 2
	near "$(seen tlb-shootdown membarrier text-patch perf-control rcu-expedited msr-access call-function)" \
		"$(interrupts CAL)" 2
}

@test "as many device interrupts and softirqs are told, by name, as the kernel counted" {
	needs oslat
	cd "$BATS_FILE_TMPDIR"
	near "$(seen device-irq)" "$(jq '[.interrupts.rows[] | select(.kind == "device") | .counts["1"]] | add // 0' json)" 2
	local name
	for name in TIMER RCU SCHED BLOCK; do
		near "$(jq --arg n "softirq-${name,,}" '[.probe.cpus[0].causes[] | select(.cause == $n).seen] | add // 0' json)" \
			"$(jq --arg n "$name" '[.interrupts.rows[] | select(.id == $n and .kind == "softirq") | .counts["1"]] | add // 0' json)" 2
	done
	jq -e '[.parts[]? | select(.cause == "device-irq")] | all(.name != null and .number != null)' jsonl
}

@test "the breaks of the stream add up to those of the report" {
	needs oslat
	cd "$BATS_FILE_TMPDIR"
	[ "$(jq -s '[.[] | select(.self == false)] | length' jsonl)" = "$(jq '.probe.cpus[0].foreign.count' json)" ]
	[ "$(jq -s '[.[] | select(.self == false) | .length_ns] | add' jsonl)" = "$(jq '.probe.cpus[0].foreign.total_ns' json)" ]
	[ "$(jq '[.probe.cpus[0].causes[].breaks] | add' json)" = "$(jq -s '[.[] | select(.parts)] | length' jsonl)" ]
	head -n 1 jsonl | jq -e '.chisol_breaks == 1 and .run_id != null'
	tail -n 1 jsonl | jq -e '.verdict == "broken" and .failure == null'
	jq -e '.probe.worst | length <= 10 and ([.[].length_ns] | . == (sort | reverse))' json
}

@test "no break is shorter than its outermost part, and none of its parts is outside" {
	needs oslat
	jq -s -e '[.[] | select(.parts and .cut == false and .cause != "own-thread")] | length > 10 and all(. as $b |
		all(.parts[]; .start_ns >= $b.start_ns and .start_ns + .length_ns <= $b.start_ns + $b.length_ns))' \
		"$BATS_FILE_TMPDIR/jsonl"
}

@test "the time that breaks took is the time that a loop on the CPU found missing" {
	cd "$BATS_TEST_TMPDIR"
	taskset -c 1 timeout 60 sh -c 'while :; do :; done' & # has half of the CPU's time
	"$CHISOL" -c 1 --probe -r json:json -r jsonl:jsonl "$REPO/build/isolprobe" -c 1 -D 3 -F json >loop
	kill $!
	jq -n --slurpfile breaks jsonl --slurpfile loop loop -f "$REPO/tests/stolen.jq" | tee stolen
	# A gap ends when the program runs again, after the kernel says so. A break may hold a few us
	# between two interrupts; what the kernel has no event for is the loop's alone.
	jq -e '.turns_ns > 500000000' stolen
	jq -e '(.turns_ns - .switched_out_ns | fabs) <= .unseen_ns + 0.02 * .switched_out_ns + 100000 * .switched_out' stolen
	jq -e '.breaks_ns <= .gaps_ns + .unseen_ns + 5000 * .gaps' stolen
}

@test "the report with the probe is as its schema says" {
	needs oslat
	[ -z "$(jq -r --slurpfile schema "$REPO/man/chisol-report.schema.json" -f "$REPO/tests/schema.jq" "$BATS_FILE_TMPDIR/json")" ]
}

@test "known disturbances are told with their cause, own doing never taken for foreign" {
	needs "$REPO/build/tests/tools/disturb"
	# Of 30 there are 20 that the kernel told of, however busy it is.
	"$REPO/tests/exam" 1 30 >"$BATS_TEST_TMPDIR/exam"
	cat "$BATS_TEST_TMPDIR/exam"
	tail -n 1 "$BATS_TEST_TMPDIR/exam" >"$BATS_TEST_TMPDIR/matrix"
	jq -e '[.[] | select(.expected)] | length == 36 and all(.[]; .n >= 20 and .confused == 0)' "$BATS_TEST_TMPDIR/matrix"
	jq -e '[.[] | select(.expected)] | ([.[].right] | add) >= 0.99 * ([.[].n] | add)' "$BATS_TEST_TMPDIR/matrix"
}

@test "an independent tracer sees chisol send nothing to the CPU, and never run on it" {
	local tool=$REPO/build/tests/tools
	needs "$tool/observe"
	[ -n "$(unshare -m true 2>&1)" ] && skip "needs unshare -m"
	local mode probe
	cd "$BATS_TEST_TMPDIR"
	for mode in watch none; do
		probe=()
		[ $mode = none ] || probe=(--probe)
		"$CHISOL" -c 1 "${probe[@]}" -r json:json "$tool/flood" 0 6 &
		sleep 2
		unshare -m sh -c 'mount -t tracefs none /mnt && TRACEFS=/mnt "$0" 1 "$1" 2' "$tool/observe" $! >seen.$mode
		wait $!
		cat seen.$mode
		[ "$(cat seen.$mode)" = $'sent 0\nran 0' ]
	done
	# ... and it does see one that sends and runs:
	timeout 60 "$tool/disturb" 1 beat 0 own &
	unshare -m sh -c 'mount -t tracefs none /mnt && TRACEFS=/mnt exec "$0" 1 "$1" 3' "$tool/observe" \
		"$("$tool/disturb" 1 beat 4 foreign >/dev/null & echo $!)" >seen.sender
	wait $!
	cat seen.sender
	[ "$(sed -n 's/^sent //p' seen.sender)" -gt 0 ]
	[ "$(sed -n 's/^ran //p' seen.sender)" -gt 0 ]
	jq -e '.probe == null' json
}

@test "nothing is left mounted or open: the command has no descriptor more, and no limit" {
	local before
	cd "$BATS_TEST_TMPDIR"
	before=$(cat /proc/mounts)
	"$CHISOL" -c 1 --probe -r json:json sh -c 'ls -l /proc/self/fd >fds; ulimit -n >limit; cat /proc/self/mounts >mounts'
	[ "$(cat /proc/mounts)" = "$before" ]
	[ "$(cat mounts)" = "$before" ]
	[ "$(cat limit)" = "$(ulimit -n)" ]
	refute grep -q perf_event fds
}

@test "--fail-on broken gives 120, and not if the limits allow it" {
	cd "$BATS_TEST_TMPDIR"
	local spin='i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'
	run -120 "$CHISOL" -c 1 --probe -f broken sh -c "$spin"
	run -0 "$CHISOL" -c 1 --probe -f broken -s verdict.max_breaks=1000000 sh -c "$spin"
	run -0 "$CHISOL" -c 1 --probe -f broken -s verdict.grace=1000000 sh -c "$spin"
	run -120 "$CHISOL" -c 1 --probe -f broken -s verdict.budget_ppm=0 sh -c "$spin"
	run -120 "$CHISOL" -c 1 --probe -f broken -s verdict.max_gap=0 sh -c "$spin"
	run -3 "$CHISOL" -c 1 --probe -f broken sh -c "$spin; exit 3"
}

@test "of several --fail-on the lowest status that applies wins" {
	cd "$BATS_TEST_TMPDIR"
	local spin='i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done' leave='taskset -cp 0 $$'
	run -120 "$CHISOL" -c 1 --probe -f drift,inconclusive,broken sh -c "$spin; $leave"
	run -122 "$CHISOL" -c 1 --probe -f broken,drift -s verdict.max_breaks=1000000 sh -c "$spin; $leave"
	run -121 "$CHISOL" -c 1 --probe -f broken,inconclusive -s probe.ring=64 -s verdict.max_breaks=1000000000 \
		sh -c 'i=0; while [ $i -lt 4000 ]; do (:); i=$((i+1)); done'
	run -0 "$CHISOL" -c 1 --probe -f broken -f drift -s verdict.max_breaks=1000000 sh -c "$spin"
	run -125 "$CHISOL" -c 1 --probe -f broken,,drift true
	[[ $output == *'--fail-on ""'* ]]
}

@test "a ring that is too small makes the verdict no better than inconclusive, and says so" {
	cd "$BATS_TEST_TMPDIR"
	# 16 threads that hand the CPU on as fast as they can: more than 64 KiB of events in 200 ms
	cat >yield.sh <<-'END'
		i=0
		while [ $i -lt 4000 ]; do (:); i=$((i+1)); done
	END
	run "$CHISOL" -c 1 --probe -f inconclusive -s probe.ring=64 -s verdict.max_breaks=1000000000 -r json:json sh yield.sh
	[ "$status" -eq 121 ]
	jq -e '.probe.verdict == "inconclusive" and .probe.cpus[0].lost_events > 0 and
		any(.probe.cpus[0].reasons[]; contains("lost"))' json
}

@test "without the permission the command runs, and the report says what is missing" {
	needs setpriv
	cd "$BATS_TEST_TMPDIR"
	chmod 777 .
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$CHISOL" -c 1 --probe=watch -f inconclusive -r json:json -r text:text \
		sh -c 'exit 0'
	[ "$status" -eq 121 ]
	jq -e '.exit.status == 0 and .probe.verdict == "inconclusive" and (.probe.unavailable | contains("it takes root"))' json
	grep -q 'isolation     not watched: ' text
	run -125 setpriv --reuid=65534 --regid=65534 --clear-groups "$CHISOL" -c 1 --probe=watch -s probe.policy=require true
}

@test "a user with CAP_PERFMON watches if he may read tracefs, and is told so if he may not" {
	needs setpriv
	needs unshare
	refute grep -q ' - tracefs ' /proc/self/mountinfo || skip "tracefs is mounted, and its permissions are the machine's"
	cd "$BATS_TEST_TMPDIR"
	chmod 777 .
	# Mount options are of all tracefs at once: what it had is put back before anything is judged.
	cat >as_user.sh <<-'END'
		lend() { mount -t tracefs -o "$1" none /sys/kernel/tracing; }
		as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps +perfmon --ambient-caps +perfmon "$@"; }
		mount --make-rprivate /
		lend mode=750,gid=65534
		as_user cat /sys/kernel/tracing/events/sched/sched_switch/format >format
		as_user "$1" -c 1 --probe -r json:lent -r text:lent.text sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'
		lend mode=700,gid=0
		lend mode=755
		as_user cat /sys/kernel/tracing/events/sched/sched_switch/format >still
		as_user "$1" -c 1 --probe -r json:kept true
		lend mode=700
	END
	unshare -m sh as_user.sh "$CHISOL" 2>messages || true
	[ -s format ] && [ ! -s still ] || skip "this kernel or setpriv has no such user: $(head -n 1 messages)"
	jq -e '.probe.mode == "watch" and .probe.unavailable == null and .probe.cpus[0].verdict != "unused"' lent
	jq -e '.probe.mode == "thread" and (.probe.unavailable | contains("sched_switch/format: Permission denied"))' kept
}

@test "in a pid namespace of its own it says that the numbers would not fit" {
	needs unshare
	unshare -pf true 2>/dev/null || skip "cannot make a pid namespace"
	run unshare -pf --mount-proc "$CHISOL" -c 1 --probe true
	[ "$status" -eq 0 ]
	[[ $output == *"pid namespace"* ]]
}

@test "what a killed chisol has found so far is in the stream" {
	cd "$BATS_TEST_TMPDIR"
	"$CHISOL" -c 1 --probe -r jsonl:jsonl sh -c 'while :; do :; done' &
	local pid=$!
	sleep 2
	kill -KILL $pid
	wait $pid || true
	[ "$(jq -s '[.[] | select(.cause)] | length' jsonl)" -gt 10 ]
}
