# SPDX-License-Identifier: GPL-2.0-or-later
# The load of a measurement: what runs beside the command, and whether it lasted.
load helpers
bats_require_minimum_version 1.5.0

setup_file() {
	requires_two_cpus || return 0
	lock_machine # a run of others would keep these off CPU 1
}

setup() {
	check_requirements
	cd "$BATS_TEST_TMPDIR" || return
}

# loaded LOAD [OPTION...] SHELL-COMMAND: a run on CPU 1
loaded() {
	"$CHISOL" -c 1 -s load.command="$1" -s load.settle=0 -r json:json -r text:text "${@:2:$#-2}" sh -c "${@: -1}"
}

ended() { # PID: is it gone, or will be soon?
	timeout 60 tail --pid="$1" -f /dev/null
}

@test "the load runs on the housekeeping CPUs until the command has ended, and is ended by SIGINT" {
	run --separate-stderr loaded 'trap "echo heard >interrupt; exit" INT; grep Cpus_allowed_list: /proc/self/status; readlink /proc/self/fd/0 >stdin; echo $$ >pid; while :; do sleep 0.1; done' \
		'until [ -s pid ]; do sleep 0.05; done; kill -0 $(cat pid) && echo "the command"'
	[ "$status" -eq 0 ]
	[ "$output" = "the command" ]
	[[ $stderr == Cpus_allowed_list:*[^1] ]]
	[ "$(<stdin)" = /dev/null ]
	ended "$(<pid)"
	[ "$(<interrupt)" = heard ]
	jq -e '.load.whole_run and (.load.command | startswith("trap "))' json
	valid json
	grep -q 'ran until the command had ended' text
}

@test "a load that ends before the command starts is told, and ends the launch if it is required" {
	loaded 'exit 3' -s load.settle=86400 'touch ran'
	[ -e ran ]
	jq -e '.load.whole_run == false and any(.warnings[]; contains("it ended before the command started: exit status 3"))' json
	rm ran
	run -125 loaded 'kill -9 $$' -s load.settle=86400 -s load.policy=require 'touch ran'
	[[ $output == *"it ended before the command started: signal 9 (Killed)"* ]]
	[ ! -e ran ]
}

@test "a load that ends before the command does is told, whatever the command says" {
	run -7 loaded 'until [ -e started ]; do sleep 0.05; done; echo $$ >pid; exit 4' \
		'touch started; until grep -qs "^State:.Z" "/proc/$(cat pid)/status"; do sleep 0.05; done; exit 7'
	jq -e '.load.whole_run == false and any(.warnings[]; contains("it ended before the command did: exit status 4"))' json
	grep -q 'DID NOT LAST' text
}

@test "a load that does not end is ended, with all that it started" {
	loaded 'trap "" INT TERM; sleep 1000 & echo $! >child; echo $$ >pid; wait; wait' 'until [ -s pid ]; do sleep 0.05; done'
	ended "$(<pid)"
	ended "$(<child)"
	jq -e '.load.whole_run and any(.warnings[]; contains("it still ran 5 s after SIGINT, and was ended"))' json
}

@test "the load ends when chisol is killed, and a signal ends the wait for it" {
	local chisol
	for signal in TERM KILL; do
		rm -f pid
		"$CHISOL" -c 1 -s load.command='echo $$ >pid; exec sleep 1000' -s load.settle=86400 -r text:text touch ran 3>&- &
		chisol=$!
		eventually [ -s pid ]
		kill -$signal $chisol
		wait $chisol && false
		ended "$(<pid)"
		[ ! -e ran ]
	done
}

@test "a load needs a command, and CPUs to run on; a plan tells of it" {
	run -125 "$CHISOL" -c 1 -s load.settle=3 touch ran
	[[ $output == *"[load] needs a command: set load.command"* ]]
	run -125 "$CHISOL" -c all -s load.command=true touch ran
	[[ $output == *"[load] needs CPUs"* ]]
	[ ! -e ran ]
	run -0 "$CHISOL" -n -c 1 -s load.command='stress me' true
	[[ $output == *"Load: stress me, on the housekeeping CPUs"* ]]
	"$CHISOL" --dry-run=json -c 1 -s load.command='stress me' true >json
	jq -e '.load == {"command": "stress me", "whole_run": null}' json
	valid json
}
