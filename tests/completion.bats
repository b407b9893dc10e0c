# SPDX-License-Identifier: GPL-2.0-or-later
# completions/chisol, loaded as a shell would load it.
load helpers

# complete WORD...: prints the completions of the last word.
complete_words() {
	PATH=$(dirname "$CHISOL"):$PATH COMP_SCRIPT=$REPO/completions/$1 bash --norc -c '
		. /usr/share/bash-completion/bash_completion
		. "$COMP_SCRIPT"
		compopt() { :; } # needs an interactive completion
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
		COMP_TYPE=9 COMP_KEY=9
		"_$1" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

setup() {
	[ -r /usr/share/bash-completion/bash_completion ] || skip "the package bash-completion is not installed"
}

@test "the values of -q, -I, -r and -f are offered" {
	[ "$(complete_words chisol -q v)" = vmstat_sync ]
	[ "$(complete_words chisol -I conf,a)" = conf,active ]
	[ "$(complete_words chisol --report j)" = $'json\njsonl' ]
	[ "$(complete_words chisol -f '' | sort | xargs)" = 'broken drift inconclusive' ]
	[ "$(complete_words chisol -f broken,d)" = broken,drift ]
}

@test "the values of --probe and --dry-run are offered behind =, and the command after these options" {
	[ "$(complete_words chisol --probe=w)" = watch ]
	[ "$(complete_words chisol --dry-run=j)" = json ]
	complete_words chisol -P tasks | grep -qx taskset
	complete_words chisol --probe tasks | grep -qx taskset
	complete_words chisol -n tasks | grep -qx taskset
}

@test "CPU words and numbers are offered, also after a comma" {
	complete_words chisol -c iso | grep -qx isolated
	complete_words chisol -c 0,n | grep -qx 0,nohz_full
	complete_words chisol --cpus '' | grep -qx 0
}

@test "profiles are offered by name" {
	mkdir "$BATS_TEST_TMPDIR/profiles"
	touch "$BATS_TEST_TMPDIR/profiles/my-radio.conf"
	CHISOL_PROFILE_PATH=$BATS_TEST_TMPDIR/profiles complete_words chisol -p my | grep -qx my-radio
}

@test "every profile key is offered after --set, and no other" {
	local keys
	keys=$(grep -oE '(AT|POLICY)\([a-z_]+(, [a-z_]+)?' "$REPO/isolcore/profile_keys.c" | grep -v section_ |
		sed -E 's/AT\(([a-z_]+), ([a-z_]+)/\1.\2=/; s/POLICY\(([a-z_]+)/\1.policy=/' | sort -u)
	[ "$(wc -l <<<"$keys")" -gt 25 ]
	diff <(complete_words chisol --set '' | sort) - <<<"$keys"
}

# offers_every_option PROGRAM: of its --help.
offers_every_option() {
	local option options
	options=$("$REPO/build/$1" --help | grep -oE '^ {1,8}(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+')
	[ "$(wc -w <<<"$options")" -gt 10 ]
	for option in $options; do
		complete_words "$1" "$option" | grep -q -- "^$option" || { echo "$option"; return 1; }
	done
}

@test "every option of chisol --help is offered" {
	offers_every_option chisol
}

@test "the command and then its own arguments are completed" {
	complete_words chisol -c 1 tasks | grep -qx taskset
	mkdir "$BATS_TEST_TMPDIR/here"
	cd "$BATS_TEST_TMPDIR/here"
	touch only-file
	[ "$(complete_words chisol -q vmstat_sync cat only)" = only-file ]
	[ "$(complete_words chisol -c 1 -- cat only)" = only-file ]
}

@test "isolprobe's options, forms and workloads are offered" {
	offers_every_option isolprobe
	[ "$(complete_words isolprobe -F osl)" = oslat$'\n'oslat-json ]
	[ "$(complete_words isolprobe --workload m)" = memmove ]
	complete_words isolprobe -c iso | grep -qx isolated
}
