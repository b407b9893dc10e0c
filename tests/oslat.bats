# SPDX-License-Identifier: GPL-2.0-or-later
# A real measuring program, oslat of rt-tests, as people will run it.
load helpers

setup_file() {
	requires_root "cpusets and interrupts are root's" && requires "oslat (rt-tests)" command -v oslat && requires_two_cpus || return 0
	CPU=$(grep -o '[0-9]*$' /sys/devices/system/cpu/online)
	export CPU
	lock_machine
}

# IRQs that one of the /proc/irq/N files of the given name sends to the CPU.
irqs_on_cpu() {
	local file cpus range
	for file in /proc/irq/*/"$1"; do
		IFS=, read -ra cpus <"$file" || true
		for range in "${cpus[@]}"; do
			((CPU >= ${range%-*} && CPU <= ${range#*-})) && basename "$(dirname "$file")"
		done
	done | sort
}

# IRQs that the JSON report has in one of the given states.
irqs_reported() {
	jq -r --arg states "$*" '.settings[] | select(.name | test("^irq\\.[0-9-]+\\.affinity$")) |
		select(.granted.state | IN($states | split(" ")[])) | .name | split(".")[1]' report.json | sort
}

intact_json() {
	jq -e --arg cpu "$CPU" '.return_code == 0 and .thread["0"].cpu == ($cpu | tonumber) and
		(.thread["0"].histogram | length) > 0 and .thread["0"].duration > 1' oslat.json
}

@test "oslat under -q vmstat_sync -I conf: its status, output and JSON are its own, the machine as before" {
	cd "$BATS_TEST_TMPDIR"
	machine_snapshot >before
	"$CHISOL" -q vmstat_sync -I conf oslat -c "$CPU" -D 2 --json=oslat.json >out
	grep -q 'Test completed' out
	refute grep -q chisol out
	intact_json
	machine_snapshot | diff before -
}

@test "oslat under -p oslat: no interrupt that can be moved is on its CPU, the machine as before" {
	cd "$BATS_TEST_TMPDIR"
	machine_snapshot >before
	"$CHISOL" -c "$CPU" -p "$REPO/conf/oslat.conf" -r json:report.json \
		oslat -c "$CPU" -D 4 --json=oslat.json >out &
	eventually pgrep -P $! -x oslat
	irqs_on_cpu smp_affinity_list >asked
	irqs_on_cpu effective_affinity_list >effective
	wait $!
	intact_json
	machine_snapshot | diff before -
	# A pending one has been moved and stays where it is until it fires: so it has not.
	diff asked <(irqs_reported exposed)
	[ -z "$(comm -23 effective <(irqs_reported exposed pending))" ]
	jq -e '[.settings[] | select(.name | test("affinity$")) | select(.granted.state == "granted")] | length > 0' report.json
}

@test "oslat's own failure is passed on" {
	run oslat --no-such-option
	local own=$status
	[ "$own" -ne 0 ]
	run "$CHISOL" -c "$CPU" -p "$REPO/conf/oslat.conf" oslat --no-such-option
	[ "$status" -eq "$own" ]
}
