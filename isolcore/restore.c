/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "restore.h"

#include "holders.h"
#include "state.h"

#include <errno.h>

struct attempt {
	enum knob_restored restored;
	char *detail;
	char *left; /* how it reads, where putting it back failed */
};

/*
 * Every run above that found what this one made gets what this one found. Those are the next one
 * and, as long as a run did not get what it wanted and left the knob as it was, the ones after it.
 */
static enum knob_restored hand_over(const struct journal_record *record, const struct holder *above,
                                    size_t n, const struct system *sys, char **detail)
{
	const struct knob_type *type = record->type;
	_cleanup_error_ struct error error = ERROR_INIT;

	for (size_t i = 0; i < n; i++, above++) {
		bool refused = above->record->left &&
		               knob_same(type, above->record->left, above->record->found);

		if (!knob_same(type, above->record->found, record->found)) {
			if (!knob_same(type, above->record->found, journal_made(record))) {
				if (i)
					break;
				*detail =
					xasprintf("run %s found \"%s\" there", above->run->run_id,
				                  above->record->found ? above->record->found : "");
				return RESTORE_FOREIGN;
			}
			if (journal_open(above->run, sys, &error) ||
			    journal_amend_found(above->run, above->record->seq, record->found,
			                        &error)) {
				*detail = xstrdup(error.text);
				return RESTORE_FAILED;
			}
		}
		if (!refused)
			break;
	}
	return RESTORE_HANDED_OVER;
}

/*
 * Something of /proc or /sys is gone if what is left of its path is still a file system of the
 * kernel. Under a tmpfs, as containers have them over /proc/irq or /sys/fs/cgroup, it is only out
 * of sight, and its value is what the run made it.
 */
static bool is_out_of_sight(const struct system *sys, const char *path)
{
	_cleanup_free_ char *part = xstrdup(path);
	int rc = -ENOENT;

	if (!sys->root.live || (strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0))
		return false;
	for (char *slash; rc < 0 && (slash = strrchr(part, '/')) && slash > part;) {
		*slash = '\0';
		rc = sysroot_is_kernels(&sys->root, part);
	}
	return rc != 1;
}

static enum knob_restored judge_absent(const struct journal_record *record,
                                       const struct system *sys, enum knob_restored if_nothing,
                                       char **detail)
{
	if (is_out_of_sight(sys, record->path)) {
		*detail = xasprintf("%s cannot be seen from here, as from within a container",
		                    record->path);
		return RESTORE_FAILED;
	}
	return record->found ? RESTORE_GONE : if_nothing;
}

static enum knob_restored write_back(const struct journal_record *record, const struct system *sys,
                                     struct attempt *attempt)
{
	const struct knob_type *type = record->type;
	_cleanup_error_ struct error write_error = ERROR_INIT, read_error = ERROR_INIT;
	_cleanup_free_ char *now = NULL;
	int rc;

	type->write(sys, record->path, record->found, &write_error);
	rc = type->read(sys, record->path, &now, &read_error);
	if (errno_is_absent(-rc))
		return judge_absent(record, sys, RESTORE_DONE, &attempt->detail);
	if (!rc && knob_same(type, now, record->found))
		return RESTORE_DONE;
	if (write_error.err == ENXIO) {
		attempt->detail = xstrdup(write_error.text);
		return RESTORE_GONE;
	}
	if (write_error.err)
		attempt->detail = xstrdup(write_error.text);
	else if (rc)
		attempt->detail = xstrdup(read_error.text);
	else
		attempt->detail = xasprintf("\"%s\" was written to %s, and it reads \"%s\"",
		                            record->found ? record->found : "", record->path, now);
	xreplace(&attempt->left, now);
	return RESTORE_FAILED;
}

/* The run died between its write and the note of what the kernel made of it: what is neither found
 * nor wanted is not known to be anybody else's. */
static bool is_in_flight(const struct journal *j, const struct journal_record *record)
{
	return j->in_flight && j->in_flight_seq == record->seq;
}

static enum knob_restored compare_and_swap(const struct journal_record *record, bool in_flight,
                                           const struct system *sys, struct attempt *attempt)
{
	const struct knob_type *type = record->type;
	_cleanup_error_ struct error error = ERROR_INIT;
	_cleanup_free_ char *now = NULL;
	int rc = type->read(sys, record->path, &now, &error);

	if (errno_is_absent(-rc))
		return judge_absent(record, sys, RESTORE_NONE, &attempt->detail);
	if (rc) {
		attempt->detail = xstrdup(error.text);
		return RESTORE_FAILED;
	}
	if (knob_same(type, now, record->found))
		return RESTORE_NONE;
	if (in_flight || knob_same(type, now, journal_made(record)) ||
	    knob_same(type, now, record->wanted) ||
	    (attempt->left && knob_same(type, now, attempt->left)))
		return write_back(record, sys, attempt);
	attempt->detail = xasprintf(
		"%s reads \"%s\", neither what the run wrote (\"%s\") nor what it "
		"found (\"%s\")",
		record->path, now, journal_made(record), record->found ? record->found : "");
	return RESTORE_FOREIGN;
}

/*
 * Twice, as what fails the first time may depend on what comes after it: a value in a group that
 * is removed later is gone with it.
 */
static void restore_records(struct journal *self, struct run_list *list, const struct system *sys,
                            struct attempt *attempts)
{
	_cleanup_holders_ struct holders holders = HOLDERS_INIT;

	holders_above(&holders, self, list);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = self->n_records; i-- > 0;) {
			const struct journal_record *record = &self->records[i];
			const struct holder *above;
			size_t n = holders_of(&holders, record, &above);

			if (pass && attempts[i].restored != RESTORE_FAILED)
				continue;
			xreplace(&attempts[i].detail, NULL);
			attempts[i].restored =
				n ? hand_over(record, above, n, sys, &attempts[i].detail)
				  : compare_and_swap(record, is_in_flight(self, record), sys,
			                             &attempts[i]);
		}
	}
}

int run_forget(const struct journal *j, const struct system *sys, struct error *err)
{
	_cleanup_close_ int dir = state_open(&sys->root, err);
	_cleanup_free_ char *kept = xasprintf("%s.forgotten", j->run_id);

	if (dir < 0)
		return dir;
	if (renameat(dir, strrchr(j->path, '/') + 1, dir, kept))
		return error_errno(err, errno, "cannot rename %s to %s", j->path, kept);
	return 0;
}

static int remove_file(const struct sysroot *root, const char *path, struct error *err)
{
	_cleanup_close_ int dir = state_open(root, err);

	if (dir < 0)
		return dir;
	if (unlinkat(dir, strrchr(path, '/') + 1, 0) && errno != ENOENT)
		return error_errno(err, errno, "cannot remove %s", path);
	return 0;
}

/* What other runs were handed must be on disk before this run's record of it goes. */
static int sync_amended(struct run_list *list, const struct journal *self, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < list->n; i++)
		if (&list->runs[i] != self && list->runs[i].fd >= 0)
			rc = journal_sync(&list->runs[i], err);
	return rc;
}

/*
 * What is back is no longer the run's, whatever it reads the next time; and what a failed attempt
 * made of a setting is. Where that cannot be noted, the next attempt goes by what there was.
 */
static void keep_failed(struct journal *self, const struct system *sys,
                        const struct attempt *attempts)
{
	int rc = journal_open(self, sys, NULL);

	for (size_t i = self->n_records; !rc && i-- > 0;) {
		const struct journal_record *record = &self->records[i];

		if (attempts[i].restored != RESTORE_FAILED)
			rc = journal_note_restored(self, record->seq, NULL);
		else if (attempts[i].left && strcmp(attempts[i].left, journal_made(record)) != 0)
			rc = journal_amend_left(self, record->seq, attempts[i].left, NULL);
	}
	if (!rc)
		journal_sync(self, NULL);
}

/* self is an element of the list, or the caller's own run. */
static int restore(struct journal *self, struct run_list *list, const struct system *sys,
                   restore_outcome_fn *outcome, void *ctx, struct error *err)
{
	size_t n = self->n_records;
	struct attempt *attempts = xcalloc(n, sizeof(*attempts));
	int rc = 0, failed = 0;

	restore_records(self, list, sys, attempts);
	for (size_t i = self->n_records; i-- > 0;) {
		const struct journal_record *record = &self->records[i];

		if (outcome)
			outcome(ctx, self, record, attempts[i].restored, attempts[i].detail);
		if (attempts[i].restored == RESTORE_FAILED && !failed)
			failed = error_set(err, EIO, "cannot put %s back to \"%s\": %s",
			                   record->name, record->found ? record->found : "",
			                   attempts[i].detail);
	}
	rc = sync_amended(list, self, failed ? NULL : err);
	if (!rc && failed)
		keep_failed(self, sys, attempts);
	for (size_t i = 0; i < n; i++) {
		free(attempts[i].detail);
		free(attempts[i].left);
	}
	free(attempts);
	if (failed || rc)
		return failed ? failed : rc;
	return remove_file(&sys->root, self->path, err);
}

/* The dead runs of this boot above the given order, the youngest first. They leave the list. */
static int restore_dead_above(struct run_list *list, unsigned long long order,
                              const struct system *sys, restore_outcome_fn *outcome, void *ctx,
                              struct error *err)
{
	int first = 0;

	for (size_t i = list->n; i-- > 0 && list->runs[i].order > order;) {
		struct journal *run = &list->runs[i];
		int rc;

		if (run_state(run, sys) != RUN_DEAD)
			continue;
		rc = restore(run, list, sys, outcome, ctx, first ? NULL : err);
		if (rc) {
			first = first ? first : rc;
			continue;
		}
		journal_free(run);
		memmove(run, run + 1, (--list->n - i) * sizeof(*run));
	}
	return first;
}

int run_restore(struct journal *j, const struct system *sys, restore_outcome_fn *outcome, void *ctx,
                struct error *err)
{
	_cleanup_run_list_ struct run_list list = RUN_LIST_INIT;
	_cleanup_journal_ struct journal now = JOURNAL_INIT;
	int rc = run_list_load(&list, sys, j, err);

	if (rc)
		return rc;
	/* A run that died on top of this one has to go first; it is told of by --restore, and what
	 * fails stays in its journal. */
	restore_dead_above(&list, j->order, sys, NULL, NULL, NULL);
	/* Somebody may have spoilt the file; what this process knows of it is the next best. */
	rc = journal_reload(&now, j, sys, NULL);
	return restore(rc ? j : &now, &list, sys, outcome, ctx, err);
}

/* The temporary name of a journal is only there while its writer holds the lock. */
static int remove_unfinished(const struct system *sys, struct error *err)
{
	_cleanup_namelist_ struct namelist names = NAMELIST_INIT;
	_cleanup_free_ char *dir = state_dir(&sys->root);
	int rc = sysroot_list(&sys->root, dir, &names, err);

	for (size_t i = 0; !rc && i < names.n; i++) {
		const char *dot = strrchr(names.names[i], '.');
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, names.names[i]);

		if (dot && !strcmp(dot, ".tmp"))
			rc = remove_file(&sys->root, path, err);
	}
	return rc;
}

int run_restore_dead(const struct system *sys, restore_outcome_fn *outcome, void *ctx,
                     struct error *err)
{
	_cleanup_run_list_ struct run_list list = RUN_LIST_INIT;
	int rc = remove_unfinished(sys, err);

	if (!rc)
		rc = run_list_load(&list, sys, NULL, err);
	/* What of the others' is its own, and what is above or below, is not known. */
	if (!rc && list.bad_live)
		rc = error_set(err, EBUSY,
		               "%s; but its run is live, so nothing is changed or put back until "
		               "it has ended",
		               list.bad_live);
	for (size_t i = 0; !rc && i < list.n; i++)
		if (run_state(&list.runs[i], sys) == RUN_OTHER_BOOT)
			rc = remove_file(&sys->root, list.runs[i].path, err);
	return rc ? rc : restore_dead_above(&list, 0, sys, outcome, ctx, err);
}
