# SPDX-License-Identifier: GPL-2.0-or-later
# The man pages say what the program says.
load helpers

setup_file() {
	requires "build/chisol (make)" [ -x "$CHISOL" ] || return 0
	"$CHISOL" --help >"$BATS_FILE_TMPDIR/help" 2>&1
}

# Options as "-c --cpus" or "--status", one an item, sorted.
options_of_help() { # FILE
	sed -nE 's/^ {1,8}((-[A-Za-z]), )?(--[a-z-]+).*/\2 \3/p' "$1" | sed 's/^ //' | sort
}

options_of_man() { # PAGE
	awk '/^\.Sh /{inside = $2 == "OPTIONS"} inside && /^\.It Fl/' "$REPO/man/$1" |
		sed -E 's/^\.It //; s/ (Ns|Ar|Op|Cm) .*//; s/\\-/-/g; s/Fl ([A-Za-z]) , Fl -/-\1 --/; s/Fl -/--/' | sort
}

# Reason codes with their meanings, from the man page's list and from the table in the code.
reasons_of_man() {
	awk '/^\.Sh /{inside = $2 == "REASON"} inside && /^\.It Cm/ { code = $3; getline; print code ": " $0 }' \
		"$REPO/man/chisol.1" | sort
}

reasons_of_code() {
	tr -d '\\\n' <"$REPO/isolcore/reason.h" | grep -oP 'X\(\w+,\s*"[^"]+",\s*"[^"]+"' |
		sed -E 's/.*, *"([^"]+)",\s*"([^"]+)"/\1: \2/' | sort
}

@test "every option of chisol --help is in chisol(1), and the other way round" {
	[ "$(options_of_help "$BATS_FILE_TMPDIR/help" | wc -l)" -gt 15 ]
	diff <(options_of_help "$BATS_FILE_TMPDIR/help") <(options_of_man chisol.1)
}

@test "every reason code is in chisol(1) with its meaning, and the other way round" {
	[ "$(reasons_of_code | wc -l)" -gt 20 ]
	diff <(reasons_of_code) <(reasons_of_man)
}

@test "every exit status of chisol's own is in chisol(1) and in chisol --help, and no other" {
	local status
	grep -ohP '#define EXIT_\w+ +\K1\d\d\b' "$REPO"/chisol/*.h | sort >"$BATS_TEST_TMPDIR/statuses"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/statuses")" -gt 5 ]
	diff "$BATS_TEST_TMPDIR/statuses" <(awk '/^\.Sh /{inside = /EXIT STATUS/} inside && /^\.It 1/{print $2}' "$REPO/man/chisol.1")
	while read -r status; do
		grep -q "\b$status\b" "$BATS_FILE_TMPDIR/help" || { echo "$status"; false; }
	done <"$BATS_TEST_TMPDIR/statuses"
}

@test "every variable that chisol reads, sets or tells of is in chisol(1) or chisol.conf(5)" {
	local name
	grep -ohE '(getenv|setenv|set_number)\("[A-Z_]+"|"CHISOL_[A-Z_]+"' "$REPO"/{chisol,isolcore}/*.c | grep -oE '[A-Z_]{4,}' | sort -u >"$BATS_TEST_TMPDIR/names"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -gt 10 ]
	while read -r name; do
		grep -qE "^\.(It Ev|Ev|Pq Ev) .*\b$name\b" "$REPO"/man/chisol.{1,conf.5} || { echo "$name"; false; }
	done <"$BATS_TEST_TMPDIR/names"
}

# examples: README.md and the pages as a reader sees their options.
examples() {
	sed 's/\\-/-/g' "$REPO/README.md" "$REPO"/man/*.[1-8]
}

@test "every profile of an example is shipped, and no letter of an option has a value behind =" {
	local names name
	names=$(examples | grep -oP 'chisol\b.* -p \K[a-z-]+(?= )' | sort -u)
	[ -n "$names" ]
	for name in $names; do
		[ -f "$REPO/conf/$name.conf" ] || { echo "there is no $name"; false; }
	done
	refute grep -nE '^\.(It )?Fl [A-Za-z] Ns (Li )?=' "$REPO"/man/*.[1-8]
}

@test "every option, make target and file that README.md names is there" {
	local word
	# --json is oslat's, --variable pkg-config's
	for word in $(grep -oE -- '--[a-z][a-z-]+' "$REPO/README.md" | sort -u); do
		[[ $word == --@(json|variable) ]] || grep -qE "^ .*$word\b" "$BATS_FILE_TMPDIR/help" || { echo "$word"; false; }
	done
	for word in $(grep -oP '\bmake \K[a-z-]+(?=[ `])' "$REPO/README.md" | sort -u); do
		grep -q "^$word:" "$REPO/Makefile" || { echo "make $word"; false; }
	done
	for word in $(grep -oP '`\K(chisol|isolcore|probe|conf|tests|man)/[^` ]*' "$REPO/README.md" | sort -u); do
		[ -e "$REPO/$word" ] || { echo "$word"; false; }
	done
}

@test "every -s of an example is a key with a value that it takes" {
	local setting tree=$BATS_TEST_TMPDIR/tree
	[ -x "$REPO/build/tests/trees/mktree" ] || skip "build/tests/trees/mktree is not built"
	"$REPO/build/tests/trees/mktree" "$tree" 4 4
	examples | grep -oP '(?<=-s )[a-z_]+\.[a-z_]+=[^ `]+' | sort -u >"$BATS_TEST_TMPDIR/settings"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/settings")" -gt 4 ]
	while read -r setting; do
		"$CHISOL" --root "$tree" -n -c 3 -s "$setting" true >/dev/null
	done <"$BATS_TEST_TMPDIR/settings"
}

@test "every command line of an example can be planned" {
	local line tree=$BATS_TEST_TMPDIR/tree
	[ -x "$REPO/build/tests/trees/mktree" ] || skip "build/tests/trees/mktree is not built"
	"$REPO/build/tests/trees/mktree" "$tree" 8 4
	# What else a run is asked for is left out; a check says that the machine is not so.
	chisol() {
		case " $* " in
		*' --check '*) "$CHISOL" --root "$tree" "$@" || [ $? = 1 ] ;;
		*) "$CHISOL" --root "$tree" -n "$@" ;;
		esac
	}
	examples | grep -oP '^(\.Dl |    )?\Kchisol -(?!-restore).*' | sed -E 's/ -r [a-z]+(:[^ ]+)?//g' >"$BATS_TEST_TMPDIR/lines"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/lines")" -gt 12 ]
	while read -r line; do
		(eval "$line") >"$BATS_TEST_TMPDIR/out" || { echo "$line"; false; }
	done <"$BATS_TEST_TMPDIR/lines"
}

@test "the profile of chisol.conf(5)'s example can be planned on the machine that it is for" {
	local tree=$BATS_TEST_TMPDIR/tree
	[ -x "$REPO/build/tests/trees/mktree" ] || skip "build/tests/trees/mktree is not built"
	"$REPO/build/tests/trees/mktree" "$tree" 8 4
	echo 4-7 | tee "$tree/sys/devices/system/cpu/isolated" >"$tree/sys/devices/system/cpu/nohz_full"
	awk '/^\.Sh /{inside = $2 == "EXAMPLES"} inside && /^\.Ed/{exit} on; inside && /^\.Bd/{on = 1}' \
		"$REPO/man/chisol.conf.5" >"$BATS_TEST_TMPDIR/example.conf"
	"$CHISOL" --root "$tree" --dry-run=json -p "$BATS_TEST_TMPDIR/example.conf" ./app >"$BATS_TEST_TMPDIR/plan"
	jq -e '.cpus == {workload: "5-7", housekeeping: "0-3"}' "$BATS_TEST_TMPDIR/plan"
}

@test "every manual page that chisol's pages refer to as its own is there" {
	local page
	for page in $(sed -nE 's/^\.Xr (chisol[^ ]*) ([0-9]).*/\1.\2/p' "$REPO"/man/*.[1-8] | sort -u); do
		[ -f "$REPO/man/$page" ]
	done
}

@test "chisol-report(5) and the JSON Schema have the same keys and words" {
	local schema=$REPO/man/chisol-report.schema.json page=$BATS_TEST_TMPDIR/page
	sed 's/\\(dq/"/g; s/\\-/-/g' "$REPO/man/chisol-report.5" >"$page"
	# keys and enumerated words of the schema, one a line
	jq -r '[.. | objects | (.properties // {} | keys[]), (.enum // [])[]] | unique[]' "$schema" >"$BATS_TEST_TMPDIR/words"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/words")" -gt 60 ]
	while read -r word; do
		grep -qwF -- "$word" "$page" || { echo "not in the page: $word"; false; }
	done <"$BATS_TEST_TMPDIR/words"
	sed -nE 's/^\.It Li ([a-z_]+)$/\1/p' "$page" >"$BATS_TEST_TMPDIR/keys"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/keys")" -gt 20 ]
	while read -r key; do
		grep -qxF -- "$key" "$BATS_TEST_TMPDIR/words" || { echo "not in the schema: $key"; false; }
	done <"$BATS_TEST_TMPDIR/keys"
}

@test "every option of isolprobe --help is in isolprobe(1), and the other way round" {
	"$REPO/build/isolprobe" --help >"$BATS_TEST_TMPDIR/help"
	[ "$(options_of_help "$BATS_TEST_TMPDIR/help" | wc -l)" -gt 10 ]
	diff <(options_of_help "$BATS_TEST_TMPDIR/help") <(options_of_man isolprobe.1)
}

# The program of isolprobe(3), as a reader would see it.
example() {
	awk '/^\.Sh /{inside = $2 == "EXAMPLES"} inside && /^\.Ed/{exit} on; inside && /^\.Bd/{on = 1}' \
		"$REPO/man/isolprobe.3" | sed 's/\\en/\\n/g'
}

# runs_as COMPILER...: the example is compiled so, without a warning, and says what it should.
runs_as() {
	run "$@" -Wall -Wextra -Werror -pedantic -O2 -I"$REPO/probe" -o "$BATS_TEST_TMPDIR/example" \
		"$BATS_TEST_TMPDIR/example.c" -x none "$REPO/build/libisolprobe.a"
	[ "$status" -eq 0 ] || { echo "$output"; false; }
	run "$BATS_TEST_TMPDIR/example"
	[ "$status" -eq 0 ]
	[[ ${lines[0]} =~ ^[0-9]+\ breaks$ ]]
	[[ ${lines[1]} =~ ^of\ 1[0-9]{7}\ passes\;\ 99\ %\ are\ below\ [0-9]+\ ns$ ]]
}

@test "the example of isolprobe(3) compiles as C, and runs" {
	example >"$BATS_TEST_TMPDIR/example.c"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/example.c")" -gt 20 ]
	runs_as gcc -std=c11 -x c
	runs_as gcc -std=gnu99 -x c
}

@test "the example of isolprobe(3) compiles as C++, and runs" {
	local cxx
	cxx=$(command -v g++ || command -v clang++-14) || skip "needs g++ or clang++-14"
	example >"$BATS_TEST_TMPDIR/example.c"
	runs_as "$cxx" -std=c++11 -x c++
	runs_as "$cxx" -std=c++17 -x c++
}

@test "the example of isolprobe(3) runs with the shared library, too" {
	example >"$BATS_TEST_TMPDIR/example.c"
	cp "$REPO/build/libisolprobe.so" "$BATS_TEST_TMPDIR/libisolprobe.so.0"
	gcc -I"$REPO/probe" -o "$BATS_TEST_TMPDIR/example" "$BATS_TEST_TMPDIR/example.c" \
		"$BATS_TEST_TMPDIR/libisolprobe.so.0"
	LD_LIBRARY_PATH=$BATS_TEST_TMPDIR run "$BATS_TEST_TMPDIR/example"
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == *" breaks" ]]
}

@test "no tick stores to memory or calls anything while the loop is quiet" {
	[ "$(uname -m)" = x86_64 ] || skip "reads x86_64 instructions"
	cat >"$BATS_TEST_TMPDIR/loop.c" <<-'END'
		#include <isolprobe.h>
		void loop(volatile int *stop);
		void loop(volatile int *stop)
		{
			struct isolprobe probe;

			isolprobe_begin(&probe, 0);
			while (!*stop)
				isolprobe_tick(&probe);
			isolprobe_free(isolprobe_end(&probe));
		}
	END
	gcc -O2 -I"$REPO/probe" -c -o "$BATS_TEST_TMPDIR/loop.o" "$BATS_TEST_TMPDIR/loop.c"
	# from the read of the counter to the jump back: registers only, but for the loop's own flag
	objdump -d --no-show-raw-insn "$BATS_TEST_TMPDIR/loop.o" >"$BATS_TEST_TMPDIR/code"
	awk '/rdtsc/{on = 1} on; on && /j(e|ne|mp|ae|b) /{if (++n == 2) exit}' "$BATS_TEST_TMPDIR/code" >"$BATS_TEST_TMPDIR/tick"
	cat "$BATS_TEST_TMPDIR/tick"
	grep -q rdtsc "$BATS_TEST_TMPDIR/tick"
	refute grep -E 'call|mov[a-z]* +[%$][^,]*,[^,]*\(|(add|inc)[a-z]* .*\(' "$BATS_TEST_TMPDIR/tick"
}
