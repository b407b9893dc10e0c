/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record: memory that chisol makes, that the command's process shares through libisolprobe, and
 * that chisol still holds when that process is gone, however it ended.
 *
 * It is a memfd whose size is sealed, so that neither side can make the other one fault. The
 * command gets it as a descriptor whose number is in RECORD_ENV; the library (attach.h) maps it,
 * closes the descriptor and takes the variables out of the environment before main().
 *
 * Neither side trusts what the other has written. What chisol reads it copies first, bounded and
 * terminated (record_keep.h), and what it has ordered it never reads back. There are no locks, as
 * either side may be killed at any moment: numbers are written whole (__atomic builtins), each by
 * one thread at a time, and places in tables are claimed by compare and swap of the member that is
 * said to be the claim.
 *
 * The record of chisol and that of the library may be of different versions, which is told, not
 * guessed at: whatever is added or moved behind struct record_head makes a new RECORD_VERSION.
 */
#ifndef PROBE_RECORD_H
#define PROBE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RECORD_ENV         "ISOLPROBE_RECORD"
/* Set if the library is preloaded: before it, "LD_PRELOAD=..." as the command would have had it,
 * with an empty value if it had none. */
#define RECORD_ENV_RESTORE "ISOLPROBE_"

#define RECORD_NOTE "isolprobe" /* the name of the ELF note that libisolprobe.a brings along */

#define RECORD_MAGIC   0x62727069736f6c31u
#define RECORD_VERSION 3u /* of everything behind struct record_head */

enum record_state {
	RECORD_EMPTY,    /* no library has found it */
	RECORD_REFUSED,  /* a library of another version has */
	RECORD_ATTACHED, /* struct record_library tells the rest */
};

/* The same in all versions. */
struct record_head {
	uint64_t magic;
	uint64_t size; /* of the whole record */
	uint32_t version;
	uint32_t state;           /* the library's */
	uint32_t library_version; /* the RECORD_VERSION of the library that refused or attached */
	uint32_t padding;
};

#define RECORD_CPU_WORDS 16384u /* as many CPUs as struct cpumask takes */

struct record_cpus {
	uint32_t n_words;
	uint32_t padding;
	uint64_t words[RECORD_CPU_WORDS];
};

#define RECORD_NAME    16 /* of a thread, TASK_COMM_LEN */
#define RECORD_NAMES   32
#define RECORD_PATTERN 64

/* What chisol wants of the library; written before the command starts. */
struct record_orders {
	uint32_t pid;       /* of the command: no other process attaches */
	uint32_t follow;    /* follow the threads and count their calls */
	uint32_t places;    /* chisol moves the following thread to the group for helpers */
	uint32_t period_ms; /* between two looks at all threads, at least */
	uint32_t n_patterns;
	uint64_t grace_ns; /* after attaching: not counted */
	/* Task isolation, for threads with names that match a pattern. What is established of the
	 * kernel's interface is in here; without patterns no such call is made. */
	uint32_t isol_base, isol_abi, isol_quiesce;
	char patterns[RECORD_NAMES][RECORD_PATTERN];
	struct record_cpus workload, housekeeping;
};

/* What became of giving the record to the command: told by chisol in the command's process, just
 * before it became the command. */
enum record_handed {
	RECORD_NOT_HANDED,         /* it never came to that */
	RECORD_TO_PRELOAD,         /* the library is to be preloaded */
	RECORD_TO_LINKED,          /* the program is linked with it */
	RECORD_NOT_LINKED,         /* it is not, and preloading was not asked for */
	RECORD_STATIC,             /* linked statically: nothing can be preloaded */
	RECORD_SECURE,             /* it gains privileges, and takes nothing from its environment */
	RECORD_FOREIGN,            /* for another machine or word size */
	RECORD_OTHER_LOADER,       /* for another C library */
	RECORD_SANITIZER,          /* it refuses to run with a library before its own */
	RECORD_NO_LIBRARY,         /* chisol has not found the library */
	RECORD_UNREADABLE_LIBRARY, /* the command's user may not read it */
	RECORD_UNKNOWN_FILE,       /* the command's file cannot be looked at */
	RECORD_HANDED_KINDS
};

struct record_handing {
	uint32_t outcome; /* enum record_handed */
	char file[256];   /* that was looked at: the command, or a script's interpreter */
};

enum record_placement {
	RECORD_UNPLACED,
	RECORD_PLACED,     /* chisol has moved the thread to the group for helpers */
	RECORD_NOT_PLACED, /* there is no such group, or the kernel refused */
};

/* Of the thread "chisol-probe". */
enum record_follower {
	RECORD_NO_FOLLOWER, /* not made (yet), or it makes way for a moment */
	RECORD_WAITS,       /* it could not leave the workload's CPUs: chisol may move it */
	RECORD_FOLLOWS,
	RECORD_NOWHERE,   /* there is no CPU for it outside of the workload's: it has ended */
	RECORD_NO_THREAD, /* none could be made: follower_errno */
	RECORD_NO_PROC,   /* it could not open /proc/PID/task: follower_errno */
	RECORD_WITHDRAWN, /* it made way for a call that needs a process without it */
};

enum record_how {
	RECORD_PRELOADED,
	RECORD_LINKED,
};

struct record_library {
	char version[16]; /* of chisol, that the library belongs to */
	uint32_t how;     /* enum record_how */
	uint32_t pid;
	uint64_t attached_ns; /* CLOCK_MONOTONIC, as all times */
	uint32_t ended;       /* exit handlers ran: what is here is complete */
	uint32_t follower;    /* enum record_follower */
	uint32_t follower_tid;
	uint32_t follower_errno;
	uint32_t placement; /* enum record_placement; chisol's */
	uint32_t n_hot;     /* threads on the workload's CPUs at the last look, whoever looked */
	uint64_t n_looks, last_look_ns, longest_look_ns;
	uint64_t n_created, n_ended; /* threads, by pthread_create() */
	uint64_t threads_omitted;    /* that there was no place for in the table */
	uint64_t calls_omitted;
};

/* All since the thread began. */
struct record_counts {
	uint64_t voluntary, involuntary; /* context switches */
	uint64_t run_delay_ns;           /* ready to run, and another task ran */
	uint64_t minor, major;           /* page faults */
	uint64_t migrations;
};

/* Bits of record_thread.flags. */
#define RECORD_HOT   1u /* was seen on a CPU of the workload */
#define RECORD_ENDED 2u
#define RECORD_MAIN  4u
#define RECORD_PROBE 8u /* chisol-probe itself */
#define RECORD_MIGRATIONS                                                       \
	16u /* the kernel tells how many; else it is the changes that were seen \
	     */

enum record_isolation {
	RECORD_ISOL_NOT_ASKED,
	RECORD_ISOL_PENDING, /* named by another thread: done when it next calls the library */
	RECORD_ISOL_ACTIVE,
	RECORD_ISOL_REFUSED, /* isol_errno */
};

struct record_thread {
	uint32_t tid; /* the claim; 0: free */
	uint32_t flags;
	char name[RECORD_NAME];
	uint64_t start;             /* clock ticks since boot, proc_pid_stat(5); 0: not known yet */
	uint64_t first_ns, last_ns; /* of the looks at it */
	uint32_t cpu;               /* that it was last seen on */
	uint32_t hot_cpu;           /* of the workload's */
	uint32_t isolation, isol_errno;     /* enum record_isolation */
	uint64_t handle;                    /* its pthread_t; 0: not known */
	uint64_t n_looks, n_hot, n_stacked; /* looks; on the workload's CPUs; with another there */
	struct record_counts base, now;     /* at the begin of what is counted, and last */
};

enum record_call_kind {
	RECORD_CALL_NONE,
	RECORD_MUNMAP,
	RECORD_MREMAP,
	RECORD_MPROTECT,
	RECORD_MADVISE,
	RECORD_MEMBARRIER,
	RECORD_MLOCK,
	RECORD_FORK,
	RECORD_SPAWN,
	RECORD_THREAD_CREATE,
	RECORD_DLOPEN,
	RECORD_AFFINITY,
	RECORD_CALL_KINDS
};

/* Calls of one kind from one place by one thread, while another was on the workload's CPUs. */
struct record_call {
	uint64_t site; /* the claim: the return address; 0: free */
	uint32_t kind, tid;
	uint64_t n, first_ns, last_ns;
	uint32_t resolved; /* the three below are filled in */
	uint32_t padding;
	uint64_t offset; /* in the object */
	char object[128];
	char symbol[64];
};

#define RECORD_THREADS 1024u
#define RECORD_CALLS   1024u
#define RECORD_TICKS   32u

/* Threads that have ended and made room. */
struct record_folded {
	uint64_t n, n_hot;
	struct record_counts counts, hot_counts; /* what was counted; of all, and of the hot ones */
};

enum record_tick_state {
	RECORD_TICK_FREE,
	RECORD_TICK_CLAIMED, /* by the library, and nothing is there yet */
	RECORD_TICK_RUNS,
	RECORD_TICK_ENDED, /* nothing changes any more */
	RECORD_TICK_LEFT,  /* and is free again when chisol has collected it */
};

/* Of a thread between isolprobe_begin() and isolprobe_end(); its ticks are in tick_slot.h. */
struct record_tick {
	uint32_t state; /* the claim */
	uint32_t tid;
	uint32_t round;     /* how often it was claimed */
	uint32_t collected; /* the round that chisol has all of; chisol's */
};

struct record {
	struct record_head head;
	struct record_orders orders;
	struct record_handing handing;
	struct record_library library;
	struct record_folded folded;
	struct record_thread threads[RECORD_THREADS];
	struct record_call calls[RECORD_CALLS];
	struct record_tick ticks[RECORD_TICKS];
	uint64_t ticks_omitted; /* that there was no slot for */
};

/* The thread itself and the one that looks at it may do so at once. */
static inline void record_flag(struct record_thread *thread, uint32_t flags)
{
	__atomic_or_fetch(&thread->flags, flags, __ATOMIC_RELAXED);
}

static inline bool record_cpus_test(const struct record_cpus *cpus, uint32_t cpu)
{
	return cpu / 64 < RECORD_CPU_WORDS && cpus->words[cpu / 64] >> cpu % 64 & 1;
}

#endif
