/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record_keep.h"

#include "tick_slot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 8u
#endif

static int make_memfd(struct error *err)
{
	const char *name = "chisol-record";
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? error_errno(err, errno, "cannot make memory to share with the command")
	              : fd;
}

int record_make(struct record_keep *keep, struct error *err)
{
	_cleanup_close_ int fd = make_memfd(err);
	void *memory;

	if (fd < 0)
		return fd;
	if (ftruncate(fd, RECORD_SIZE) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return error_errno(err, errno, "cannot size the memory to share with the command");
	memory = mmap(NULL, RECORD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return error_errno(err, errno, "cannot map the memory to share with the command");
	keep->record = memory;
	keep->record->head = (struct record_head){ .magic = RECORD_MAGIC,
		                                   .size = RECORD_SIZE,
		                                   .version = RECORD_VERSION };
	keep->fd = take_fd(&fd);
	return 0;
}

void record_drop(struct record_keep *keep)
{
	if (!keep->record)
		return;
	munmap(keep->record, RECORD_SIZE);
	close(keep->fd);
	*keep = (struct record_keep)RECORD_KEEP_INIT;
}

void record_order_cpus(struct record_cpus *cpus, const struct cpumask *mask)
{
	cpumask_for_each (cpu, mask) {
		cpus->words[cpu / 64] |= 1ull << cpu % 64;
		cpus->n_words = (uint32_t)cpu / 64 + 1;
	}
}

/* memcpy() of what changes meanwhile may mix old and new, and is bounded all the same. */
void record_read_head(const struct record_keep *keep, struct record_head *head)
{
	memcpy(head, &keep->record->head, sizeof(*head));
	if (head->state > RECORD_ATTACHED)
		head->state = RECORD_REFUSED;
}

#define END_STRING(s) ((s)[sizeof(s) - 1] = '\0')

void record_read_handing(const struct record_keep *keep, struct record_handing *handing)
{
	memcpy(handing, &keep->record->handing, sizeof(*handing));
	END_STRING(handing->file);
	if (handing->outcome >= RECORD_HANDED_KINDS)
		handing->outcome = RECORD_NOT_HANDED;
}

void record_read_library(const struct record_keep *keep, struct record_library *library)
{
	memcpy(library, &keep->record->library, sizeof(*library));
	END_STRING(library->version);
	if (library->how > RECORD_LINKED)
		library->how = RECORD_LINKED;
	if (library->follower > RECORD_WITHDRAWN)
		library->follower = RECORD_NO_FOLLOWER;
}

void record_read_folded(const struct record_keep *keep, struct record_folded *folded)
{
	memcpy(folded, &keep->record->folded, sizeof(*folded));
}

/* Not more than there were since the copy's begin: what counts backwards counts nothing. */
static void bound_counts(struct record_counts *base, const struct record_counts *now)
{
	uint64_t *from = (uint64_t *)base;
	const uint64_t *to = (const uint64_t *)now;

	for (size_t i = 0; i < sizeof(*base) / sizeof(*from); i++)
		if (from[i] > to[i])
			from[i] = to[i];
}

struct record_thread *record_read_threads(const struct record_keep *keep, size_t *n)
{
	struct record_thread *threads = xcalloc(RECORD_THREADS, sizeof(*threads));

	*n = 0;
	for (size_t i = 0; i < RECORD_THREADS; i++) {
		struct record_thread *t = &threads[*n];

		memcpy(t, &keep->record->threads[i], sizeof(*t));
		if (!t->tid)
			continue;
		END_STRING(t->name);
		if (t->isolation > RECORD_ISOL_REFUSED)
			t->isolation = RECORD_ISOL_NOT_ASKED;
		if (t->isol_errno > 4095) /* MAX_ERRNO */
			t->isol_errno = EINVAL;
		bound_counts(&t->base, &t->now);
		++*n;
	}
	return threads;
}

struct record_call *record_read_calls(const struct record_keep *keep, size_t *n)
{
	struct record_call *calls = xcalloc(RECORD_CALLS, sizeof(*calls));

	*n = 0;
	for (size_t i = 0; i < RECORD_CALLS; i++) {
		struct record_call *call = &calls[*n];

		memcpy(call, &keep->record->calls[i], sizeof(*call));
		if (!call->site || !call->n || !call->kind || call->kind >= RECORD_CALL_KINDS)
			continue;
		END_STRING(call->object);
		END_STRING(call->symbol);
		++*n;
	}
	return calls;
}
