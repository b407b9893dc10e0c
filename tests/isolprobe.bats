# SPDX-License-Identifier: GPL-2.0-or-later
# isolprobe, the command. What is asserted are counts, states and sums, never how fast this machine is.

bats_require_minimum_version 1.5.0
load helpers

setup_file() {
	ISOLPROBE=${ISOLPROBE:-$REPO/build/isolprobe}
	requires "build/isolprobe (make)" [ -x "$ISOLPROBE" ] || return 0
	CPU=$(grep -o '[0-9]*$' /sys/devices/system/cpu/online)
	export ISOLPROBE CPU
	lock_machine # a run of another test might have that CPU for itself
}

setup() {
	check_requirements
	cd "$BATS_TEST_TMPDIR"
	[ "$(getconf _NPROCESSORS_ONLN)" -gt 1 ] || skip "needs a second CPU for the control thread"
}

# probe OPTION...: a short measurement of the last CPU; nothing on standard error.
probe() {
	"$ISOLPROBE" -c "$CPU" -D 400ms "$@" 2>stderr
	[ ! -s stderr ]
}

# Trace events are root's, and of the first pid namespace.
needs_events() {
	((EUID == 0)) || skip "needs root: trace events are root's"
	[ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] || skip "needs the machine's own pid namespace"
}

# refused MESSAGE OPTION...: exit status 1 and one line that says it.
refused() {
	local message=$1
	shift
	run -1 "$ISOLPROBE" "$@"
	[[ $output == "isolprobe: "*"$message"* ]] || { echo "$output"; false; }
	[ "${#lines[@]}" -eq 1 ]
}

@test "the text report has a row for the CPU, the clock and the threshold" {
	probe >text
	grep -qE "on CPU $CPU, controlled from CPU" text
	grep -qE '^A gap of [0-9.]+ [nu]s or more is a break \(found' text
	grep -qE '^Clock: [0-9.]+ MHz .*granularity' text
	grep -qE "^ +$CPU +[0-9]+ +[0-9.]+ ns" text
}

@test "the histogram of the JSON report counts every loop once" {
	probe -F json >json
	jq -e '.measured | length == 1' json
	jq -e '.measured[0] | (.histogram | map(.count) | add) == .loops' json
	jq -e '.measured[0] | .loops > 1000 and .histogram[0].count > .loops / 2' json
	jq -e '.measured[0].histogram | [range(1; length - 1) as $i | .[$i].to_ns <= .[$i + 1].from_ns] | all' json
}

@test "the breaks of the three classes add up, and the lists hold only breaks, in their order" {
	probe -F json >json
	jq -e '.measured[0].breaks | .count == ([.by_class[].count] | add) and .total_ns == ([.by_class[].total_ns] | add)
		and .max_ns == ([.by_class[].max_ns] | max)' json
	jq -e '.threshold_ns as $t | [.measured[0] | (.worst, .first)[] | .length_ns >= $t] | all' json
	jq -e '.measured[0].worst | map(-.length_ns) | . == sort' json
	jq -e '.measured[0].first | map(.start_ns) | . == sort' json
	jq -e '.measured[0] | .breaks.max_ns == (.worst[0].length_ns // 0)' json
	jq -e '.measured[0] | .coverage > 0 and .coverage <= 1 and .probe_busy_ns < .elapsed_ns' json
	jq -e '.measured[0].breaks.per_second | .low_95 <= .value and .value <= .high_95' json
}

@test "every key of the JSON report is in isolprobe(1), or in chisol-report(5) that it refers to" {
	local key
	"$ISOLPROBE" -c "$CPU" -D 400ms -F json >json || [ $? = 2 ]
	jq -r '[paths[-1] | strings] | unique[] | select(test("^[0-9.]+$") | not)' json >keys
	[ "$(wc -l <keys)" -gt 50 ]
	grep -hE '^\.(It |Pq )?Li ' "$REPO"/man/{isolprobe.1,chisol-report.5} >page
	grep -hE '^\.Cm ' "$REPO/man/isolprobe.1" | sed 's/\\-/-/g' >>page
	while read -r key; do
		grep -qwF -- "$key" page || { echo "not in the page: $key"; false; }
	done <keys
}

@test "the number of gaps to keep is kept to" {
	probe -F json -T 1us -n 3 >json
	jq -e '.threshold_ns == 1000 and .threshold_from == "option"' json
	jq -e '.measured[0] | .worst | length <= 3' json
	jq -e '.measured[0] | .first | length <= 3' json
	probe -F json -n 0 >json
	jq -e '.measured[0] | .worst == [] and .first == []' json
}

@test "oslat's text has a maximum in whole us for the parsers that are out there" {
	probe -F oslat >text
	# OpenShift's cluster-node-tuning-operator: the expression, and then Atoi
	maximum=$(grep -oP 'Maximum:\t*([\s\d]*)\(us\)' text | tr -cd 0-9)
	[ -n "$maximum" ]
	# bench-oslat: begins and ends so, whole numbers in between
	grep -E '^ *Maximum:' text | grep -qE '^ +Maximum:	( [0-9]+)+ \(us\)$'
	[ "$(grep -cE '^    [0-9]{3} \(us\):	( [0-9]+)+' text)" -eq 32 ]
	grep -qE '^        Core:	 [0-9]+$' text
	grep -qE '^    Duration:	 [0-9.]+ \(sec\)$' text
}

@test "oslat's JSON has its keys, colons included, right figures and whole us" {
	probe -F oslat-json >json
	jq -e '.file_version == 1 and .num_threads == 1 and ."cmdline:" == .cmdline and
		."rt_test_version:" == .rt_test_version and .return_code == 0' json
	jq -e '.thread["0"] | .cpu == (env.CPU | tonumber) and .min == (.min | floor) and .max == (.max | floor)
		and .min <= .avg and .avg <= .max + 1 and .unit == "us"' json
	jq -e '.thread["0"].histogram | keys | map(tonumber) | all(. >= 1)' json
	# the true mean: time by loops, whatever the buckets' width
	jq -e '.thread["0"] | (.duration * 1e6 / ([.histogram[]] | add) / .avg) as $r | $r > 0.99 and $r < 1.01' json
}

@test "an argument that would break oslat's JSON is quoted" {
	"$ISOLPROBE" -c "$CPU" -D 300ms -F oslat-json -o 'a"b\c' 2>stderr
	[ ! -s stderr ]
	jq -e '.cmdline | endswith("-o a\"b\\c")' 'a"b\c'
}

@test "sysjitter's rows are all there, and its percentiles ascend" {
	local row
	probe -F sysjitter >text
	for row in core_i 'threshold(ns)' cpu_mhz 'runtime(ns)' 'runtime(s)' int_n int_n_per_sec 'int_min(ns)' \
		'int_median(ns)' 'int_mean(ns)' 'int_90(ns)' 'int_99(ns)' 'int_999(ns)' 'int_9999(ns)' \
		'int_99999(ns)' 'int_max(ns)' 'int_total(ns)' 'int_total(%)'; do
		grep -qE "^${row//[()]/.}: [0-9.]+$" text || { echo "no row $row"; false; }
	done
	[ "$(wc -l <text)" -eq 18 ]
	grep -E '^int_(median|9+)\(' text | cut -d' ' -f2 | sort -nc
}

@test "several CPUs have a column or an element each" {
	probe -c 0-1 -C 0-1 -F sysjitter >text
	grep -q '^core_i: 0 1$' text
	probe -c 0-1 -C 0-1 -F json >json
	jq -e '[.measured[].cpu] == [0, 1]' json
}

@test "what a CPU hog takes is counted as switched out, and the scheduler's own account agrees" {
	local try hog share
	for try in 1 2 3; do
		taskset -c "$CPU" sh -c 'while :; do :; done' &
		hog=$!
		probe -D 2 -T 5us -F json >json || true
		kill "$hog"
		wait "$hog" || true
		jq -e '.measured[0].breaks.by_class["switched-out"] | .count > 10 and .total_ns > 0.1e9' json
		jq -e '.measured[0] | has("run_delay_ns")' json || skip "this kernel has no /proc/PID/schedstat"
		share=$(jq '.measured[0] | .breaks.by_class["switched-out"].total_ns / .run_delay_ns' json)
		echo "gaps by run_delay: $share"
		! jq -ne "$share > 0.9 and $share < 1.1" || return 0
	done
	false
}

@test "a gap of more than 4.3 seconds, where 32 bits of ns end, has its true length" {
	local pid try
	for try in 1 2 3; do # on a busy machine it may not have begun when it is stopped
		"$ISOLPROBE" -c "$CPU" -D 9 -T 1s -F json -o json &
		pid=$!
		eventually grep -q '^Threads:.[2-9]' "/proc/$pid/status"
		sleep 3
		kill -STOP "$pid"
		sleep 5
		kill -CONT "$pid"
		wait "$pid"
		jq -c '.measured[0] | [.elapsed_ns, .breaks.count, .worst]' json
		! jq -e '.measured[0] | .breaks.by_class["switched-out"].max_ns > 4.9e9 and .loop.max_ns > 4.9e9
			and .breaks.total_ns < .elapsed_ns' json || return 0
	done
	false
}

# interrupted SIGNAL SECONDS: measures for an hour, and is sent a signal after some seconds. On a busy
# machine it may not have come to its first line by then: later ones are tried.
interrupted() {
	local seconds
	for seconds in "$2" 3 8; do
		timeout --preserve-status -s "$1" "$seconds" "$ISOLPROBE" -c "$CPU" -D 1h -F json >json && return
	done
}

@test "a signal ends it with the report and exit status 0" {
	local signal
	for signal in INT TERM HUP; do
		interrupted "$signal" 2
		jq -e '.ended_by == "signal" and (.measured[0] | .elapsed_ns > 0 and .loops > 0)' json
	done
}

@test "a signal while it still preheats ends it with a report, too" {
	interrupted INT 0.5
	jq -e '.ended_by == "signal" and .measured[0].loops > 0' json
}

@test "its control thread is neither on a measured CPU nor on a sibling of one" {
	local pid mask sibling
	"$ISOLPROBE" -c "$CPU" -D 60 -o /dev/null &
	pid=$!
	eventually grep -q '^Threads:.[2-9]' "/proc/$pid/status"
	mask=$(taskset -cp "$pid" | sed 's/.*: //')
	kill "$pid"
	wait "$pid"
	for sibling in $(sed 's/[,-]/ /g' "/sys/devices/system/cpu/cpu$CPU/topology/thread_siblings_list"); do
		refute grep -qw "$sibling" <<<"$mask"
	done
}

@test "without a CPU left for it, it says what to do, and does as it is told" {
	refused "no CPU is left for the thread that controls" -c all -D 300ms
	[[ $output == *--control* ]]
	"$ISOLPROBE" -c all -C 0 -D 300ms >/dev/null
}

@test "an output that cannot be written is found before the measurement" {
	local began=$SECONDS
	refused "cannot write to /nonexistent/file" -c "$CPU" -D 1h -o /nonexistent/file
	refused "cannot write to /" -c "$CPU" -D 1h -o /
	[ $((SECONDS - began)) -lt 60 ]
	[ ! -w /dev/full ] || refused "cannot write the report to /dev/full" -c "$CPU" -D 300ms -F json -o /dev/full
}

@test "wrong options and values are refused, each with what would be right" {
	refused '--duration cannot be "0"' -D 0
	refused '--duration cannot be "10x"' -D 10x
	refused '--duration cannot be "-1"' -D -1
	refused '--duration cannot be ""' -D ''
	refused '--duration cannot be "99999999999999999999d"' -D 99999999999999999999d
	refused '--threshold cannot be "0"' -T 0
	refused '--threshold cannot be "soon"' -T soon
	refused '--workload cannot be "memcpy": it takes none or memmove' -w memcpy
	refused '--workload-mem cannot be "16X"' -m 16X
	refused '--rtprio cannot be "100": it takes a priority from 1 to 99' -f 100
	refused '--rtprio cannot be "0"' -f 0
	refused '--gaps cannot be "-5"' -n -5
	refused '--format cannot be "xml"' -F xml
	refused '--format needs a value' -F
	refused '--causes cannot be "yes": it takes auto, off or require' -k yes
	refused '--help takes no value' --help=5
	refused 'there is no option "--frob"' --frob
	refused 'there is no option "-x"' -x
	refused '"true" is no option, and isolprobe runs no command' true
	refused 'names a CPU that does not exist' -c 99999
	refused 'CPU list "x"' -c x
	refused 'CPU list "1-"' -C 1-
}

@test "every break is charged, once, to an event of the kernel's or to what else it was" {
	needs_events
	probe -D 2 -k require -F json >json
	jq -e '.measured[0] | .causes.joined.count + .causes.lost_gaps == .breaks.count' json
	jq -e '.measured[0].causes | .joined.count == ([.by_cause[].count] | add // 0)
		and .joined.total_ns == ([.by_cause[].total_ns] | add // 0)
		and .joined.count == .by_kernel.count + .not_by_kernel.count
		and .by_kernel_with_event.count == ([.by_cause[] | select(.kind == "event").count] | add // 0)' json
	jq -e '.measured[0].causes | .in_events_ns <= .joined.total_ns' json
	jq -e '[.measured[0] | (.worst, .first)[] | .cause] | all(. != null)' json
	jq -e '[.measured[0].worst[] | .length_ns as $l | .events[] | .cut or .length_ns <= $l + 1000] | all' json
}

# On a CPU with a tick. Where events or gaps were lost, or a task ran that events tell nothing of, it
# is tried again.
@test "every timer interrupt that is over the threshold is in a gap" {
	local try
	needs_events
	for try in 1 2 3 4 5; do
		probe -D 2 -k require -F json >json
		jq -c '.measured[0].causes | [.kernel_breaks_over_threshold, .lost_gaps, .lost_events]' json
		! jq -e '.measured[0].causes | .lost_gaps == 0 and .lost_events == 0' json || break
	done
	jq -e '.measured[0].causes.kernel_breaks_over_threshold | .count > 10 and .in_gaps + .while_blind == .count' json
	jq -e '.measured[0].causes.kernel_breaks_over_threshold.by_cause[] | select(.cause == "tick") |
		.count > 10 and .in_gaps >= .count - 1' json
}

@test "of the breaks that the kernel caused, 99 % and more have an event for a cause" {
	needs_events
	local try
	for try in 1 2 3 4 5; do # not those of a task that the kernel's events do not tell of
		probe -D 2 -k require -F json >json
		jq -c '.measured[0].causes.by_cause[] | [.cause, .kind, .count]' json
		! jq -e '.measured[0].causes | .by_kernel.count > 10 and
			.by_kernel_with_event.count + ([.by_cause[] | select(.cause == "unseen-task").count] | add // 0)
			>= 0.99 * .by_kernel.count' json || return 0
	done
	false
}

@test "the text says whose the breaks are, and what the worst ones were" {
	needs_events
	probe -D 1 -k require >text
	grep -qE '^ +CPU  cause +breaks +total +longest' text
	grep -qE "^ +$CPU  (tick|task|hypervisor|timer|sleep-timer) +[0-9]+ " text
	grep -qE "^CPU $CPU: [0-9]+ breaks .* are the kernel's; [0-9.]+ % of these have an event" text
	grep -qE "^CPU $CPU: [0-9]+ are not the kernel's; (this is a virtual machine|there is no hypervisor)" text
	grep -qE "s +(switched out|kernel work in the thread|interrupt or below the kernel): [a-z]" text
}

@test "without permission for events it measures all the same, and says why causes are missing" {
	((EUID == 0)) || skip "needs root to drop privileges"
	mkdir -m 755 bin
	install -m 755 "$ISOLPROBE" bin/
	chmod 755 . ..
	local nobody=(setpriv --reuid 65534 --clear-groups --inh-caps -all --bounding-set -all)
	run -0 --separate-stderr "${nobody[@]}" bin/isolprobe -c "$CPU" -D 300ms
	[[ $output == *"Causes are not known: "* ]]
	run -0 --separate-stderr "${nobody[@]}" bin/isolprobe -c "$CPU" -D 300ms -F json
	jq -e '.causes_unavailable != null and .measured[0].causes == null' <<<"$output"
	run -1 "${nobody[@]}" bin/isolprobe -c "$CPU" -D 300ms -k require
	[ "${#lines[@]}" -eq 1 ]
}

@test "causes are not looked for where nobody wants them" {
	probe -k off -F json >json
	jq -e '.causes_asked == "off" and .causes_unavailable == null and .measured[0].causes == null' json
	refute jq -e '.measured[0].worst[0] | has("cause")' json
	probe -k off >text
	refute grep -q -i cause text
}

@test "without the C library's restartable sequences it has its own, and gives them back" {
	local hog
	taskset -c "$CPU" sh -c 'while :; do :; done' &
	hog=$!
	GLIBC_TUNABLES=glibc.pthread.rseq=0 probe -D 1 -F json >json || true
	kill "$hog"
	wait "$hog" || true
	jq -e '.measured[0] | .rseq and .breaks.by_class["switched-out"].count > 10' json
	jq -e '[.measured[0].worst[:5][].cpu] | all(. == (env.CPU | tonumber))' json
	[ -x "$REPO/build/tests/tools/ticker" ] || skip "needs build/tests/tools/ticker (make programs)"
	GLIBC_TUNABLES=glibc.pthread.rseq=0 "$REPO/build/tests/tools/ticker" 100 rseq
}

@test "help and version are printed" {
	run -0 "$ISOLPROBE" --help
	[[ $output == *--threshold*"Exit status"* ]]
	run -0 "$ISOLPROBE" -V
	[[ $output == "isolprobe (chisol) "[0-9]* ]]
}

@test "the loop may copy memory as oslat's does" {
	probe -w memmove -m 64K -F json >json
	jq -e '.workload == "memmove" and .measured[0].loops > 100' json
	jq -e '.doubts == []' json
}

@test "it measures with SCHED_FIFO, or says what is missing for it" {
	if chrt -f 1 true 2>/dev/null; then
		probe -f 1 -F json >json
		jq -e '.priority == 1 and .measured[0].loops > 1000' json
	fi
	((EUID == 0)) || skip "needs root to drop privileges"
	mkdir -m 755 bin
	install -m 755 "$ISOLPROBE" bin/
	chmod 755 . ..
	run -1 setpriv --reuid 65534 --clear-groups --inh-caps -all --bounding-set -all bin/isolprobe -c "$CPU" -f 1 -D 300ms
	[[ $output == *"cannot measure CPU $CPU: cannot set SCHED_FIFO (it needs root"* ]]
}

@test "it needs no privilege, and says that memory is not locked if it is not" {
	((EUID == 0)) || skip "needs root to drop privileges"
	mkdir -m 755 bin
	install -m 755 "$ISOLPROBE" bin/
	chmod 755 . ..
	run -0 --separate-stderr prlimit --memlock=65536:65536 \
		setpriv --reuid 65534 --clear-groups --inh-caps -all --bounding-set -all bin/isolprobe -c "$CPU" -D 300ms
	[[ $output == *"Memory was not locked"* ]]
	[[ $output == *"on CPU $CPU, controlled from"* ]]
}

@test "on a terminal a long run shows how far it is, and clears it" {
	command -v script >/dev/null || skip "needs script(1)"
	script -qec "$ISOLPROBE -c $CPU -D 4 -o report" typescript >/dev/null
	grep -q '0 s of 4 s, ' typescript
	grep -q "on CPU $CPU" report
	refute grep -q ' s of ' report
}

@test "started by chisol, it measures the CPUs that chisol gave it" {
	((EUID == 0)) || skip "needs root"
	run -0 --separate-stderr "$CHISOL" -c "$CPU" -p "$REPO/conf/oslat.conf" -r json:report "$ISOLPROBE" -D 400ms -F json
	jq -e '.cpus == env.CPU' <<<"$output"
	jq -e '.measured[0].loops > 1000 and .doubts == []' <<<"$output"
}
