/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile_keys.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>

#include "break_action.h"
#include "text.h"

static const struct key_word policy_words[] = {
	{ "require", POLICY_REQUIRE },
	{ "try", POLICY_TRY },
	{ "off", POLICY_OFF },
	{ 0 },
};

static const struct key_word answer_words[] = {
	{ "yes", ANSWER_YES },
	{ "no", ANSWER_NO },
	{ "auto", ANSWER_AUTO },
	{ 0 },
};

static const struct key_word bool_words[] = {
	{ "yes", true },
	{ "no", false },
	{ 0 },
};

static const struct key_word partition_words[] = {
	{ "auto", PARTITION_AUTO },
	{ "member", PARTITION_MEMBER },
	{ "root", PARTITION_ROOT },
	{ "isolated", PARTITION_ISOLATED },
	{ 0 },
};

static const struct key_word start_words[] = {
	{ "hot", START_HOT },
	{ "run", START_RUN },
	{ 0 },
};

static const struct key_word accept_words[] = {
	{ "auto", ACCEPT_AUTO },
	{ "kernel", ACCEPT_KERNEL },
	{ "placement", ACCEPT_PLACEMENT },
	{ "stand-in", ACCEPT_STAND_IN },
	{ 0 },
};

static const struct key_word abi_words[] = {
	{ "auto", ISOLATION_ABI_AUTO },
	{ "v4", ISOLATION_ABI_V4 },
	{ "v6", ISOLATION_ABI_V6 },
	{ 0 },
};

static const struct key_word fair_server_words[] = {
	{ "keep", FAIR_SERVER_KEEP },
	{ "off", FAIR_SERVER_OFF },
	{ 0 },
};

static const struct key_word quiesce_words[] = {
	{ "vmstat_sync", QUIESCE_VMSTAT_SYNC },
	{ "none", 0 },
	{ 0 },
};

static const struct key_word inherit_words[] = {
	{ "conf", INHERIT_CONF },
	{ "active", INHERIT_CONF | INHERIT_ACTIVE }, /* the kernel refuses active without conf */
	{ "none", 0 },
	{ 0 },
};

static const struct key_word probe_words[] = {
	{ "auto", PROBE_AUTO },
	{ "watch", PROBE_WATCH },
	{ "thread", PROBE_THREAD },
	{ 0 },
};

static const struct key_word ignore_words[] = {
	{ "self", VERDICT_IGNORE_SELF },
	{ "none", 0 },
	{ 0 },
};

static const struct key_word on_break_of_words[] = {
	{ "foreign", ON_BREAK_OF_FOREIGN },
	{ "self", ON_BREAK_OF_SELF },
	{ 0 },
};

static int check_on_break(const char *value, struct error *err)
{
	return break_action_parse(&(struct break_action){ 0 }, value, err);
}

#define AT(section_, name_, member)                    \
	.section = #section_, .name = #name_,          \
	.offset = offsetof(struct request, section_) + \
	          offsetof(__typeof__(((struct request *)0)->section_), member)

#define POLICY(section_)                                                                   \
	{                                                                                  \
		AT(section_, policy, policy),                                              \
			.type = KEY_WORD, .words = policy_words,                           \
			.help = "what happens when the section's settings are not granted" \
	}

/*
 * PR_ISOL_FEAT_GET and the four numbers after it. Below 63 every number has had another meaning in
 * every kernel that could carry the interface (include/uapi/linux/prctl.h).
 */
#define PRCTL_BASE_MIN 63
#define PRCTL_BASE_MAX 2147483642

/* The kernel keeps the interval in jiffies in an int; HZ is 1000 at most. */
#define STAT_INTERVAL_MAX 2147483

#define SETTLE_MAX 86400 /* a day */

#define RING_MAX 1048576 /* 1 GiB for each CPU */

const struct profile_key profile_keys[] = {
	{ AT(profile, policy, policy), .type = KEY_WORD, .words = policy_words,
	  .default_text = "try", .help = "the policy of sections that do not say their own" },
	{ AT(profile, description, description), .type = KEY_TEXT,
	  .help = "one line for people, shown in the report" },

	POLICY(cpus),
	{ AT(cpus, workload, workload_text), .type = KEY_CPUS, .file = "sched_setaffinity(2)",
	  .help = "the CPUs of the command" },
	{ AT(cpus, housekeeping, housekeeping_text), .type = KEY_CPUS,
	  .help = "where everything else goes, of those that are left" },

	POLICY(cgroup),
	{ AT(cgroup, partition, partition), .type = KEY_WORD, .words = partition_words,
	  .default_text = "auto", .file = "cpuset.cpus.partition, cpuset.sched_load_balance",
	  .since = "for partitions Linux 5.0, for isolated ones 6.1 (cgroup v2)",
	  .help = "how far the CPUs are taken out of the scheduler's load balancing" },
	{ AT(cgroup, helpers, helpers), .type = KEY_WORD, .words = answer_words,
	  .default_text = "auto", .file = "cgroup.type, cgroup.threads",
	  .since = "on cgroup v2 Linux 5.0",
	  .help = "make a second group on the housekeeping CPUs for helper threads" },
	{ AT(cgroup, start, start), .type = KEY_WORD, .words = start_words, .default_text = "hot",
	  .help = "run: the command may set its threads' affinity to housekeeping CPUs, too" },
	{ AT(cgroup, evict, evict), .type = KEY_WORD, .words = answer_words, .default_text = "auto",
	  .file = "/proc/PID/task/TID/status (Cpus_allowed)",
	  .help = "move other tasks off the CPUs" },
	{ AT(cgroup, parent, parent), .type = KEY_TEXT, .file = "cgroup directory",
	  .help = "the group in which the run's group is made" },
	{ AT(cgroup, mems, mems_text), .type = KEY_TEXT, .file = "cpuset.mems",
	  .help = "NUMA nodes for the command's memory, as 0-1" },

	POLICY(irq),
	{ AT(irq, default_affinity, default_affinity), .type = KEY_WORD, .words = answer_words,
	  .default_text = "auto", .file = "/proc/irq/default_smp_affinity",
	  .help = "keep new interrupts off the CPUs, too" },
	{ AT(irq, threads, threads), .type = KEY_WORD, .words = answer_words,
	  .default_text = "auto", .file = "sched_setaffinity(2) of irq/NUMBER-NAME",
	  .help = "move interrupt threads with their interrupts" },
	{ AT(irq, irqbalance, irqbalance), .type = KEY_WORD, .words = answer_words,
	  .default_text = "auto", .file = "irqbalance's socket",
	  .help = "tell a running irqbalance to leave the CPUs alone" },
	{ AT(irq, keep, keep), .type = KEY_TEXT,
	  .help = "IRQ numbers and device names to leave where they are, comma-separated" },

	POLICY(task_isolation),
	{ AT(task_isolation, quiesce, quiesce), .type = KEY_WORDS, .words = quiesce_words,
	  .default_text = "none", .file = "prctl(PR_ISOL_CFG_SET)",
	  .since = "the task isolation patches of 2021", .help = "what the kernel is to quiesce" },
	{ AT(task_isolation, inherit, inherit), .type = KEY_WORDS, .words = inherit_words,
	  .default_text = "none", .file = "prctl(PR_ISOL_CFG_SET)",
	  .since = "the task isolation patches of 2021",
	  .help = "what new threads and children start with" },
	{ AT(task_isolation, activate, activate), .type = KEY_BOOL, .words = bool_words,
	  .default_text = "no", .file = "prctl(PR_ISOL_ACTIVATE_SET)",
	  .since = "the task isolation patches of 2021",
	  .help = "activate before the command starts" },
	{ AT(task_isolation, oneshot, oneshot), .type = KEY_BOOL, .words = bool_words,
	  .default_text = "no", .file = "prctl(PR_ISOL_CFG_SET)",
	  .since = "the task isolation patches of 2021",
	  .help = "quiesce once when the command activates, not after every system call" },
	{ AT(task_isolation, accept, accept), .type = KEY_WORD, .words = accept_words,
	  .default_text = "auto",
	  .help = "how much less than a quiesce by the kernel counts as granted" },
	{ AT(task_isolation, abi, abi), .type = KEY_WORD, .words = abi_words,
	  .default_text = "auto", .since = "the task isolation patches of 2021",
	  .help = "argument form of the prctl calls" },
	{ AT(task_isolation, prctl_base, prctl_base), .type = KEY_NUMBER, .min = PRCTL_BASE_MIN,
	  .max = PRCTL_BASE_MAX, .range_why = "lower numbers mean something else in every kernel",
	  .default_text = "63", .file = "prctl(2)", .since = "the task isolation patches of 2021",
	  .help = "number of PR_ISOL_FEAT_GET; the other calls follow it" },
	{ AT(task_isolation, threads, threads), .type = KEY_TEXT,
	  .file = "prctl(PR_ISOL_ACTIVATE_SET)", .since = "the task isolation patches of 2021",
	  .help = "names of threads to activate, as patterns, comma-separated; with "
	          "probe.mode = thread" },

	POLICY(vmstat),
	{ AT(vmstat, stat_interval, stat_interval), .type = KEY_NUMBER, .min = 1,
	  .max = STAT_INTERVAL_MAX,
	  .range_why = "0 would make the kernel update its statistics without pause",
	  .file = "/proc/sys/vm/stat_interval",
	  .help = "seconds between two updates of the per-CPU statistics" },
	{ AT(vmstat, flush, flush), .type = KEY_BOOL, .words = bool_words, .default_text = "no",
	  .file = "/proc/sys/vm/stat_refresh", .since = "Linux 4.7",
	  .help = "fold all per-CPU statistics once, before the command starts" },

	POLICY(kthreads),
	{ AT(kthreads, move, move), .type = KEY_BOOL, .words = bool_words, .default_text = "yes",
	  .file = "sched_setaffinity(2) of kernel threads",
	  .help = "move kernel threads that are bound to no CPU off the CPUs" },

	POLICY(scheduler),
	{ AT(scheduler, fair_server, fair_server), .type = KEY_WORD, .words = fair_server_words,
	  .default_text = "keep", .file = "/sys/kernel/debug/sched/fair_server/cpuN/runtime",
	  .since = "Linux 6.12 and debugfs",
	  .help = "the scheduler's server of ordinary tasks, on the CPUs" },

	POLICY(user),
	{ AT(user, user, user), .type = KEY_TEXT, .file = "setresuid(2), setgroups(2)",
	  .help = "run the command as USER, USER:GROUP, or @caller (who called sudo)" },
	{ AT(user, keep_caps, keep_caps), .type = KEY_TEXT, .file = "capset(2), prctl(2)",
	  .since = "Linux 4.3", .help = "capabilities that the command keeps, comma-separated" },
	{ AT(user, no_new_privs, no_new_privs), .type = KEY_BOOL, .words = bool_words,
	  .default_text = "no", .file = "prctl(PR_SET_NO_NEW_PRIVS)",
	  .help = "no program that the command starts can gain privileges" },

	POLICY(probe),
	{ AT(probe, mode, mode), .type = KEY_WORD, .words = probe_words, .default_text = "auto",
	  .file = "perf_event_open(2)", .since = "Linux 4.18, and root or CAP_PERFMON",
	  .help = "how breaks of isolation are looked for" },
	{ AT(probe, ring, ring), .type = KEY_NUMBER, .min = 64, .max = RING_MAX,
	  .default_text = "4096", .file = "perf_event_open(2)",
	  .help = "KiB for the trace events of each CPU" },
	{ AT(probe, on_break, on_break), .type = KEY_TEXT, .check = check_on_break,
	  .default_text = "none",
	  .help = "what is done when isolation is broken: signal:NAME, stop, trace-off, "
	          "command:TEXT" },
	{ AT(probe, on_break_over, on_break_over), .type = KEY_NUMBER, .max = INT_MAX,
	  .default_text = "0", .help = "microseconds that a break must exceed for on_break" },
	{ AT(probe, on_break_of, on_break_of), .type = KEY_WORDS, .words = on_break_of_words,
	  .default_text = "foreign", .help = "whose breaks on_break is about" },
	{ AT(probe, period, period), .type = KEY_NUMBER, .min = 10, .max = 60000,
	  .range_why = "more often than that the looks themselves become a load",
	  .default_text = "100", .file = "/proc/PID/task",
	  .help = "milliseconds between two looks at the command's threads" },

	POLICY(load),
	{ AT(load, command, command), .type = KEY_TEXT,
	  .help = "a shell command that runs on the housekeeping CPUs meanwhile" },
	{ AT(load, settle, settle), .type = KEY_NUMBER, .max = SETTLE_MAX, .default_text = "1",
	  .help = "seconds that it has to itself before the command starts" },

	POLICY(verdict),
	{ AT(verdict, max_breaks, max_breaks), .type = KEY_NUMBER, .max = INT_MAX,
	  .default_text = "0", .help = "breaks that are allowed on each CPU" },
	{ AT(verdict, max_gap, max_gap), .type = KEY_NUMBER, .max = INT_MAX,
	  .help = "microseconds that a break may last" },
	{ AT(verdict, budget_ppm, budget_ppm), .type = KEY_NUMBER, .max = 1000000,
	  .help = "millionths of the time that breaks may take together" },
	{ AT(verdict, min_coverage, min_coverage), .type = KEY_NUMBER, .max = 100,
	  .default_text = "90",
	  .help = "percent of its time that a loop of the command must have been watched" },
	{ AT(verdict, grace, grace), .type = KEY_NUMBER, .max = INT_MAX, .default_text = "0",
	  .help = "milliseconds after the start that are not judged" },
	{ AT(verdict, ignore, ignore), .type = KEY_WORDS, .words = ignore_words,
	  .default_text = "self", .help = "breaks that do not count" },
	{ 0 },
};
const unsigned int n_profile_keys = ARRAY_SIZE(profile_keys) - 1;

#define SECTION(name_, ...)                                                   \
	{                                                                     \
		.name = #name_, .supported = true,                            \
		.policy = offsetof(struct request, name_.policy), __VA_ARGS__ \
	}

const struct profile_section profile_sections[] = {
	SECTION(profile),
	SECTION(cpus),
	SECTION(cgroup, .machine = true, .needs_housekeeping = true),
	SECTION(irq, .machine = true, .needs_housekeeping = true),
	SECTION(task_isolation, .machine = true),
	SECTION(vmstat, .machine = true),
	SECTION(kthreads, .machine = true, .needs_housekeeping = true),
	SECTION(scheduler, .machine = true),
	SECTION(user, .must = true),
	SECTION(probe),
	SECTION(load, .needs_housekeeping = true),
	SECTION(verdict),
	{ .name = "workqueues" },
	{ .name = "memory" },
	{ .name = "power" },
	{ .name = "cache" },
	{ .name = "network" },
	{ .name = "watchdogs" },
	{ 0 },
};

const struct profile_section *profile_section_find(const char *name)
{
	for (const struct profile_section *s = profile_sections; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

int profile_key_index(const char *section, const char *name)
{
	for (int i = 0; profile_keys[i].section; i++)
		if (!strcmp(profile_keys[i].section, section) &&
		    !strcmp(profile_keys[i].name, name))
			return i;
	return -1;
}

char *profile_key_range(const struct profile_key *key)
{
	char *range;

	if (!key->words)
		return xasprintf("%u to %u", key->min, key->max);
	range = xstrdup(key->words->word);
	for (const struct key_word *w = key->words + 1; w->word; w++)
		xappend(&range, "%s%s", w[1].word ? ", " : " or ", w->word);
	return range;
}

static int refuse(const struct profile_key *key, const char *value, struct error *err)
{
	_cleanup_free_ char *shown = text_quote(value), *range = profile_key_range(key);
	struct nearest near = { .word = value };

	for (const struct key_word *w = key->words; w && w->word; w++)
		nearest_try(&near, w->word);
	error_set(err, EINVAL, "%s.%s cannot be %s; it takes %s", key->section, key->name, shown,
	          range);
	if (key->range_why && text_unsigned(value, &(unsigned long long){ 0 }))
		error_append(err, " (%s)", key->range_why);
	if (nearest_word(&near))
		error_append(err, "; did you mean \"%s\"?", near.best);
	return -EINVAL;
}

static const struct key_word *find_word(const struct key_word *words, const char *word)
{
	for (; words->word; words++)
		if (!strcmp(words->word, word))
			return words;
	return NULL;
}

static int read_words(const struct profile_key *key, const char *value, unsigned int *bits,
                      struct error *err)
{
	for (const char *p = value;; p++) {
		size_t len = strcspn(p, ",");
		_cleanup_free_ char *word = text_trim(p, len);
		const struct key_word *w = find_word(key->words, word);

		if (!w)
			return refuse(key, word, err);
		*bits |= w->value;
		p += len;
		if (!*p)
			return 0;
	}
}

int profile_key_set(struct request *req, unsigned int index, const char *value, enum given given,
                    const char *origin, bool more, struct error *err)
{
	const struct profile_key *key = &profile_keys[index];
	void *place = (char *)req + key->offset;
	const struct key_word *word = NULL;
	unsigned long long number = 0;
	unsigned int bits = 0;

	switch (key->type) {
	case KEY_WORD:
		word = find_word(key->words, value);
		if (!word)
			return refuse(key, value, err);
		*(unsigned int *)place = word->value;
		break;
	case KEY_WORDS:
		if (read_words(key, value, &bits, err))
			return -EINVAL;
		*(unsigned int *)place = more ? *(unsigned int *)place | bits : bits;
		break;
	case KEY_BOOL:
		word = find_word(key->words, value);
		if (!word)
			return refuse(key, value, err);
		*(bool *)place = word->value;
		break;
	case KEY_NUMBER:
		if (!text_unsigned(value, &number) || number < key->min || number > key->max)
			return refuse(key, value, err);
		*(unsigned int *)place = (unsigned int)number;
		break;
	case KEY_TEXT:
	case KEY_CPUS:
		if (key->check && key->check(value, err))
			return error_prefix(err, "%s.%s", key->section, key->name);
		xreplace(place, *value ? value : NULL);
		break;
	}
	if (given != GIVEN_NOT) {
		req->origins[index].given = given;
		xreplace(&req->origins[index].text, origin);
	}
	return 0;
}
