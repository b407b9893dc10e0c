# SPDX-License-Identifier: GPL-2.0-or-later
# jq -n --slurpfile breaks JSONL --slurpfile loop ISOLPROBE_JSON -f tests/stolen.jq: how long other
# tasks had the CPU while isolprobe measured there, by the breaks that chisol saw (turns_ns) and by
# the gaps that the loop found (switched_out_ns, in so many gaps); the same of all breaks and gaps;
# and of how much time the kernel told nothing (unseen_ns).
$loop[0].measured[0] as $m | $breaks[-1].began_ns as $zero |
($m.worst[0].start_ns - $m.worst[0].after_ns - $zero) as $from | ($from + $m.elapsed_ns) as $to |
def within: ([.start_ns + .length_ns, $to] | min) - ([.start_ns, $from] | max) | [., 0] | max;
{
	turns_ns: ([$breaks[] | select(.parts) | select(any(.parts[]; .pid)) | within] | add // 0),
	breaks_ns: ([$breaks[] | select(.parts) | within] | add // 0),
	unseen_ns: ([$breaks[] | select(.unseen) | within] | add // 0),
	switched_out_ns: $m.breaks.by_class["switched-out"].total_ns,
	switched_out: $m.breaks.by_class["switched-out"].count,
	gaps_ns: $m.breaks.total_ns,
	gaps: $m.breaks.count
}
