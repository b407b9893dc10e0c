/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpulist.h"

#include <errno.h>

#include "text.h"

#define CPU_DIR "/sys/devices/system/cpu"

/* One piece of a list while it is read. */
struct piece {
	const struct system *sys;
	const struct cpumask *allowed; /* NULL: all */
	const char *text;
	struct cpumask cpus;
	bool beyond; /* it goes past the last CPU of the machine; cpus has the rest */
};

static long last_cpu(const struct system *sys)
{
	return cpumask_last(&sys->machine.present);
}

static int bad(const struct piece *piece, int code, struct error *err, const char *why)
{
	_cleanup_free_ char *shown = text_quote(piece->text);

	return error_set(err, code, "%s %s", shown, why);
}

static bool is_hex(const char *s, size_t len)
{
	return len && strspn(s, "0123456789abcdefABCDEF") >= len;
}

/* Length of the piece at s, up to its comma. */
static size_t span(const char *s)
{
	return strcspn(s, ",");
}

/*
 * The length of the mask that begins at s, with all the pieces of eight digits that continue it;
 * 0 if none begins here.
 */
static size_t mask_span(const char *s)
{
	bool prefixed = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	size_t len = span(s), digits = prefixed ? len - 2 : len;
	size_t groups = 1;

	if (!is_hex(s + (prefixed ? 2 : 0), digits))
		return 0;
	if (digits <= 8) {
		while (s[len] == ',' && span(s + len + 1) == 8 && is_hex(s + len + 1, 8)) {
			len += 9;
			groups++;
		}
	}
	return prefixed || groups > 1 ? len : 0;
}

static void take(struct piece *piece, unsigned long long cpu)
{
	if (cpu > (unsigned long long)last_cpu(piece->sys))
		piece->beyond = true;
	else
		cpumask_set(&piece->cpus, (unsigned int)cpu);
}

static void read_mask(struct piece *piece)
{
	unsigned long long bit = 0;

	for (const char *p = piece->text + strlen(piece->text); p-- > piece->text;) {
		unsigned int digit;

		if (*p == ',')
			continue;
		if (*p == 'x' || *p == 'X')
			break;
		digit = *p <= '9' ? (unsigned int)(*p - '0')
		                  : (unsigned int)((*p | 0x20) - 'a' + 10);
		for (unsigned int i = 0; i < 4; i++)
			if (digit >> i & 1)
				take(piece, bit + i);
		bit += 4;
	}
}

static bool read_number(const struct system *sys, const char *text, unsigned long long *value)
{
	if (strcmp(text, "N") != 0)
		return text_unsigned(text, value);
	*value = (unsigned long long)cpumask_last(&sys->machine.online);
	return true;
}

/* The CPUs first, first + 1, ... of which used of every group are taken. */
static void take_groups(struct piece *piece, unsigned long long first, unsigned long long last,
                        unsigned long long used, unsigned long long group)
{
	unsigned long long over = (last - first) % group;
	/* The last one that is taken decides whether the range goes too far, not its end. */
	unsigned long long end = over < used ? last : last - (over - used + 1);
	unsigned long long limit = (unsigned long long)last_cpu(piece->sys);

	piece->beyond = end > limit;
	for (unsigned long long cpu = first; cpu <= end && cpu <= limit; cpu++)
		if ((cpu - first) % group < used)
			cpumask_set(&piece->cpus, (unsigned int)cpu);
}

/* FIRST[-LAST[:STRIDE | :USED/GROUP]] */
static int read_range(struct piece *piece, struct error *err)
{
	_cleanup_free_ char *copy = xstrdup(piece->text);
	char *first_text = copy, *last_text, *used_text, *group_text;
	unsigned long long first, last, used = 1, group = 1;

	used_text = strchr(copy, ':');
	if (used_text)
		*used_text++ = '\0';
	group_text = used_text ? strchr(used_text, '/') : NULL;
	if (group_text)
		*group_text++ = '\0';
	last_text = strchr(copy, '-');
	if (last_text)
		*last_text++ = '\0';

	if (!read_number(piece->sys, first_text, &first) ||
	    (last_text && !read_number(piece->sys, last_text, &last)))
		return bad(piece, EINVAL, err, "is not a CPU number or range");
	if (used_text && !last_text)
		return bad(piece, EINVAL, err, "has a stride but no range, as in 0-31:2");
	if (!last_text)
		last = first;
	if (last < first)
		return bad(piece, EINVAL, err, "is a range that ends before it begins");
	if (used_text && (!text_unsigned(used_text, &used) || !used))
		return bad(piece, EINVAL, err,
		           "has a stride that is not a number from 1, as in 0-31:2");
	if (group_text && (!text_unsigned(group_text, &group) || group < used))
		return bad(piece, EINVAL, err,
		           "does not say how many CPUs of how large a group, as in 0-31:2/8");
	if (used_text && !group_text) { /* a stride: one CPU of every group of that size */
		group = used;
		used = 1;
	}
	take_groups(piece, first, last, used, group);
	return 0;
}

static int read_all(struct piece *piece, const char *arg, struct error *err)
{
	(void)arg, (void)err;
	cpumask_copy(&piece->cpus, &piece->sys->machine.online);
	return 0;
}

static int read_isolated(struct piece *piece, const char *arg, struct error *err)
{
	(void)arg, (void)err;
	cpumask_copy(&piece->cpus, &piece->sys->machine.isolated);
	return 0;
}

static int read_nohz_full(struct piece *piece, const char *arg, struct error *err)
{
	(void)arg;
	if (!piece->sys->machine.has_nohz_full)
		return bad(piece, ENXIO, err,
		           "does not exist here: the kernel is built without CONFIG_NO_HZ_FULL");
	cpumask_copy(&piece->cpus, &piece->sys->machine.nohz_full);
	return 0;
}

static int read_housekeeping(struct piece *piece, const char *arg, struct error *err)
{
	(void)arg, (void)err;
	machine_housekeeping(&piece->cpus, &piece->sys->machine);
	return 0;
}

static int read_node(struct piece *piece, const char *arg, struct error *err)
{
	_cleanup_error_ struct error why = ERROR_INIT;
	_cleanup_free_ char *nodes = NULL, *shown = NULL;
	unsigned long long node;

	if (!text_unsigned(arg, &node))
		return bad(piece, EINVAL, err, "does not name a NUMA node by number, as in node:0");
	if (node <= CPUMASK_MAX &&
	    !system_node_cpus(piece->sys, (unsigned int)node, &piece->cpus, &why))
		return 0;
	if (why.err && why.err != ENOENT)
		return error_move(err, &why);
	shown = text_quote(piece->text);
	if (sysroot_read(&piece->sys->root, "/sys/devices/system/node/online", &nodes, NULL))
		return error_set(err, ENXIO, "%s does not exist: the kernel knows no NUMA nodes",
		                 shown);
	return error_set(err, ENXIO, "%s does not exist: this machine has nodes %.60s", shown,
	                 nodes);
}

static int check_cpus(const struct piece *piece, bool removing, struct error *err);

static int read_siblings(struct piece *piece, const char *arg, struct error *err)
{
	_cleanup_cpumask_ struct cpumask siblings = CPUMASK_INIT;
	unsigned long long cpu;
	int rc;

	if (!read_number(piece->sys, arg, &cpu))
		return bad(piece, EINVAL, err, "does not name a CPU by number, as in siblings:3");
	take(piece, cpu);
	rc = check_cpus(piece, false, err);
	if (!rc)
		rc = system_siblings(piece->sys, (unsigned int)cpu, &siblings, err);
	cpumask_or(&piece->cpus, &siblings);
	return rc;
}

/* A name that ends in a colon takes an argument. */
static const struct word {
	const char *name;
	int (*read)(struct piece *piece, const char *arg, struct error *err);
} words[] = {
	{ "all", read_all },
	{ "isolated", read_isolated },
	{ "node:", read_node },
	{ "nohz_full", read_nohz_full },
	{ "siblings:", read_siblings },
	{ "housekeeping", read_housekeeping },
};

static const struct word *find_word(const char *text, const char **arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i].name);
		bool takes_arg = words[i].name[len - 1] == ':';

		*arg = text + len;
		if (takes_arg ? !strncmp(text, words[i].name, len) : !strcmp(text, words[i].name))
			return &words[i];
	}
	return NULL;
}

/* "1f": hexadecimal digits that are no decimal number. */
static bool looks_like_mask(const char *text)
{
	return is_hex(text, strlen(text)) && text[strspn(text, "0123456789")];
}

static int unknown_word(const struct piece *piece, struct error *err)
{
	struct nearest near = { .word = piece->text };
	_cleanup_free_ char *shown = text_quote(piece->text);

	if (looks_like_mask(piece->text))
		return error_set(err, EINVAL, "%s is not a CPU number; a mask is written 0x%.60s",
		                 shown, piece->text);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		nearest_try(&near, words[i].name);
	if (nearest_word(&near))
		return error_set(err, EINVAL, "%s is not a CPU list; did you mean \"%s\"?", shown,
		                 near.best);
	return error_set(err, EINVAL,
	                 "%s is not a CPU number, range, mask or one of all, isolated, nohz_full, "
	                 "housekeeping, node:NUMBER, siblings:CPU",
	                 shown);
}

static int read_piece(struct piece *piece, struct error *err)
{
	const char *arg, *text = piece->text;
	const struct word *word = find_word(text, &arg);

	if (word) {
		int rc = word->read(piece, arg, err);

		cpumask_and(&piece->cpus, &piece->sys->machine.online);
		if (piece->allowed)
			cpumask_and(&piece->cpus, piece->allowed);
		return rc;
	}
	if (mask_span(text) == strlen(text)) {
		read_mask(piece);
		return 0;
	}
	if (strlen(text) == 8 && is_hex(text, 8))
		return bad(piece, EINVAL, err,
		           "could be a mask or a CPU number: write 0x before a mask, and a number "
		           "without zeros in front");
	if (strchr("0123456789N-", *text) && !looks_like_mask(text))
		return read_range(piece, err);
	return unknown_word(piece, err);
}

/* What can be wrong with a CPU number. */
struct fault {
	int code;
	const char *one, *many; /* after "CPU 9" and "CPUs 8-9" */
	const char *after;      /* after the valid set */
};

static const struct fault absent = { ENXIO, "does not exist; this machine has",
	                             "do not exist; this machine has", "" };
static const struct fault offline = { ENODEV, "is offline; online are", "are offline; online are",
	                              " (write 1 to " CPU_DIR
	                              "/cpuNUMBER/online to bring one online)" };
static const struct fault not_allowed = { EPERM,
	                                  "is not allowed; the cpuset that chisol runs in has",
	                                  "are not allowed; the cpuset that chisol runs in has",
	                                  " ([cgroup] gives the command one of its own, as with "
	                                  "--set cgroup.partition=member)" };

/* Every CPU of the piece must be in valid. */
static int check_in(const struct piece *piece, const struct cpumask *valid,
                    const struct fault *fault, struct error *err)
{
	_cleanup_cpumask_ struct cpumask culprits = CPUMASK_INIT;
	_cleanup_free_ char *shown = NULL, *list = NULL, *valid_list = NULL;
	bool one;

	cpumask_copy(&culprits, &piece->cpus);
	cpumask_andnot(&culprits, valid);
	if (cpumask_empty(&culprits))
		return 0;
	shown = text_quote(piece->text);
	list = cpumask_list(&culprits);
	valid_list = cpumask_list(valid);
	one = cpumask_weight(&culprits) == 1;
	return error_set(err, fault->code, "CPU%s %.200s%s%s %s %.200s%s", one ? "" : "s", list,
	                 strcmp(list, piece->text) ? " in " : "",
	                 strcmp(list, piece->text) ? shown : "", one ? fault->one : fault->many,
	                 valid_list, fault->after);
}

static int check_cpus(const struct piece *piece, bool removing, struct error *err)
{
	const struct machine *m = &piece->sys->machine;
	int rc;

	if (piece->beyond) {
		_cleanup_free_ char *shown = text_quote(piece->text),
				    *present = cpumask_list(&m->present);

		return error_set(err, ENXIO,
		                 "%s names a CPU that does not exist; this machine has %.200s",
		                 shown, present);
	}
	rc = check_in(piece, &m->present, &absent, err);
	if (!rc && !removing)
		rc = check_in(piece, &m->online, &offline, err);
	if (!rc && !removing && piece->allowed)
		rc = check_in(piece, piece->allowed, &not_allowed, err);
	return rc;
}

/* A list while it is read, piece by piece. */
struct list {
	const struct system *sys;
	const struct cpumask *allowed;
	struct cpumask taken, removed;
	bool removing;
	bool any_taken;
};

static int add_piece(struct list *list, const char *text, struct error *err)
{
	struct piece piece = { .sys = list->sys, .allowed = list->allowed, .text = text };
	bool marked = *text == '!';
	int rc;

	if (marked) {
		list->removing = true;
		piece.text += 1 + strspn(text + 1, " \t");
	}
	if (!*piece.text)
		return error_set(err, EINVAL,
		                 marked ? "there is nothing after the \"!\""
		                        : "there is nothing between two commas");
	rc = read_piece(&piece, err);
	if (!rc)
		rc = check_cpus(&piece, list->removing, err);
	if (rc)
		goto out;
	if (!list->removing) {
		cpumask_or(&list->taken, &piece.cpus);
		list->any_taken = true;
		goto out;
	}
	/* "0-4,!3,7" is written by somebody who wants 7, and would not get it. */
	if (!marked && list->any_taken && !cpumask_intersects(&piece.cpus, &list->taken))
		rc = bad(&piece, EINVAL, err,
		         "stands after \"!\", which takes away, but is not in what stands before "
		         "it: write what to add first");
	cpumask_or(&list->removed, &piece.cpus);
out:
	cpumask_free(&piece.cpus);
	return rc;
}

static int read_list(struct list *list, const char *text, struct error *err)
{
	for (const char *p = text;; p++) {
		const char *start = p + strspn(p, " \t!");
		size_t len = mask_span(start);
		_cleanup_free_ char *piece = NULL;
		int rc;

		len = (size_t)(start - p) + (len ? len : span(start));
		piece = text_trim(p, len);
		rc = add_piece(list, piece, err);
		if (rc)
			return rc;
		p += len;
		if (!*p)
			break;
	}
	if (!list->any_taken)
		cpumask_copy(&list->taken, &list->sys->machine.online);
	cpumask_andnot(&list->taken, &list->removed);
	if (list->allowed && !list->any_taken)
		cpumask_and(&list->taken, list->allowed);
	if (cpumask_empty(&list->taken))
		return error_set(err, EINVAL,
		                 "that is no CPU on this machine; chisol --info lists what it has");
	return 0;
}

int cpulist_parse(struct cpumask *cpus, const char *text, const struct system *sys,
                  const struct cpumask *allowed, struct error *err)
{
	struct list list = { .sys = sys, .allowed = allowed };
	int rc;

	cpumask_free(cpus);
	if (!text[strspn(text, " \t")])
		return error_set(err, EINVAL, "the CPU list is empty");
	rc = read_list(&list, text, err);
	if (rc) {
		_cleanup_free_ char *shown = text_quote(text);

		error_prefix(err, "CPU list %s", shown);
		cpumask_free(&list.taken);
	}
	cpumask_free(&list.removed);
	*cpus = list.taken;
	return rc;
}
