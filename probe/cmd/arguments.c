/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arguments.h"

#include <errno.h>
#include <getopt.h>
#include <strings.h>

#include "../../isolcore/text.h"

#define GAPS_MAX     10000000u
#define WORKLOAD_MAX (1ull << 40)

const char *const workload_names[WORKLOADS] = {
	[WORKLOAD_NONE] = "none",
	[WORKLOAD_MEMMOVE] = "memmove",
};

const char *const when_names[WHENS] = {
	[CAUSES_AUTO] = "auto",
	[CAUSES_OFF] = "off",
	[CAUSES_REQUIRE] = "require",
};

const char *const format_names[FORMATS] = {
	[FORMAT_TEXT] = "text",           [FORMAT_JSON] = "json",
	[FORMAT_OSLAT] = "oslat",         [FORMAT_OSLAT_JSON] = "oslat-json",
	[FORMAT_SYSJITTER] = "sysjitter",
};

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit times[] = {
	{ "ns", 1 },          { "us", 1000 },         { "ms", 1000000 },       { "s", 1000000000 },
	{ "m", 60000000000 }, { "h", 3600000000000 }, { "d", 86400000000000 },
};

static const struct unit sizes[] = {
	{ "", 1 },
	{ "K", 1ull << 10 },
	{ "M", 1ull << 20 },
	{ "G", 1ull << 30 },
};

/* "20m" and the like, from 1 to max. fallback: the unit of a number alone. */
static int read_amount(uint64_t *value, const char *text, const struct unit *units, size_t n_units,
                       const char *fallback, uint64_t max)
{
	size_t len = strspn(text, "0123456789");
	const char *unit = text[len] ? text + len : fallback;
	_cleanup_free_ char *digits = xstrndup(text, len);
	unsigned long long number;

	if (!text_unsigned(digits, &number) || !number)
		return -EINVAL;
	for (size_t i = 0; i < n_units; i++) {
		if (strcasecmp(unit, units[i].name) != 0)
			continue;
		if (number > max / units[i].factor)
			return -ERANGE;
		*value = number * units[i].factor;
		return 0;
	}
	return -EINVAL;
}

static int read_time(uint64_t *ns, const char *text, const char *fallback)
{
	return read_amount(ns, text, times, ARRAY_SIZE(times), fallback, INT64_MAX);
}

/* The index of a word in a list of them, or -1. */
static int read_word(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, words[i]))
			return (int)i;
	return -1;
}

static int act_cpus(struct arguments *args, const char *value)
{
	args->cpus = value;
	return 0;
}

static int act_control(struct arguments *args, const char *value)
{
	args->control = value;
	return 0;
}

static int act_duration(struct arguments *args, const char *value)
{
	return read_time(&args->duration_ns, value, "s");
}

static int act_threshold(struct arguments *args, const char *value)
{
	args->threshold_ns = 0;
	return strcmp(value, "auto") != 0 ? read_time(&args->threshold_ns, value, "ns") : 0;
}

static int act_workload(struct arguments *args, const char *value)
{
	int word = read_word(value, workload_names, WORKLOADS);

	args->workload = (enum workload)word;
	return word < 0 ? -EINVAL : 0;
}

static int act_workload_mem(struct arguments *args, const char *value)
{
	return read_amount(&args->workload_size, value, sizes, ARRAY_SIZE(sizes), "", WORKLOAD_MAX);
}

static int act_priority(struct arguments *args, const char *value)
{
	unsigned long long number;

	if (!text_unsigned(value, &number) || number < 1 || number > 99)
		return -EINVAL;
	args->priority = (int)number;
	return 0;
}

static int act_gaps(struct arguments *args, const char *value)
{
	unsigned long long number;

	if (!text_unsigned(value, &number) || number > GAPS_MAX)
		return -EINVAL;
	args->n_gaps = (uint32_t)number;
	return 0;
}

static int act_causes(struct arguments *args, const char *value)
{
	int word = read_word(value, when_names, WHENS);

	args->causes = (enum when)word;
	return word < 0 ? -EINVAL : 0;
}

static int act_format(struct arguments *args, const char *value)
{
	int word = read_word(value, format_names, FORMATS);

	args->format = (enum format)word;
	return word < 0 ? -EINVAL : 0;
}

static int act_output(struct arguments *args, const char *value)
{
	args->output = value;
	return *value ? 0 : -EINVAL;
}

static int act_help(struct arguments *args, const char *value)
{
	(void)value;
	args->help = true;
	return 0;
}

static int act_version(struct arguments *args, const char *value)
{
	(void)value;
	args->version = true;
	return 0;
}

static const struct row {
	int letter;
	const char *name, *arg; /* arg NULL: takes none */
	int (*act)(struct arguments *args, const char *value);
	const char *takes; /* for messages */
	const char *help;
} rows[] = {
	{ 'c', "cpus", "LIST", act_cpus, "a CPU list",
	  "CPUs to measure, as 2-3,7 or isolated or siblings:3 (see chisol(1));\n"
	  "default: those that isolprobe was started on" },
	{ 'D', "duration", "TIME", act_duration, "a time from 1 ns to 106751d, as 30, 20m or 2h",
	  "how long, in s or with a unit: ms s m h d; default: 10 s" },
	{ 'T', "threshold", "TIME", act_threshold,
	  "auto, or a time from 1 ns to 106751d, as 700 or 1us",
	  "a gap as long or longer is a break, in ns or with a unit; default: auto, in\n"
	  "the valley between what the loop does by itself and what interrupts it" },
	{ 'w', "workload", "WORK", act_workload, "none or memmove",
	  "what the loop does besides: none (default) or memmove" },
	{ 'm', "workload-mem", "SIZE", act_workload_mem,
	  "a size from 1 to 1024G, as 512, 16K or 1M",
	  "memory that memmove copies, as 16K (default) or 1M" },
	{ 'f', "rtprio", "PRIO", act_priority, "a priority from 1 to 99",
	  "measure with SCHED_FIFO and this priority; default: the policy as it is" },
	{ 'C', "control", "LIST", act_control, "a CPU list",
	  "CPUs of the thread that controls the measurement, even if they are\n"
	  "measured, too; default: any that is neither measured nor a sibling" },
	{ 'n', "gaps", "N", act_gaps, "a number up to 10000000",
	  "gaps to keep of each CPU with time and length: the N worst and the N first\n"
	  "that are breaks; default: 100" },
	{ 'k', "causes", "WHEN", act_causes, "auto, off or require",
	  "tell the causes of gaps by the kernel's trace events: auto (default: if\n"
	  "permitted), off or require; opening the events interrupts all CPUs" },
	{ 'F', "format", "FORMAT", act_format, "text, json, oslat, oslat-json or sysjitter",
	  "text (default), json, oslat, oslat-json or sysjitter" },
	{ 'o', "output", "FILE", act_output, "a file name",
	  "write there, not to standard output; opened before the measurement" },
	{ 'h', "help", NULL, act_help, NULL, "print this" },
	{ 'V', "version", NULL, act_version, NULL, "print the version" },
};

static const struct row *row_of(int letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

/* What getopt_long() did not like about a word. */
static int trouble(const char *word, struct error *err)
{
	const struct row *row = row_of(optopt);
	_cleanup_free_ char *shown = NULL;

	if (row && row->arg)
		return error_set(err, EINVAL, "--%s needs a value: %s", row->name, row->takes);
	if (row)
		return error_set(err, EINVAL, "--%s takes no value", row->name);
	if (optopt) {
		char letter[] = { '-', (char)optopt, '\0' };

		shown = text_quote(letter);
	} else {
		shown = text_quote(word);
	}
	return error_set(err, EINVAL, "there is no option %s (or it is short for several)", shown);
}

int arguments_parse(struct arguments *args, int argc, char **argv, struct error *err)
{
	char letters[2 * ARRAY_SIZE(rows) + 2] = ":", *next = letters + 1;
	struct option longs[ARRAY_SIZE(rows) + 1] = { 0 };

	*args = (struct arguments){
		.argc = argc,
		.argv = argv,
		.duration_ns = 10000000000,
		.workload_size = 16 << 10,
		.n_gaps = 100,
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		longs[i] = (struct option){ rows[i].name,
			                    rows[i].arg ? required_argument : no_argument, NULL,
			                    rows[i].letter };
		*next++ = (char)rows[i].letter;
		if (rows[i].arg)
			*next++ = ':';
	}
	optind = 0; /* glibc: begin anew */
	opterr = 0;
	for (;;) {
		int at = optind ? optind : 1,
		    letter = getopt_long(argc, argv, letters, longs, NULL);
		const struct row *row = row_of(letter);
		_cleanup_free_ char *shown = NULL;

		if (letter < 0)
			break;
		if (!row)
			return trouble(argv[at], err);
		if (!row->act(args, optarg))
			continue;
		shown = text_quote(optarg);
		return error_set(err, EINVAL, "--%s cannot be %s: it takes %s", row->name, shown,
		                 row->takes);
	}
	if (optind < argc) {
		_cleanup_free_ char *shown = text_quote(argv[optind]);

		return error_set(err, EINVAL,
		                 "%s is no option, and isolprobe runs no command: chisol does",
		                 shown);
	}
	return 0;
}

void arguments_help(FILE *out)
{
	fputs("Usage: isolprobe [OPTION]...\n\n"
	      "Run a loop on CPUs and tell when, for how long and how it was interrupted.\n\n",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *name =
			xasprintf("--%s%s%s", rows[i].name, rows[i].arg ? " " : "",
		                  rows[i].arg ? rows[i].arg : "");

		fprintf(out, "  -%c, %-20s ", rows[i].letter, name);
		for (const char *p = rows[i].help; *p; p++) {
			fputc(*p, out);
			if (*p == '\n')
				fprintf(out, "%27s", "");
		}
		fputc('\n', out);
	}
	fputs("\nExit status: 0 measured, also when ended by SIGINT or SIGTERM; 1 not measured, or "
	      "not\nwritten; 2 measured, but the clock or a CPU did not hold still: the report says "
	      "what.\n",
	      out);
}
