/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spinner [--base N] [--fifo PRIORITY] [--faults] FILE: a program that is made for task isolation,
 * as the patched oslat is: its second thread activates what it finds configured, spins in user
 * space, and deactivates.
 *
 *   --base    number of PR_ISOL_FEAT_GET (63)
 *   --fifo    the second thread becomes a realtime thread before all of that
 *   --faults  it takes a page fault in each round, so that there is always something new to fold:
 *             a kernel that stops the tick for the thread may fold once by itself
 *
 * FILE is shared memory, because a spinning thread hears of nothing else: see struct shared. At
 * the end it prints whether the thread was active.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../../isolcore/isol_prctl.h"

#define PAGES       4096 /* of memory that is new to the thread */
#define ROUND_LOOPS (1ul << 24)

struct shared {
	_Atomic uint32_t stop;   /* written by others: end */
	_Atomic uint32_t tid;    /* the second thread, once it spins */
	_Atomic uint32_t rounds; /* how far it has come */
};

struct spin {
	struct shared *shared;
	unsigned int base;
	int priority; /* 0: not realtime */
	bool faults;
	int error; /* of the thread */
	bool active;
};

static int isol(const struct spin *spin, enum isol_call call, unsigned long arg2,
                unsigned long arg3, unsigned long arg4)
{
	return (int)syscall(SYS_prctl, (unsigned long)spin->base + call, arg2, arg3, arg4, 0ul);
}

static int set_active(const struct spin *spin, uint64_t features)
{
	return isol(spin, ISOL_ACTIVATE_SET, (unsigned long)&features, 0, 0);
}

static void *run(void *arg)
{
	struct spin *spin = arg;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = aligned_alloc(page, PAGES * page);
	uint64_t features = 0;
	size_t n_touched = 0;

	if (!memory ||
	    (spin->priority &&
	     sched_setscheduler(0, SCHED_FIFO,
	                        &(struct sched_param){ .sched_priority = spin->priority }))) {
		spin->error = errno;
		return NULL;
	}
	if (!isol(spin, ISOL_CFG_GET, I_CFG_FEAT, 0, (unsigned long)&features) && features)
		spin->active = !set_active(spin, features);
	spin->shared->tid = (uint32_t)gettid();
	while (!spin->shared->stop) {
		for (unsigned long n = 0; n < ROUND_LOOPS && !spin->shared->stop; n++)
			;
		if (spin->faults && n_touched < PAGES)
			memory[n_touched++ * page] = 1;
		else if (spin->faults && !madvise(memory, PAGES * page, MADV_DONTNEED))
			n_touched = 0;
		spin->shared->rounds++;
	}
	if (spin->active && set_active(spin, 0))
		spin->error = errno;
	free(memory);
	return NULL;
}

static struct shared *map_shared(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *shared = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, sizeof(struct shared)))
		shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		              0);
	if (shared == MAP_FAILED)
		err(1, "%s", path);
	return shared;
}

static int number(const char *text, int max)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end || n < 0 || n > max)
		errx(1, "not a number up to %d: %s", max, text);
	return (int)n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "base", required_argument, NULL, 'b' },
		                                 { "fifo", required_argument, NULL, 'f' },
		                                 { "faults", no_argument, NULL, 'p' },
		                                 { 0 } };
	struct spin spin = { .base = ISOL_POSTED_BASE };
	pthread_t id;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'b')
			spin.base = (unsigned int)number(optarg, 1 << 16);
		else if (option == 'f')
			spin.priority = number(optarg, 99);
		else if (option == 'p')
			spin.faults = true;
		else
			return 1;
	}
	if (optind + 1 != argc)
		errx(1, "one FILE is needed");
	spin.shared = map_shared(argv[optind]);
	errno = pthread_create(&id, NULL, run, &spin);
	if (!errno)
		errno = pthread_join(id, NULL);
	if (!errno)
		errno = spin.error;
	if (errno)
		err(1, "the spinning thread");
	puts(spin.active ? "active" : "not active");
	return 0;
}
