# SPDX-License-Identifier: GPL-2.0-or-later
# What is told about a run.
load helpers
bats_require_minimum_version 1.5.0

setup_file() {
	requires_root "the runs change vm.stat_interval and interrupts" && requires_two_cpus || return 0
	lock_machine
	cd "$BATS_FILE_TMPDIR" || return
	# one run that changes the machine, told in both ways, for several tests
	"$CHISOL" -c 1 -q vmstat_sync -s irq.policy=try -r text:text -r json:json \
		sh -c 'echo to stdout; echo to stderr >&2; exit 3' >out 2>err && echo 0 >status || echo $? >status
}

@test "standard output, standard error and the status stay the command's own" {
	cd "$BATS_FILE_TMPDIR"
	[ "$(cat out)" = 'to stdout' ]
	[ "$(cat err)" = 'to stderr' ]
	[ "$(cat status)" = 3 ]
}

@test "the JSON report is as its schema says" {
	valid "$BATS_FILE_TMPDIR/json"
}

@test "the schema check finds what is wrong" {
	local edit
	for edit in '.x = 1' 'del(.run_id)' '.settings[0].policy = "maybe"' '.cpus.workload = "a"' '.chisol_report = 2' \
		'.exit.status = "0"' '.settings[0].granted.state = null'; do
		jq "$edit" "$BATS_FILE_TMPDIR/json" >"$BATS_TEST_TMPDIR/bad"
		refute valid "$BATS_TEST_TMPDIR/bad"
	done
}

@test "every setting of the JSON report was asked for, and granted and observed or explained" {
	jq -e '.settings | length > 1 and all(
		(.granted.state == "granted" and .granted.value != null and .asked != null
			and .observed.state != "not-looked-at") or
		(.granted.state != "planned" and (.reason != null)))' "$BATS_FILE_TMPDIR/json"
}

@test "the reasons of the JSON report are those that chisol(1) lists" {
	local reason
	for reason in $(jq -r '(.settings + .notes)[].reason | values' "$BATS_FILE_TMPDIR/json" | sort -u); do
		grep -q "^\.It Cm $reason$" "$REPO/man/chisol.1"
	done
}

@test "the JSON report tells command, status, time and what was put back" {
	jq -e '.exit == {kind: "exited", status: 3, signal: null} and .command.argv[0] == "sh" and
		.times.elapsed_ns > 0 and .times.began <= .times.ended and .cpus.workload == "1" and
		(.settings | all(.restored.state | IN("none", "restored")))' "$BATS_FILE_TMPDIR/json"
}

@test "a command that spins is seen to be hit by the timer of its CPU" {
	"$CHISOL" -c 1 -r json:"$BATS_TEST_TMPDIR/r" timeout 1 sh -c 'while :; do :; done' || [ $? -eq 124 ]
	jq -e '.interrupts.cpus == [1] and
		(.interrupts.rows | any(.id == "LOC" and .kind == "arch" and .counts["1"] > 0))' "$BATS_TEST_TMPDIR/r"
}

@test "the text report says how vmstat quiescing was met, and fits a terminal" {
	grep -qE '^  (by-(kernel|placement|stand-in)|vmstat) ' "$BATS_FILE_TMPDIR/text"
	head -1 "$BATS_FILE_TMPDIR/text" | grep -qE '^chisol [0-9.]+: settings (kept|drifted|not-granted): '
	refute grep -qE '.{101}' "$BATS_FILE_TMPDIR/text"
}

@test "a file that cannot be written ends chisol before the command runs" {
	local file
	for file in /no/such/dir/r "$BATS_TEST_TMPDIR" ''; do
		run "$CHISOL" -c 1 -r "json:$file" touch "$BATS_TEST_TMPDIR/ran"
		[ "$status" -eq 125 ]
		[[ $output == chisol:*report* ]]
		[ ! -e "$BATS_TEST_TMPDIR/ran" ]
	done
}

@test "a second report to the same file is refused before the command runs" {
	run "$CHISOL" -c 1 -r "json:$BATS_TEST_TMPDIR/r" -r "text:$BATS_TEST_TMPDIR/r" touch "$BATS_TEST_TMPDIR/ran"
	[ "$status" -eq 125 ]
	[[ $output == *"another report"* ]]
	[ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "a run that fails before the command replaces the old report by one that says why" {
	echo old >"$BATS_TEST_TMPDIR/r"
	run -127 "$CHISOL" -c 1 -r "json:$BATS_TEST_TMPDIR/r" "$BATS_TEST_TMPDIR/no-such-command"
	valid "$BATS_TEST_TMPDIR/r"
	jq -e '.exit.kind == "not-started" and (.failure | contains("no-such-command")) and .interrupts == null' \
		"$BATS_TEST_TMPDIR/r"
}

@test "a launch that is refused leaves no new report file, and an old one as it was" {
	echo old >old
	run -125 "$CHISOL" -c 99999 -r json:new -r text:old true
	[ ! -e new ]
	[ "$(<old)" = old ]
}

@test "an unknown format is refused with the known ones" {
	run "$CHISOL" -c 1 -r xml true
	[ "$status" -eq 125 ]
	[[ $output == *"'xml'"*"text, json, jsonl or oslat-json"* ]]
}

@test "a report to '-' comes after what the command wrote to standard output" {
	"$CHISOL" -c 1 -r json:- echo first >"$BATS_TEST_TMPDIR/out"
	[ "$(head -1 "$BATS_TEST_TMPDIR/out")" = first ]
	tail -n +2 "$BATS_TEST_TMPDIR/out" | jq -e .chisol_report
}

@test "a report that nobody asked for costs the command neither its start nor its status" {
	run -5 bash -c '"$1" -c 1 -p minimal sh -c "exit 5" 2>&-' bash "$CHISOL"
	run -5 bash -c '"$1" -c 1 -p minimal sh -c "exit 5" 2>/dev/full' bash "$CHISOL"
	run -5 bash -c 'set -o pipefail; "$1" -c 1 -p minimal sh -c "sleep 0.3; exit 5" 2>&1 | true' bash "$CHISOL"
	run -125 bash -c '"$1" -c 1 -p minimal -r text true 2>&-' bash "$CHISOL"
}

@test "each setting says who asked for it: a line of a profile, --set or an option" {
	local profile=$BATS_TEST_TMPDIR/some.conf
	printf '%s\n' '[profile]' 'policy = try' '[irq]' 'irqbalance = no' 'threads = no' \
		'[vmstat]' 'stat_interval = 77' >"$profile"
	"$CHISOL" -c 1 -p "$profile" -q vmstat_sync --set irq.threads=no --dry-run=json true >plan
	jq -e --arg profile "$profile" '[.settings[] | {key: .name, value: .origin}] | from_entries |
		."vmstat.stat_interval" == $profile + ":7" and ."irq.default_affinity" == "--set" and
		."cpus.affinity" == "-c" and ."task_isolation.quiesce" == "-q"' plan
	"$CHISOL" -c 1 -p "$profile" --dry-run=json true |
		jq -e --arg profile "$profile" '.settings[] | select(.name == "irq.default_affinity") | .origin == $profile + ":5"'
	run -0 "$CHISOL" --set vmstat.stat_interval=77 --set vmstat.policy=try -v true
	[[ $output == *"vmstat.stat_interval: asked 77 by --set"* ]]
}

@test "verbose is told of every setting, also where nothing is to be undone, and elsewhere refused" {
	run "$CHISOL" -c 1 -v true
	[ "$status" = 0 ]
	[[ $output == *"granted       cpus.affinity: asked 1 by -c, granted 1"* ]]
	run -125 "$CHISOL" --check --verbose
	[[ $output == *"-v does not go with --check"* ]]
}

@test "a command that leaves its CPUs has drifted, for the verdict and for --fail-on alike" {
	run "$CHISOL" -c 1 --fail-on drift sh -c 'taskset -cp 0 $$ >&2'
	[ "$status" = 122 ]
	[[ $output == *"settings drifted"* && $output == *"1 changed setting found at "* ]]
	grep -E '^  drifted .* observed ' <<<"$output" # and was granted, but is so no more
	refute grep -F '[granted]' <<<"$output"
	grep -qF -- '-> if the command places its threads itself' <<<"$output"
	run -4 "$CHISOL" -c 1 --fail-on drift sh -c 'taskset -cp 0 $$ >&2; exit 4'
	run -0 "$CHISOL" -c 1 --fail-on drift true
}

@test "what cannot be printed on standard output is an error" {
	local option
	for option in --help --version --info --status --restore --dry-run --check; do
		run -125 bash -c '"$1" "$2" >/dev/full' bash "$CHISOL" "$option"
		[[ $output == *"No space left"* || $output == *"Input/output error"* ]]
	done
}

@test "a full disk is an error and not a lost report" {
	run "$CHISOL" -c 1 -r json:/dev/full true
	[ "$status" -eq 125 ]
	[[ $output == *"No space left on device"* ]]
}

@test "bytes that are not UTF-8 still give valid JSON, and say so" {
	"$CHISOL" -c 1 -r json:"$BATS_TEST_TMPDIR/r" true $'a\xff\\' $'\e[31m'
	valid "$BATS_TEST_TMPDIR/r"
	jq -e '.command == {argv: ["true", "a\\xff\\\\", "\u001b[31m"], argv_escaped: true}' "$BATS_TEST_TMPDIR/r"
}

@test "the text report passes no control character on to the terminal" {
	run "$CHISOL" -c 1 -r text true $'\e[31m\n'
	[[ $output == *"'\\x1b[31m\\n'"* ]]
	[[ $output != *$'\e'* ]]
}

@test "the report's descriptor does not reach the command" {
	"$CHISOL" -c 1 -r json:"$BATS_TEST_TMPDIR/r" sh -c 'ls -l /proc/$$/fd' >"$BATS_TEST_TMPDIR/fds"
	refute grep -q "$BATS_TEST_TMPDIR/r$" "$BATS_TEST_TMPDIR/fds"
}

@test "what chisol says of its own failure passes no control character on either" {
	run -127 "$CHISOL" -c 1 $'/no/\e[31m'
	[[ $output == *'/no/\x1b[31m'* ]]
	[[ $output != *$'\e'* ]]
}
