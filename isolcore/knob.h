/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A knob is one changeable fact of the system: what it is called, where it is, what was found,
 * what is wanted, and what came of it.
 *
 * A knob_type says how to read, write and compare one kind of knob. It works from path and value
 * strings alone, because restoring starts from the journal, in a process that never saw the plan.
 * All values are text without newlines.
 */
#ifndef ISOLCORE_KNOB_H
#define ISOLCORE_KNOB_H

#include "reason.h"
#include "request.h"

struct facility;
struct knob;

enum knob_state {
	KNOB_PLANNED,     /* not tried yet */
	KNOB_GRANTED,     /* reads as wanted */
	KNOB_PENDING,     /* accepted, takes effect later */
	KNOB_REFUSED,     /* the kernel said no, or it reads otherwise */
	KNOB_EXPOSED,     /* nobody can change it at run time: the workload stays exposed to it */
	KNOB_UNAVAILABLE, /* this kernel or machine does not have it */
};

enum knob_observed {
	OBSERVED_NOT,     /* not looked at */
	OBSERVED_KEPT,    /* still as granted */
	OBSERVED_DRIFTED, /* changed during the run; knob->observed is what it was */
};

enum knob_restored {
	RESTORE_NONE,        /* nothing to put back */
	RESTORE_DONE,        /* put back and read back */
	RESTORE_FOREIGN,     /* somebody else changed it since: left alone */
	RESTORE_HANDED_OVER, /* another run holds it too and will put it back */
	RESTORE_GONE,        /* what it was about does not exist any more */
	RESTORE_FAILED,      /* see restore_detail */
};

struct knob_type {
	const char *name; /* in the journal: never changes its meaning */

	/* Reads the present value. -ENOENT: the object does not exist (any more). */
	int (*read)(const struct system *sys, const char *path, char **value, struct error *err);
	/*
	 * Makes the value so. Called for apply (wanted) and for restore (found). A value of NULL
	 * means that there was nothing: the object is to be removed; a type that cannot remove says
	 * -EINVAL. -ENXIO: it names CPUs that have all gone offline. The kernel has moved off them
	 * what was there, for good, so there is nothing to put back.
	 */
	int (*write)(const struct system *sys, const char *path, const char *value,
	             struct error *err);
	/* Do two values mean the same? NULL: equal strings. */
	bool (*same)(const char *a, const char *b);
	/* Does a value that is not the same still do what was wanted? NULL: no. */
	bool (*serves)(const char *value, const char *wanted);
	/*
	 * Optional: after a write (failed with write_error, or 0), or where none was needed
	 * (REASON_ALREADY) or possible (write_error says that the object is gone since the plan was
	 * made), and the read-back in knob->granted (NULL: unreadable), sets state, reason and
	 * detail where this type knows better than the engine, which has already set them to its
	 * own judgement.
	 */
	void (*judge)(const struct system *sys, struct knob *knob, const struct error *write_error);
	/* Optional: prints sh lines that write the value, for --dry-run=sh; NULL: as a file. */
	void (*shell)(FILE *out, const char *path, const char *value);
	/* It is about something that may end on its own, such as a thread: gone is no drift. */
	bool mortal;
	/* read() may wait for somebody else: not for the time while the command runs, when signals
	 * have to be passed on. */
	bool slow;
};

struct knob {
	const struct knob_type *type;
	const struct facility *facility;
	char *name;         /* stable, dotted: "irq.24.affinity" */
	char *path;         /* what the type works on, mostly a file; absolute, without ".." */
	char *found;        /* NULL: not there, or not readable */
	char *wanted;       /* NULL: nothing to write (an exposed or unavailable knob) */
	const char *why;    /* what it is for, half a sentence */
	const char *origin; /* who asked: "oslat.conf:12", "--set", "-c"; NULL: nobody by name.
	                       Borrowed from the request */
	char *remedy;       /* what a person can do when it is not granted; NULL: nothing more */
	enum policy policy;
	/* For a list of CPUs: as long as it has none of these, it counts as kept, whoever changed
	 * it. NULL: only as granted. Borrowed from the request. */
	const struct cpumask *avoid;
	bool fresh; /* lives in something that an earlier knob of the plan makes: found is
	               what it will be then, and is not read before */
	bool opens; /* without it, what comes after it in its directory is refused like it */

	enum knob_state state;
	const char *reason; /* REASON_ */
	char *detail;       /* one sentence, NULL: the reason says it all */
	char *granted;      /* read back after the write */
	enum knob_observed observed_state;
	char *observed; /* read again at exit, or when it first drifted */
	enum knob_restored restored;
	char *restore_detail;
	unsigned int seq; /* its number in the plan and the journal */
};

bool knob_same(const struct knob_type *type, const char *a, const char *b);
/* Sets the outcome; detail may be NULL, and is copied by format. */
void knob_judge(struct knob *knob, enum knob_state state, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
const char *knob_state_name(enum knob_state state); /* "granted", "refused", ... */
const char *knob_restored_name(enum knob_restored restored);
void knob_free(struct knob *knob); /* plan_free() calls it */

/* Every type there is, by name: what a journal may name. New types get a row in knob.c. */
const struct knob_type *knob_type_by_name(const char *name);

/* knob_file.c: a text file with one value, compared as text, number, or CPU list or mask. */
extern const struct knob_type knob_text_file;
extern const struct knob_type knob_number_file;
extern const struct knob_type knob_cpulist_file;
extern const struct knob_type knob_cpuhex_file;
/* What read, write and shell of a file do, for types that differ in one part only. */
int knob_file_read(const struct system *sys, const char *path, char **value, struct error *err);
int knob_file_write(const struct system *sys, const char *path, const char *value,
                    struct error *err);
void knob_file_shell(FILE *out, const char *path, const char *value);
bool knob_same_number(const char *a, const char *b);
bool knob_same_cpulist(const char *a, const char *b);
/* Prints a word for sh, in single quotes. */
void shell_quote(FILE *out, const char *word);

#endif
