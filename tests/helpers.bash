# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the bats files: load with `load helpers`.

REPO=$(cd "${BATS_TEST_DIRNAME:-$(dirname "${BASH_SOURCE[0]}")/..}" && while [ ! -e Makefile ] && [ "$PWD" != / ]; do cd ..; done; pwd)
CHISOL=${CHISOL:-$REPO/build/chisol}

# Tests that change the machine run one at a time, whoever starts them.
lock_machine() { # in setup_file; without root nothing can be changed
	[ "$(id -u)" -eq 0 ] || return 0
	exec 9>/run/lock/chisol-tests.lock
	flock 9
}

# In setup_file, where bats 1.8 takes a skip for a failure: "requires WHAT COMMAND... || return 0" has every test of the
# file skipped, by check_requirements in setup and, if there is one, teardown.
requires() {
	"${@:2}" >/dev/null || { export UNMET="needs $1"; return 1; }
}

requires_root() { # WHY
	requires "root: $1" [ "$(id -u)" = 0 ]
}

requires_two_cpus() {
	requires "two CPUs" [ "$(grep -c ^processor /proc/cpuinfo)" -gt 1 ]
}

requires_trace_events() {
	requires_root "trace events are root's" &&
		requires "the machine's own pid namespace" [ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ]
}

check_requirements() {
	[ -z "${UNMET-}" ] || skip "$UNMET"
}

setup() { # of files without one of their own
	check_requirements
}

# In a test: a program that it needs.
needs() { # PROGRAM
	command -v "$1" >/dev/null || [ -x "$1" ] || skip "needs $1"
}

# Everything of the machine that chisol may touch, one "path: value" a line. Not whether the kernel found a
# fault of its own: that stays, and the guests' no_complaint tells it by name.
machine_snapshot() {
	grep -Hs '' /sys/kernel/debug/sched/fair_server/*/runtime || true
	grep -Hs '' /proc/irq/default_smp_affinity /proc/irq/*/smp_affinity /proc/irq/*/smp_affinity_list || true
	find /proc/sys -type f -readable ! -path '*/random/*' ! -name stat_refresh ! -name 'pid_max' \
		! -path '*/fs/*-nr' ! -path '*/fs/*-state' ! -path '*/fs/quota/*' ! -name ns_last_pid ! -name compact_memory \
		! -name drop_caches ! -name pty ! -path '*/kernel/pty/*' ! -name 'flush' ! -name loadavg ! -name tainted -exec grep -H '' {} + 2>/dev/null || true
	local c
	for c in /sys/fs/cgroup/cpuset /sys/fs/cgroup/unified /sys/fs/cgroup; do
		[ -e "$c/cgroup.procs" ] || continue # a directory of mounts
		find "$c" -type d || true
		find "$c" \( -name 'cpuset.*' -o -name cgroup.subtree_control \) -type f ! -name '*memory_pressure' -exec grep -H '' {} + || true
	done
	find /run/chisol -mindepth 1 ! -name lock ! -name irqbalance 2>/dev/null || true
}

# eventually COMMAND...: polls until it succeeds; a minute is for a machine that is stuck.
eventually() {
	local i
	for ((i = 0; i < 1200; i++)); do
		"$@" && return
		sleep 0.05
	done
	echo "never came true: $*"
	return 1
}

# Fails if the command succeeds; a plain "! command" fails no test unless it comes last.
refute() {
	! "$@"
}

# Does a list such as 0-2,5 have the CPU?
has_cpu() { # LIST CPU
	local part
	for part in ${1//,/ }; do
		((${part%-*} <= $2 && $2 <= ${part#*-})) && return 0
	done
	return 1
}

# Says which runs, live or dead, are on this machine, and fails if there are any.
clean_machine() {
	local left
	left=$(find /run/chisol -name '*.journal' 2>/dev/null)
	[ -z "$left" ] && return
	echo "There are chisol runs, live or dead, on this machine:"
	echo "$left"
	echo "Wait for the live ones (chisol --status), undo the dead ones (chisol --restore), and try again."
	return 1
} >&2

# Checks a document against the schema: with jq always, with Python's jsonschema where it is there.
valid() {
	local complaints
	complaints=$(jq -r --slurpfile schema "$REPO/man/chisol-report.schema.json" -f "$REPO/tests/schema.jq" "$1")
	[ -z "$complaints" ] || { echo "$complaints"; return 1; }
	if python3 -c 'import jsonschema' 2>/dev/null; then
		python3 - "$1" "$REPO/man/chisol-report.schema.json" <<-'END'
			import json, sys, jsonschema
			jsonschema.validate(*[json.load(open(name)) for name in sys.argv[1:]])
		END
	fi
}
