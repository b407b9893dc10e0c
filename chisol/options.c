/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"

#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>

#include "../isolcore/profile.h"
#include "../isolcore/profile_keys.h"
#include "../isolcore/text.h"

/* Long options without a letter of their own. */
enum {
	OPT_KEEP_CAPS = 256,
	OPT_STATUS,
	OPT_FORGET,
	OPT_HOLD,
	OPT_ROOT,
};

#define ON(action) (1u << (action))
#define ON_RUN     ON(ACTION_RUN)
#define ON_PLAN    (ON(ACTION_RUN) | ON(ACTION_DRY_RUN) | ON(ACTION_CHECK))
#define ON_ALL     (~0u)

struct option_row {
	int letter; /* or OPT_ */
	const char *name;
	const char *arg;     /* as --help shows it; NULL: takes none; "[=...]": optional */
	const char *heading; /* of the group that it begins in --help */
	const char *help;    /* lines for --help */
	unsigned int with;   /* the actions that it goes with, ON() bits */
	enum action action;  /* instead of running a command; ACTION_RUN: it does not say */
	int (*act)(struct options *o, const char *arg, struct error *err);
	const char *key;              /* the profile key that it sets ... */
	const char *no_arg;           /* ... to this, if it takes no argument */
	const struct key_word *words; /* without a key: what may be written */
	bool late;                    /* act is called after the profiles have been read */
};

static int act_profile(struct options *o, const char *arg, struct error *err)
{
	return profile_load(&o->req, arg, err);
}

static int act_set(struct options *o, const char *arg, struct error *err)
{
	return profile_set(&o->req, arg, err);
}

static const struct key_word dry_run_words[] = {
	{ "text", DRY_RUN_TEXT },
	{ "json", DRY_RUN_JSON },
	{ "sh", DRY_RUN_SH },
	{ 0 },
};

static int act_dry_run(struct options *o, const char *arg, struct error *err)
{
	_cleanup_free_ char *shown = NULL;

	o->dry_run_format = DRY_RUN_TEXT;
	if (!arg)
		return 0;
	for (const struct key_word *w = dry_run_words; w->word; w++) {
		if (!strcmp(arg, w->word)) {
			o->dry_run_format = (enum dry_run_format)w->value;
			return 0;
		}
	}
	shown = text_quote(arg);
	return error_set(err, EINVAL,
	                 "--dry-run cannot be written as %s: it takes text, json or sh", shown);
}

void options_add_sink(struct options *o, struct report_sink sink)
{
	o->sinks = xgrow(o->sinks, o->n_sinks + 1, &o->sinks_room, sizeof(*o->sinks));
	o->sinks[o->n_sinks++] = sink;
}

static int act_report(struct options *o, const char *arg, struct error *err)
{
	struct report_sink sink = { .fd = -1 };
	int rc;

	rc = report_sink_parse(&sink, arg, err);
	if (rc)
		return error_prefix(err, "--report");
	options_add_sink(o, sink);
	return 0;
}

static const char *const fail_names[] = { "broken", "inconclusive", "drift" };

static int act_fail_on(struct options *o, const char *arg, struct error *err)
{
	for (const char *p = arg;; p++) {
		_cleanup_free_ char *word = xstrndup(p, strcspn(p, ",")), *shown = NULL;
		unsigned int i = 0;

		while (i < ARRAY_SIZE(fail_names) && strcmp(word, fail_names[i]) != 0)
			i++;
		if (i == ARRAY_SIZE(fail_names)) {
			shown = text_quote(word);
			return error_set(err, EINVAL,
			                 "--fail-on %s: it takes broken, inconclusive or drift, or "
			                 "several of them with commas between",
			                 shown);
		}
		o->fail_on |= 1u << i;
		p += strlen(word);
		if (!*p)
			return 0;
	}
}

static int act_root(struct options *o, const char *arg, struct error *err)
{
	(void)err;
	o->root = arg;
	return 0;
}

static int act_forget(struct options *o, const char *arg, struct error *err)
{
	(void)err;
	o->forget = arg;
	return 0;
}

static int act_verbose(struct options *o, const char *arg, struct error *err)
{
	(void)arg, (void)err;
	o->verbose = true;
	return 0;
}

static const struct option_row rows[] = {
	{ 'c', "cpus", "LIST", .with = ON_PLAN, .key = "cpus.workload",
	  .heading = "What to ask for",
	  .help = "CPUs of the command, as 2-3,7 or 0-31:2 or isolated,!4 or node:1;\n"
	          "default: the machine's isolated CPUs, or else those chisol may use" },
	{ 'q', "quiesce", "LIST", .with = ON_PLAN, .key = "task_isolation.quiesce",
	  .help = "kernel activities to quiesce: vmstat_sync" },
	{ 'I', "inherit", "LIST", .with = ON_PLAN, .key = "task_isolation.inherit",
	  .help = "what threads and children of the command start with:\n"
	          "conf (its configuration) or active (activated, too)" },
	{ 'a', "activate", NULL, .with = ON_PLAN, .key = "task_isolation.activate", .no_arg = "yes",
	  .help = "activate task isolation before the command starts (with -q)" },
	{ 'p', "profile", "NAME|FILE", .with = ON_PLAN | ON(ACTION_INFO), .act = act_profile,
	  .help = "settings from an INI profile, see chisol.conf(5);\n"
	          "may be repeated, later ones override" },
	{ 's', "set", "SECTION.KEY=VALUE", .with = ON_PLAN | ON(ACTION_INFO), .act = act_set,
	  .late = true, .help = "override one key of the profiles" },
	{ 'u', "user", "USER[:GROUP]", .with = ON_PLAN, .key = "user.user",
	  .help = "run the command as that user; @caller: who called sudo" },
	{ OPT_KEEP_CAPS, "keep-caps", "LIST", .with = ON_PLAN, .key = "user.keep_caps",
	  .help = "capabilities that the command keeps, as sys_nice,ipc_lock" },

	{ 'n', "dry-run", "[=FORMAT]", .with = ON_ALL, .action = ACTION_DRY_RUN, .act = act_dry_run,
	  .words = dry_run_words, .heading = "Instead of running a command",
	  .help = "print what would be changed, and change nothing;\n"
	          "as text, json, or sh (a script that does the same)" },
	{ 'C', "check", NULL, .with = ON_ALL, .action = ACTION_CHECK,
	  .help = "is the machine as asked? Exit status 0: yes, 1: no, 125: cannot tell" },
	{ OPT_STATUS, "status", NULL, .with = ON_ALL, .action = ACTION_STATUS,
	  .help = "list live and dead runs, and settings that drifted" },
	{ 'R', "restore", NULL, .with = ON_ALL, .action = ACTION_RESTORE,
	  .help = "put back what runs that were killed have left changed" },
	{ OPT_FORGET, "forget", "RUN", .with = ON_ALL, .action = ACTION_FORGET, .act = act_forget,
	  .help = "the same, and give up what of the dead run cannot be put back" },
	{ 'i', "info", NULL, .with = ON_ALL, .action = ACTION_INFO,
	  .help = "what this kernel and this machine offer" },
	{ OPT_HOLD, "hold-trace", NULL, .with = ON_ALL, .action = ACTION_HOLD,
	  .help = "keep the trace events enabled until SIGTERM, so that runs with --probe\n"
	          "do not make the kernel patch itself, which interrupts every CPU" },

	{ 'r', "report", "FORMAT[:FILE]", .with = ~(ON(ACTION_DRY_RUN) | ON(ACTION_HOLD)),
	  .act = act_report, .heading = "What to tell, and where",
	  .help = "text, json, jsonl (breaks as they are found) or oslat-json (of a command\n"
	          "that ticks), on standard error or in FILE; may be repeated;\n"
	          "with --check, --status, --restore and the like on standard output" },
	{ 'P', "probe", "[=MODE]", .with = ON_PLAN, .key = "probe.mode", .no_arg = "auto",
	  .help = "tell who broke the isolation, when and for how long: auto,\n"
	          "watch (by the kernel's trace events) or thread (in the command's\n"
	          "own process: needs no privilege, sees less)" },
	{ 'f', "fail-on", "LIST", .with = ON_RUN, .act = act_fail_on,
	  .help = "though the command exited 0, exit with 120 if isolation was broken,\n"
	          "121 if inconclusive, 122 on drift (a setting did not last)" },
	{ OPT_ROOT, "root", "DIR", .with = ON(ACTION_DRY_RUN) | ON(ACTION_CHECK) | ON(ACTION_INFO),
	  .act = act_root, .help = "look at a recorded /proc and /sys under DIR instead" },
	{ 'v', "verbose", NULL, .with = ON_RUN, .act = act_verbose,
	  .help = "report every setting, not only those that need attention" },
	{ 'h', "help", NULL, .with = ON_ALL, .action = ACTION_HELP, .help = "print this" },
	{ 'V', "version", NULL, .with = ON_ALL, .action = ACTION_VERSION,
	  .help = "print the version" },
};

/* The options as they were used, in their order. */
struct use {
	const struct option_row *row;
	const char *arg;
};

struct uses {
	struct use *list;
	size_t n, room;
};

static void free_uses(struct uses *uses)
{
	free(uses->list);
}

static bool takes_optional(const struct option_row *row)
{
	return row->arg && row->arg[0] == '[';
}

/* "-c" or "--root": how messages call an option. */
static char *option_name(const struct option_row *row)
{
	return row->letter < OPT_KEEP_CAPS ? xasprintf("-%c", row->letter)
	                                   : xasprintf("--%s", row->name);
}

static const struct option_row *row_of_letter(int letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

static void make_getopt_tables(char *letters, struct option *longs)
{
	*letters++ = '+'; /* the command's own options are none of ours */
	*letters++ = ':';
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct option_row *row = &rows[i];

		longs[i] = (struct option){ row->name, no_argument, NULL, row->letter };
		if (row->arg)
			longs[i].has_arg =
				takes_optional(row) ? optional_argument : required_argument;
		if (row->letter >= OPT_KEEP_CAPS)
			continue;
		*letters++ = (char)row->letter;
		/* A letter takes no optional argument: "-nc2" is -n and -c 2. */
		if (row->arg && !takes_optional(row))
			*letters++ = ':';
	}
	*letters = '\0';
	longs[ARRAY_SIZE(rows)] = (struct option){ 0 };
}

/* The letter optopt of a word as "-vx" is none of ours. "-P=thread" and "-Pthread" are what
 * somebody writes who has read "-P, --probe[=MODE]". */
static int letter_trouble(const char *given, struct error *err)
{
	char letter[] = { '-', (char)optopt, '\0' };
	_cleanup_free_ char *shown = text_quote(letter);
	const char *at = given + 1 + strcspn(given + 1, letter + 1);
	const struct option_row *before = at > given + 1 ? row_of_letter(at[-1]) : NULL;
	_cleanup_free_ char *value = text_quote(at + strspn(at, "="));

	error_set(err, EINVAL, "there is no option %s", shown);
	if (before && takes_optional(before))
		error_append(err, "; a value of -%c is written --%s=%s", before->letter,
		             before->name, value);
	return -EINVAL;
}

/* getopt_long() returned ':' or '?'; tells why. given: the word that it looked at. */
static int getopt_trouble(int what, const char *given, struct error *err)
{
	const struct option_row *row = row_of_letter(optopt);
	_cleanup_free_ char *word = NULL, *shown = NULL;
	struct nearest near = { 0 };

	if (row) {
		shown = option_name(row);
		if (what == ':')
			return error_set(err, EINVAL, "%s needs a value: --%s %s", shown, row->name,
			                 row->arg);
		return error_set(err, EINVAL, "--%s takes no value", row->name);
	}
	if (optopt)
		return letter_trouble(given, err);
	word = xstrndup(given + 2, strcspn(given + 2, "="));
	near.word = word;
	shown = text_quote(given);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (*word && !strncmp(rows[i].name, word, strlen(word)))
			return error_set(err, EINVAL,
			                 "option %s could be --%s or another: write "
			                 "more of it",
			                 shown, rows[i].name);
		nearest_try(&near, rows[i].name);
	}
	error_set(err, EINVAL, "there is no option %s", shown);
	if (nearest_word(&near))
		error_append(err, "; did you mean --%s?", near.best);
	return -EINVAL;
}

static int take_action(struct options *o, const struct option_row *row,
                       const struct option_row **said, struct error *err)
{
	if (*said && (*said)->action != row->action)
		return error_set(err, EINVAL, "--%s and --%s contradict each other", (*said)->name,
		                 row->name);
	*said = row;
	o->action = row->action;
	return 0;
}

static const struct option_row *action_row(enum action action)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].action == action)
			return &rows[i];
	return NULL;
}

/* "-I oslat.conf" is what somebody writes who wants -p. */
static int check_inherit_value(const struct option_row *row, const char *arg, struct error *err)
{
	_cleanup_free_ char *shown = NULL;

	if (row->letter != 'I' || (!strpbrk(arg, "/.") && access(arg, F_OK) != 0) ||
	    !strcmp(arg, "conf") || !strcmp(arg, "active"))
		return 0;
	shown = text_quote(arg);
	return error_set(err, EINVAL,
	                 "-I %s looks like a file, but -I says what threads inherit: conf or "
	                 "active; did you mean --profile (-p)?",
	                 shown);
}

static unsigned int key_index(const struct option_row *row)
{
	_cleanup_free_ char *section = xstrndup(row->key, strcspn(row->key, "."));

	return (unsigned int)profile_key_index(section, row->key + strlen(section) + 1);
}

/* Sets the profile key that an option stands for. */
static int apply_key(struct options *o, const struct option_row *row, const char *arg,
                     struct error *err)
{
	_cleanup_free_ char *name = option_name(row);
	unsigned int index = key_index(row);
	enum given given = o->req.origins[index].given;
	int rc = check_inherit_value(row, arg, err);

	if (rc)
		return rc;
	if (!*arg)
		return error_set(err, EINVAL, "%s needs a value: --%s %s", name, row->name,
		                 row->arg);
	if (given == GIVEN_SET)
		return error_set(err, EINVAL, "%s and --set %s contradict each other: give one",
		                 name, row->key);
	rc = profile_key_set(&o->req, index, arg, GIVEN_OPTION, name, given == GIVEN_OPTION, err);
	return rc ? error_prefix(err, "%s", name) : 0;
}

/* The order in which options take effect, whatever their order on the command line. */
enum pass {
	PASS_PROFILES,
	PASS_SETS,
	PASS_KEYS,
	N_PASSES,
};

static enum pass pass_of(const struct option_row *row)
{
	if (row->key)
		return PASS_KEYS;
	return row->late ? PASS_SETS : PASS_PROFILES;
}

static int apply_uses(struct options *o, const struct uses *uses, bool *usage, struct error *err)
{
	for (enum pass pass = PASS_PROFILES; pass < N_PASSES; pass++) {
		for (size_t i = 0; i < uses->n; i++) {
			const struct option_row *row = uses->list[i].row;
			const char *arg = uses->list[i].arg;
			int rc = 0;

			if (pass_of(row) != pass)
				continue;
			*usage = row->act != act_profile;
			if (row->key)
				rc = apply_key(o, row, arg ? arg : row->no_arg, err);
			else if (row->act)
				rc = row->act(o, arg, err);
			if (rc)
				return rc;
		}
	}
	*usage = true;
	return 0;
}

static int check_uses(const struct options *o, const struct uses *uses, struct error *err)
{
	for (size_t i = 0; i < uses->n; i++) {
		_cleanup_free_ char *name = option_name(uses->list[i].row);

		if (uses->list[i].row->with & ON(o->action))
			continue;
		if (o->action == ACTION_RUN)
			return error_set(
				err, EINVAL,
				"%s is for --dry-run, --check and --info: a command runs on "
				"the live machine",
				name);
		return error_set(err, EINVAL, "%s does not go with --%s", name,
		                 action_row(o->action)->name);
	}
	return 0;
}

/* "--probe thread ./app" is what somebody writes who means --probe=thread. */
static int check_first_word(const struct options *o, const struct uses *uses, struct error *err)
{
	const char *word = o->req.argv[0];
	const struct use *last = uses->n ? &uses->list[uses->n - 1] : NULL;
	const struct key_word *words;
	_cleanup_free_ char *file = NULL;

	if (!word || !last || !takes_optional(last->row) || last->arg ||
	    !strcmp(o->req.argv[-1], "--"))
		return 0;
	words = last->row->key ? profile_keys[key_index(last->row)].words : last->row->words;
	while (words->word && strcmp(words->word, word) != 0)
		words++;
	file = words->word ? command_find(word, F_OK) : NULL;
	if (!words->word || file)
		return 0;
	return error_set(err, EINVAL,
	                 "there is no command \"%s\"; did you mean --%s=%s? A value that may be "
	                 "left out needs the \"=\"",
	                 word, last->row->name, word);
}

static int check_command(const struct options *o, const struct uses *uses, struct error *err)
{
	bool has_command = o->req.argv[0];
	_cleanup_free_ char *shown = NULL;

	if (o->action == ACTION_RUN && !has_command)
		return error_set(err, EINVAL, "there is no command to run");
	if (!has_command || ON(o->action) & ON_PLAN)
		return check_first_word(o, uses, err);
	shown = text_quote(o->req.argv[0]);
	return error_set(err, EINVAL, "--%s takes no command, but there is %s",
	                 action_row(o->action)->name, shown);
}

/* What is printed instead of running a command has one form and goes to standard output. */
static int check_sinks(const struct options *o, struct error *err)
{
	if (o->action == ACTION_RUN || !o->n_sinks ||
	    (o->n_sinks == 1 && !o->sinks[0].path && o->sinks[0].format <= REPORT_JSON))
		return 0;
	return error_set(err, EINVAL,
	                 "--%s prints one report on standard output: --report takes text or json "
	                 "with it, and no FILE",
	                 action_row(o->action)->name);
}

static int collect(struct options *o, int argc, char **argv, struct uses *uses, struct error *err)
{
	char letters[2 * ARRAY_SIZE(rows) + 3];
	struct option longs[ARRAY_SIZE(rows) + 1];
	const struct option_row *action = NULL;

	make_getopt_tables(letters, longs);
	optind = 0; /* glibc: begin anew */
	opterr = 0;
	for (;;) {
		int at = optind ? optind : 1;
		int letter = getopt_long(argc, argv, letters, longs, NULL);
		const struct option_row *row;
		int rc;

		if (letter < 0)
			break;
		if (letter == '?' || letter == ':')
			return getopt_trouble(letter, argv[at], err);
		row = row_of_letter(letter);
		uses->list = xgrow(uses->list, uses->n + 1, &uses->room, sizeof(*uses->list));
		uses->list[uses->n++] = (struct use){ row, optarg };
		if (row->action == ACTION_RUN)
			continue;
		if (row->action >= ACTION_HELP) { /* whatever else is said */
			o->action = row->action;
			return 0;
		}
		rc = take_action(o, row, &action, err);
		if (rc)
			return rc;
	}
	o->req.argv = argv + optind;
	return 0;
}

int options_parse(struct options *o, int argc, char **argv, bool *usage, struct error *err)
{
	_cleanup_(free_uses) struct uses uses = { 0 };
	bool at_fault = true;
	int rc;

	*o = (struct options){ .root = "/" };
	request_init(&o->req);
	o->req.argv = argv + argc;
	rc = collect(o, argc, argv, &uses, err);
	if (!rc && o->action < ACTION_HELP)
		rc = check_uses(o, &uses, err);
	if (!rc && o->action < ACTION_HELP)
		rc = apply_uses(o, &uses, &at_fault, err);
	if (!rc && o->action < ACTION_HELP)
		rc = check_command(o, &uses, err);
	if (!rc && o->action < ACTION_HELP)
		rc = check_sinks(o, err);
	if (usage)
		*usage = at_fault;
	return rc;
}

void options_free(struct options *o)
{
	for (size_t i = 0; i < o->n_sinks; i++)
		report_sink_close(&o->sinks[i]);
	free(o->sinks);
	request_free(&o->req);
	*o = (struct options){ 0 };
}

#define HELP_COLUMN 28

static void print_row(const struct option_row *row, FILE *out)
{
	int width = row->letter < OPT_KEEP_CAPS ? fprintf(out, " -%c, ", row->letter)
	                                        : fprintf(out, "     ");

	width += fprintf(out, "--%s%s%s", row->name, row->arg && !takes_optional(row) ? " " : "",
	                 row->arg ? row->arg : "");
	for (const char *line = row->help; line;) {
		const char *end = strchrnul(line, '\n');

		if (width >= HELP_COLUMN) {
			fputc('\n', out);
			width = 0;
		}
		fprintf(out, "%*s%.*s\n", HELP_COLUMN - width, "", (int)(end - line), line);
		width = 0;
		line = *end ? end + 1 : NULL;
	}
}

void options_print_help(FILE *out)
{
	fputs("\nUsage:\n"
	      " chisol [options] [--] COMMAND [ARGUMENT...]\n"
	      " chisol --dry-run|--check [options] [COMMAND [ARGUMENT...]]\n"
	      " chisol --status|--restore|--forget RUN|--info|--hold-trace\n"
	      "\n"
	      "Run a command on CPUs that the rest of the machine keeps off, say what was granted,\n"
	      "and put everything back afterwards.\n",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].heading)
			fprintf(out, "\n%s:\n", rows[i].heading);
		print_row(&rows[i], out);
	}
	fputs("\n"
	      "Settings of the whole machine come from a profile only. The exit status is the\n"
	      "command's own; 125: chisol failed and nothing stays changed; 126: the command cannot\n"
	      "be executed; 127: there is no such command.\n"
	      "\n"
	      "For more details see chisol(1) and chisol.conf(5).\n",
	      out);
}

void options_print_version(FILE *out)
{
	fprintf(out, "chisol %s\n", CHISOL_VERSION);
}
