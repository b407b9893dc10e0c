# SPDX-License-Identifier: GPL-2.0-or-later
# The real irqbalance, started by the test in the foreground, scanning each second.
load helpers

setup_file() {
	lock_machine
	# irqbalance leaves alone on its own what is isolated at boot: the CPU is one that it would not.
	local own
	own=$(cat /sys/devices/system/cpu/{isolated,nohz_full} 2>/dev/null | grep '^[0-9]' | paste -sd,)
	CPU=$(($(nproc --all) - 1))
	while ((CPU > 0)) && has_cpu "$own" $CPU; do CPU=$((CPU - 1)); done
	OWN=$(mask_of "$own")
	export CPU OWN
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

mask_of() { # LIST: as a number
	local cpu mask=0
	for ((cpu = 0; cpu < 63; cpu++)); do
		! has_cpu "$1" $cpu || mask=$((mask | 1 << cpu))
	done
	echo $mask
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

found_by_the_next_run() {
	"$CHISOL" --dry-run=json -c "$CPU" -s irq.policy=try true |
		jq -r '.settings[] | select(.name == "irqbalance.banned_cpus").found'
}

@test "irqbalance is told to leave the workload's CPU alone, and told again when the run is over" {
	local report=$BATS_TEST_TMPDIR/report.json path
	start_irqbalance
	bans $OWN
	"$CHISOL" -c "$CPU" -s irq.policy=try --report "json:$report" sleep 6 3>&- 9>&- &
	local run=$!
	eventually bans $((OWN | 1 << CPU))
	cp --parents /proc/irq/[0-9]*/smp_affinity_list "$BATS_TEST_TMPDIR" # as it placed them meanwhile
	wait "$run"
	eventually bans $OWN
	kill -0 "$PID"
	while read -r path; do
		refute has_cpu "$(<"$BATS_TEST_TMPDIR${path/%smp_affinity/smp_affinity_list}")" "$CPU"
	done < <(jq -r '.settings[] | select((.name | test("^irq[.][0-9]+[.]affinity$")) and .granted.state != "exposed") | .path' "$report")
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
	[ "$(mask_of "$(found_by_the_next_run)")" = $OWN ]
	"$CHISOL" -c "$CPU" -s irq.policy=try true
	sleep 3
	bans $OWN
	[ "$(mask_of "$(found_by_the_next_run)")" = $OWN ]
}

@test "irqbalance is reported as pending until its next scan, and kept at the end" {
	local report=$BATS_TEST_TMPDIR/report.json asked state observed
	start_irqbalance
	"$CHISOL" -c "$CPU" -s irq.policy=try --report "json:$report" sleep 8
	read -r asked state observed < <(jq -r '.settings[] | select(.name == "irqbalance.banned_cpus") |
		"\(.asked) \(.granted.state) \(.observed.value)"' "$report")
	[ "$(mask_of "$asked") $state $observed" = "$((OWN | 1 << CPU)) pending $asked" ]
}

@test "an irqbalance that the profile leaves alone is not told" {
	start_irqbalance
	"$CHISOL" -c "$CPU" -s irq.policy=try -s irq.irqbalance=no sleep 3
	bans $OWN
}

@test "irqbalance asked for and not running is noted" {
	run "$CHISOL" --dry-run -c "$CPU" -s irq.policy=try -s irq.irqbalance=yes true
	[ "$status" -eq 0 ]
	[[ $output == *"irqbalance does not run"* ]]
}

@test "a script that is called irqbalance is none, and a program of that name without a socket is told of" {
	local PID='' name=$BATS_TEST_TMPDIR/irqbalance pid
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nread -r line\n' >"$name"
	chmod +x "$name"
	for program in script "$(command -v sleep)"; do
		[ "$program" = script ] || cp --remove-destination "$program" "$name"
		"$name" 60 <> <(:) >/dev/null 2>&1 3>&- 9>&- &
		pid=$!
		eventually pgrep -x irqbalance
		run "$CHISOL" --dry-run -c "$CPU" -s irq.policy=try true
		kill "$pid"
		[ "$status" -eq 0 ]
		case $program in
		script) [[ $output != *"without its socket"* ]] ;;
		*) [[ $output == *"irqbalance (process $pid) runs without its socket"* ]] ;;
		esac
	done
}
