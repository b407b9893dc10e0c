/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys of a profile, one row each: what may be written, what it drives, where it goes in struct
 * request. The reader, --set, the options, the defaults and the test of chisol.conf(5) use the
 * same rows. A new key is one row here and one item in the manual page.
 */
#ifndef ISOLCORE_PROFILE_KEYS_H
#define ISOLCORE_PROFILE_KEYS_H

#include "request.h"

enum key_type {
	KEY_WORD,   /* one of words, an int-sized enum */
	KEY_WORDS,  /* some of words, comma-separated, or-ed together in an unsigned int */
	KEY_BOOL,   /* yes or no, a bool */
	KEY_NUMBER, /* from min to max, an unsigned int */
	KEY_TEXT,   /* a char *; an empty value is NULL */
	KEY_CPUS,   /* the same, and request_resolve() reads it with cpulist_parse() */
};

struct key_word {
	const char *word;
	unsigned int value;
};

struct profile_key {
	const char *section, *name;
	enum key_type type;
	const struct key_word *words; /* ends with a NULL word */
	unsigned int min, max;
	const char *range_why;    /* why a number outside is refused */
	const char *default_text; /* as it would be written; NULL: not set */
	const char *file;         /* what it drives; NULL: nothing of the kernel's */
	const char *since;        /* what it needs, as "Linux 4.7"; NULL: nothing special */
	const char *help;
	/* KEY_TEXT: -EINVAL with a sentence if it cannot be this text; NULL: it can be any. */
	int (*check)(const char *value, struct error *err);
	size_t offset; /* in struct request */
};

/* Ends with a NULL section. The rows of a section stand together, "policy" first. */
extern const struct profile_key profile_keys[];
extern const unsigned int n_profile_keys;

struct profile_section {
	const char *name;
	bool supported;          /* false: the name is kept for a later version */
	bool machine;            /* may change settings beyond the process itself */
	bool needs_housekeeping; /* moves other work to the housekeeping CPUs */
	bool must;               /* asked for, it is always required: "try" is refused */
	size_t policy;           /* offset of its enum policy; [profile]'s is the default for all */
};

/* Ends with a NULL name. */
extern const struct profile_section profile_sections[];

const struct profile_section *profile_section_find(const char *name);
/* -1: no such key. */
int profile_key_index(const char *section, const char *name);

/* "yes, no or auto", "1 to 2147483": what may be written, if it is words or a number. The caller
 * frees it. */
char *profile_key_range(const struct profile_key *key);

/*
 * Checks a value and puts it into the request, with its origin. more: the words of a KEY_WORDS are
 * added to those that are there. -EINVAL with a sentence that shows the value and what may be
 * written.
 */
int profile_key_set(struct request *req, unsigned int index, const char *value, enum given given,
                    const char *origin, bool more, struct error *err);

#endif
