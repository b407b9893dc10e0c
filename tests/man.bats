# SPDX-License-Identifier: GPL-2.0-or-later
# The man pages say what the program says.
load helpers

setup_file() {
	[ -x "$CHISOL" ] || skip "build/chisol is not built"
	"$CHISOL" --help >"$BATS_FILE_TMPDIR/help" 2>&1
}

# Options as "-c --cpus" or "--status", one an item, sorted.
options_of_help() {
	sed -nE 's/^ {1,8}((-[A-Za-z]), )?(--[a-z-]+).*/\2 \3/p' "$BATS_FILE_TMPDIR/help" | sed 's/^ //' | sort
}

options_of_man() {
	awk '/^\.Sh /{inside = $2 == "OPTIONS"} inside && /^\.It Fl/' "$REPO/man/chisol.1" |
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
	[ "$(options_of_help | wc -l)" -gt 15 ]
	diff <(options_of_help) <(options_of_man)
}

@test "every reason code is in chisol(1) with its meaning, and the other way round" {
	[ "$(reasons_of_code | wc -l)" -gt 20 ]
	diff <(reasons_of_code) <(reasons_of_man)
}

@test "every exit status of chisol(1) is in chisol --help" {
	local status
	for status in 122 125 126 127; do
		grep -q "\b$status\b" "$BATS_FILE_TMPDIR/help"
	done
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
