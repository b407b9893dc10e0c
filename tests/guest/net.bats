#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A network card under traffic: its interrupts follow their new masks, and come back.

load ../helpers
load guest

setup() {
	begin_test
	mapfile -t IRQS < <(card_irqs)
	((${#IRQS[@]} > 0))
	for irq in "${IRQS[@]}"; do echo "$irq $(<"/proc/irq/$irq/smp_affinity_list")"; done >masks
	for irq in "${IRQS[@]}"; do echo 3 >"/proc/irq/$irq/smp_affinity_list"; done
	traffic
	snapshot >before
}

teardown() {
	run_cleared
	while read -r irq list; do echo "$list" >"/proc/irq/$irq/smp_affinity_list"; done <masks
}

traffic() {
	ping -c 5 -W 10 10.0.2.2 >/dev/null
}

hits() { # CPU: interrupts of the card there
	awk -v column=$(($1 + 2)) '/virtio[0-9]+-(input|output)/ { n += $column } END { print n }' /proc/interrupts
}

moved() { # CPU: no interrupt of the card is there any more; one moves when it next comes
	local irq
	traffic
	for irq in "${IRQS[@]}"; do ! has_cpu "$(<"/proc/irq/$irq/effective_affinity_list")" "$1" || return; done
}

@test "the card's interrupts go elsewhere during a run, also when packets come, and are back afterwards" {
	local before
	before=$(hits 3)
	traffic
	[ "$(hits 3)" -gt "$before" ]
	run_started -c 3 -s irq.policy=require
	eventually moved 3
	before=$(hits 3)
	traffic
	[ "$(hits 3)" -eq "$before" ]
	run_ended
	unchanged
	traffic
	traffic
	[ "$(hits 3)" -gt "$before" ]
}
