# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that tick (isolprobe.h) under chisol --probe. What is asserted are counts and states.
load helpers
bats_require_minimum_version 1.5.0

TICKER=${TICKER:-$REPO/build/tests/tools/ticker}

setup_file() {
	requires_trace_events && requires_two_cpus || return 0
	lock_machine
}

setup() {
	check_requirements
	cd "$BATS_TEST_TMPDIR"
	[ -x "$TICKER" ] || skip "needs build/tests/tools/ticker (make programs)"
}

# watched COMMAND...: runs it on CPU 1 with the probe, and its report is in json and text.
watched() {
	"$CHISOL" -c 1 --probe -r json:json -r text:text "$@"
}

@test "a loop that ticks is told with its gaps, and each gap is charged" {
	watched "$TICKER" 600 >out
	jq -e '.loops | (.threads | length) == 1 and .omitted == 0 and .startup_ns >= 0' json
	jq -e --argjson pid "$(head -1 out)" '.loops.threads[0] | .name == "ticker" and .tid == $pid and .ended
		and .figures.cpu == 1 and .figures.passes > 1000 and (.figures.threshold_ns - 2000 | fabs) < 10' json
	# the program's own count, chisol's from the record, and what came through the ring
	jq -e --argjson n "$(sed -n 's/^breaks //p' out)" '.loops | .threads[0].figures.gaps == $n and
		([.cpus[] | .joined.count + .lost_gaps] | add) == $n' json
	jq -e '.loops.cpus[0] | .joined.count == ([.by_cause[].count] | add // 0)' json
	grep -q '^  loops         thread ticker' text
	grep -qE '^  gaps          CPU 1: [0-9]+ are the kernel' text
}

@test "breaks that are over the threshold of the loop are in its gaps" {
	local try
	for try in 1 2 3 4 5; do
		watched "$TICKER" 1500 >out
		jq -c '.loops.cpus[0] | [.kernel_breaks_over_threshold, .lost_gaps, .lost_events]' json
		! jq -e '.loops.cpus[0] | .lost_gaps == 0 and .lost_events == 0' json || break
	done
	jq -e '.loops.cpus[0].kernel_breaks_over_threshold | .count > 10 and .in_gaps + .while_blind >= .count - 1' json
}

@test "what was before the first isolprobe_begin() is start-up, and not counted" {
	watched "$TICKER" 400 late >out
	jq -e '.loops.startup_ns > 0.4e9 and .probe.cpus[0].startup.count > 0' json
	jq -e '.loops.startup_ns as $s | [.probe.worst[].start_ns] | all(. >= $s)' json
	jq -e '.loops.startup_ns as $s | [.probe.cpus[].causes[] | select(.breaks > 0).first_ns] | all(. >= $s)' json
}

@test "a loop that is killed is told as far as it came, and one that exits without an end as well" {
	local status=0
	watched sh -c '"$0" 60000 & sleep 1; kill -9 $!; wait $!' "$TICKER" >out || status=$?
	[ "$status" -eq 137 ]
	# the shell's child is not the command: its record is nobody's
	jq -e '.loops == null' json
	watched timeout -s KILL 1 "$TICKER" 60000 >out || true
	watched "$TICKER" 300 exit >out
	jq -e '.loops.threads[0] | (.ended | not) and .figures.gaps > 0 and .figures.passes == null' json
	grep -q 'did not come to isolprobe_end' <(tr -s ' \n' ' ' <text)
}

@test "threads that exit without an end make room for others" {
	watched "$TICKER" 5 leave 64 >out
	jq -e '.loops | (.threads | length) + .omitted == 64 and .omitted < 32 and all(.threads[]; .ended | not)' json
}

@test "a program that is killed by SIGKILL leaves its loop in the report" {
	local chisol pid
	watched "$TICKER" 60000 >out &
	chisol=$!
	eventually grep -qs ticks out
	sleep 0.7
	pid=$(head -1 out)
	kill -9 "$pid"
	wait "$chisol" || true
	jq -e --argjson pid "$pid" '.loops.threads[0] | .tid == $pid and (.ended | not) and .figures.gaps > 0 and
		.figures.elapsed_ns > 0.3e9' json
	jq -e '.loops.cpus[0].joined.count > 0' json
}

@test "begun and ended again and again, in threads, and across a fork, all of it is told" {
	watched "$TICKER" 30 again 40 >out
	jq -e '.loops | (.threads | length) + .omitted == 40 and all(.threads[]; .ended)' json
	jq -e '([.loops.threads[].figures.gaps] | add) <= '"$(sed -n 's/^breaks //p' out)" json
	watched "$TICKER" 300 threads 3 >out
	jq -e '.loops | (.threads | length) == 3 and ([.threads[].tid] | unique | length) == 3' json
	watched "$TICKER" 300 fork >out
	jq -e '.loops | (.threads | length) == 1 and .threads[0].ended' json
}

@test "isolprobe under chisol leaves the causes to it, and both count the same gaps" {
	watched "$REPO/build/isolprobe" -D 1 -F json >own
	jq -e '.causes_unavailable | contains("chisol")' own
	jq -e --slurpfile own own '.loops | .threads[0].figures.gaps == $own[0].measured[0].breaks.count
		and .threads[0].figures.passes == $own[0].measured[0].loops' json
	jq -e '.loops.cpus[0] | .joined.count + .lost_gaps' json
	[ "$(jq '.loops.cpus[0] | .joined.count + .lost_gaps' json)" = "$(jq '.measured[0].breaks.count' own)" ]
}

@test "a command that does not tick has no loops, and the report is as its schema says either way" {
	watched true
	jq -e '.loops == null' json
	refute grep -q '^  loops' text
	[ -z "$(jq -r --slurpfile schema "$REPO/man/chisol-report.schema.json" -f "$REPO/tests/schema.jq" json)" ]
	watched "$TICKER" 300 >out
	[ -z "$(jq -r --slurpfile schema "$REPO/man/chisol-report.schema.json" -f "$REPO/tests/schema.jq" json | tee /dev/stderr)" ]
}

@test "without chisol a program ticks the same" {
	"$TICKER" 300 >out
	[ "$(sed -n 's/^breaks //p' out)" -gt 0 ]
	"$TICKER" 200 fork
	"$TICKER" 100 threads 4
}

@test "the figures of a loop in oslat's form are those of the program itself" {
	"$CHISOL" -c 1 --probe -r oslat-json:oslat "$REPO/build/isolprobe" -D 1 -F oslat-json -o own
	jq -e --slurpfile own own '.thread == $own[0].thread and .num_threads == 1 and .chisol.unavailable == null and
		(."cmdline:" | endswith("-F oslat-json -o own"))' oslat
	jq -e '.thread["0"] | .cpu == 1 and (.histogram | add) > 1000' oslat
}

@test "a command without a loop has no figures in oslat's form, and it says why" {
	"$CHISOL" -c 1 --probe -r oslat-json:oslat true
	jq -e '.num_threads == 0 and .thread == {} and (.chisol.unavailable | contains("isolprobe_begin"))' oslat
	"$CHISOL" -c 1 --probe -r oslat-json:oslat "$TICKER" 200 exit >out
	jq -e '.num_threads == 0 and (.chisol.unavailable | contains("isolprobe_end"))' oslat
}
