# SPDX-License-Identifier: GPL-2.0-or-later
# The real irqbalance, started by the test in the foreground, scanning each second.
load helpers

setup_file() {
	lock_machine
	export CPU=$(($(nproc --all) - 1))
	grep -Hs '' /proc/irq/[0-9]*/smp_affinity_list >"$BATS_FILE_TMPDIR/masks" || true
}

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	command -v irqbalance >/dev/null || skip "irqbalance is not installed"
	command -v perl >/dev/null || skip "perl, which talks to irqbalance's socket here, is not installed"
	[ "$CPU" -ge 1 ] || skip "needs two CPUs"
	refute pgrep -x irqbalance || skip "an irqbalance of this machine runs"
	mkdir -p /run/irqbalance
}

start_irqbalance() { # [VARIABLE=VALUE]: until its first scan is over
	env "$@" irqbalance --foreground --interval=1 >/dev/null 2>&1 3>&- 9>&- &
	PID=$!
	SOCKET=/run/irqbalance/irqbalance$PID.sock
	eventually test -S "$SOCKET"
	eventually bans_some
}

teardown() { # irqbalance has moved interrupts as it thought best
	local file value
	[ -n "$PID" ] || return 0
	{ kill "$PID" && wait "$PID" || true; }
	rm -f "$SOCKET" /run/chisol/irqbalance
	while IFS=: read -r file value; do
		[ "$(cat "$file")" = "$value" ] || echo "$value" >"$file" || true
	done <"$BATS_FILE_TMPDIR/masks" 2>/dev/null
}

ask_setup() {
	perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "$!\n";
		syswrite $s, "setup"; print <$s>' "$SOCKET"
}

banned() { # as a number
	local answer
	answer=$(ask_setup)
	answer=${answer##*BANNED }
	[ -n "$answer" ] && echo $((0x${answer//,/}))
}

bans() { # MASK
	[ "$(banned)" -eq "$1" ]
}

bans_some() {
	[ -n "$(banned)" ]
}

eventually() { # COMMAND...: is true within 15 s
	local i
	for ((i = 0; i < 150; i++)); do
		"$@" 2>/dev/null && return
		sleep 0.1
	done
	return 1
}

found_by_the_next_run() {
	"$CHISOL" --dry-run=json -c "$CPU" -s irq.policy=try true |
		jq -r '.settings[] | select(.name == "irqbalance.banned_cpus").found'
}

@test "irqbalance is told to leave the workload's CPU alone, and told again when the run is over" {
	start_irqbalance
	bans 0
	"$CHISOL" -c "$CPU" -s irq.policy=try sleep 6 3>&- 9>&- &
	local run=$!
	eventually bans $((1 << CPU))
	refute grep -l "\b$CPU\b" /proc/irq/{24,25,26}/smp_affinity_list
	wait "$run"
	eventually bans 0
	kill -0 "$PID"
}

@test "what irqbalance bans on its own stays banned, during the run and after it" {
	start_irqbalance IRQBALANCE_BANNED_CPULIST=0
	eventually bans 1
	"$CHISOL" -c "$CPU" -s irq.policy=try sleep 6 3>&- 9>&- &
	local run=$!
	eventually bans $((1 | 1 << CPU))
	wait "$run"
	eventually bans 1
}

@test "a run that ends before irqbalance scans leaves no ban behind, and the next run does not inherit one" {
	start_irqbalance
	"$CHISOL" -c "$CPU" -s irq.policy=try true
	[ "$(found_by_the_next_run)" = "" ]
	"$CHISOL" -c "$CPU" -s irq.policy=try true
	sleep 3
	bans 0
	[ "$(found_by_the_next_run)" = "" ]
}

@test "irqbalance is reported as pending until its next scan, and kept at the end" {
	local report=$BATS_TEST_TMPDIR/report.json
	start_irqbalance
	"$CHISOL" -c "$CPU" -s irq.policy=try --report "json:$report" sleep 8
	[ "$(jq -r '.settings[] | select(.name == "irqbalance.banned_cpus") | "\(.asked) \(.granted.state) \(.observed.value)"' "$report")" = "$CPU pending $CPU" ]
}

@test "an irqbalance that the profile leaves alone is not told" {
	start_irqbalance
	"$CHISOL" -c "$CPU" -s irq.policy=try -s irq.irqbalance=no sleep 3
	bans 0
}

@test "irqbalance asked for and not running is noted" {
	run "$CHISOL" --dry-run -c "$CPU" -s irq.policy=try -s irq.irqbalance=yes true
	[ "$status" -eq 0 ]
	[[ $output == *"irqbalance does not run"* ]]
}
