/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "attach.h"
#include "monotonic.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Exported: the way to a record that another copy of this library in the same process has, and to
 * its slots. */
struct record *isolprobe_record_(void);
void *isolprobe_slot_(unsigned int i);

/* A program that is linked statically may not have it. */
#pragma weak dlsym

struct attachment {
	struct record *record;
	void *anchors[RECORD_TICKS]; /* the first page of each slot */
	struct tick_slot *(*slot)(unsigned int i);
};

static struct attachment *attachment; /* a page that is empty in children */

struct record *attached_record(void)
{
	struct attachment *a = __atomic_load_n(&attachment, __ATOMIC_ACQUIRE);

	return a ? __atomic_load_n(&a->record, __ATOMIC_RELAXED) : NULL;
}

struct record *isolprobe_record_(void)
{
	return attached_record();
}

/* A mapping of no length is doubled by mremap(2), and may become longer on the way. The system call
 * itself, as the function may be one that counts the program's calls. */
static struct tick_slot *map_slot(unsigned int i)
{
	long slot = -1;

	if (attachment->anchors[i])
		slot = syscall(SYS_mremap, attachment->anchors[i], 0, TICK_SLOT_SIZE,
		               MREMAP_MAYMOVE, 0);
	return slot == -1 ? NULL : (struct tick_slot *)slot;
}

struct tick_slot *attached_slot(unsigned int i)
{
	return attached_record() ? attachment->slot(i) : NULL;
}

void *isolprobe_slot_(unsigned int i)
{
	return attached_slot(i);
}

/*
 * The environment is changed here, without the C library: a program may have functions of its own
 * with the names of those (bash has), which are not ready before its main().
 */
static char **find_variable(const char *name)
{
	size_t len = strlen(name);

	for (char **v = environ; v && *v; v++)
		if (!strncmp(*v, name, len) && (*v)[len] == '=')
			return v;
	return NULL;
}

static void remove_variable(char **v)
{
	do
		v[0] = v[1];
	while (*v++);
}

/* Returns how the library came in. */
static enum record_how clean_environment(void)
{
	char **v = find_variable(RECORD_ENV), **preload, **restore;
	enum record_how how = RECORD_LINKED;

	if (v)
		remove_variable(v);
	restore = find_variable(RECORD_ENV_RESTORE "LD_PRELOAD");
	if (!restore)
		return how;
	how = RECORD_PRELOADED;
	preload = find_variable("LD_PRELOAD");
	if (preload && (*restore)[strlen(RECORD_ENV_RESTORE "LD_PRELOAD=")])
		*preload = *restore + strlen(RECORD_ENV_RESTORE);
	else if (preload)
		remove_variable(preload);
	restore = find_variable(RECORD_ENV_RESTORE "LD_PRELOAD");
	remove_variable(restore);
	return how;
}

/* The descriptor that the variable tells; -1: it tells none. */
static int record_fd(void)
{
	char **v = find_variable(RECORD_ENV);
	const char *digits = v ? *v + strlen(RECORD_ENV "=") : "";
	long fd = 0;

	if (!*digits || strlen(digits) > 9)
		return -1;
	for (; *digits; digits++) {
		if (*digits < '0' || *digits > '9')
			return -1;
		fd = fd * 10 + (*digits - '0');
	}
	return (int)fd;
}

/* Memory that cannot be taken away under this process; the version may still be another one. */
static bool is_record(int fd, struct record_head *head, size_t *size)
{
	const int sealed = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(*head) ||
	    (fcntl(fd, F_GET_SEALS) & sealed) != sealed ||
	    pread(fd, head, sizeof(*head), 0) != sizeof(*head))
		return false;
	*size = (size_t)st.st_size;
	return head->magic == RECORD_MAGIC && head->size == *size;
}

static void *map_shared(int fd, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void refuse(int fd)
{
	struct record_head *head = map_shared(fd, sizeof(*head));

	if (!head)
		return;
	head->library_version = RECORD_VERSION;
	head->state = RECORD_REFUSED;
	munmap(head, sizeof(*head));
}

static void map_anchors(struct attachment *a, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (unsigned int i = 0; i < RECORD_TICKS; i++) {
		off_t at = (off_t)(TICK_SLOTS_AT + i * TICK_SLOT_SIZE);
		void *anchor = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

		if (anchor != MAP_FAILED && madvise(anchor, page, MADV_DONTFORK)) {
			munmap(anchor, page);
			anchor = MAP_FAILED;
		}
		a->anchors[i] = anchor == MAP_FAILED ? NULL : anchor;
	}
}

/* By way of a page that a child finds empty. fd: of the record, or -1; slot: where slots are. */
static bool attach_to(struct record *record, int fd, struct tick_slot *(*slot)(unsigned int i))
{
	size_t size = sizeof(struct attachment);
	struct attachment *a =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (a == MAP_FAILED)
		return false;
	if (madvise(a, size, MADV_WIPEONFORK)) {
		munmap(a, size);
		return false;
	}
	a->record = record;
	a->slot = slot;
	if (fd >= 0)
		map_anchors(a, fd);
	__atomic_store_n(&attachment, a, __ATOMIC_RELEASE);
	return true;
}

static void introduce(struct record *record, enum record_how how)
{
	struct record_library *library = &record->library;

	strncpy(library->version, CHISOL_VERSION, sizeof(library->version) - 1);
	library->how = how;
	library->pid = (uint32_t)getpid();
	library->attached_ns = monotonic_ns();
	record->head.library_version = RECORD_VERSION;
	__atomic_store_n(&record->head.state, RECORD_ATTACHED, __ATOMIC_RELEASE);
}

/*
 * The record that another copy in this process has found: one is preloaded, one linked, and which
 * of them begins first is the dynamic loader's choice. This one asks itself, too, and has none yet.
 */
static bool attach_to_copy(void *handle)
{
	void *symbols[] = {
		dlsym(handle, "isolprobe_record_"),
		dlsym(handle, "isolprobe_slot_"),
	};
	struct tick_slot *(*slot)(unsigned int i);
	struct record *(*find)(void), *record;

	memcpy(&find, &symbols[0], sizeof(find));
	memcpy(&slot, &symbols[1], sizeof(slot));
	record = find && slot ? find() : NULL;
	return record && attach_to(record, -1, slot);
}

static void attach_to_other_copy(void)
{
	if (&dlsym && !attach_to_copy(RTLD_DEFAULT))
		attach_to_copy(RTLD_NEXT);
}

static void attach_by(int fd, enum record_how how)
{
	struct record *record = map_shared(fd, sizeof(*record));

	if (!record)
		return;
	if (record->orders.pid != (uint32_t)getpid() ||
	    madvise(record, sizeof(*record), MADV_DONTFORK) || !attach_to(record, fd, map_slot))
		munmap(record, sizeof(*record));
	else
		introduce(record, how);
}

/* In a program that is linked with libisolprobe.a it tells that the program is. */
static const struct {
	uint32_t name_length, length, type;
	char name[(sizeof(RECORD_NOTE) + 3) / 4 * 4];
} note __attribute__((used, aligned(4), section(".note.isolprobe"))) = { sizeof(RECORD_NOTE), 0,
	                                                                 RECORD_VERSION,
	                                                                 RECORD_NOTE };

/* Before the constructors of this library that need a record. */
__attribute__((constructor(101))) static void attach(void)
{
	int fd = record_fd();
	struct record_head head;
	size_t size;

	/* Whoever starts a program that gains privileges does not write to its memory. */
	if (getauxval(AT_SECURE))
		return;
	/* A variable that tells of no record is not chisol's: it stays. */
	if (fd < 0 || !is_record(fd, &head, &size)) {
		attach_to_other_copy();
	} else if (head.version == RECORD_VERSION && size == RECORD_SIZE) {
		attach_by(fd, clean_environment());
		close(fd);
	} else {
		refuse(fd);
		/* Behind a linked copy of another version comes chisol's own, preloaded. */
		if (find_variable(RECORD_ENV_RESTORE "LD_PRELOAD"))
			return;
		clean_environment();
		close(fd);
	}
}
