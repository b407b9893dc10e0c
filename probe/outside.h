/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gaps that no event of the kernel's explains: what took the CPU, as far as there are signs of it.
 * One row each, with what it takes; isolprobe(1) has the same table, and a test holds the two
 * against each other.
 *
 * Signs are looked for on the calling CPU and send nothing to others: /proc/stat (steal time, and
 * whether a sibling was busy), the kernel's own counts of throttling and of frequency changes
 * (not the frequency itself: reading it interrupts the CPU). The number of SMIs (MSR_SMI_COUNT,
 * Intel, where /dev/cpu/N/msr is there) does so, too: it is read before and after only.
 */
#ifndef PROBE_OUTSIDE_H
#define PROBE_OUTSIDE_H

#include "../isolcore/machine.h"
#include "isolprobe.h"

/* Bits. */
enum outside_sign {
	SIGN_VM = 1 << 0,         /* a hypervisor is there */
	SIGN_STEAL = 1 << 1,      /* the CPU's steal time went up */
	SIGN_TOGETHER = 1 << 2,   /* another measured CPU had a gap without events, too */
	SIGN_EVERYWHERE = 1 << 3, /* all of them had, and there is more than one */
	SIGN_SIBLING = 1 << 4,    /* an SMT sibling was busy */
	SIGN_SLOWED = 1 << 5,     /* throttled, or its frequency changed, some time in the run */
	SIGN_LOST = 1 << 6,       /* events are missing there */
	SIGN_SHARED = 1 << 7,     /* several loops of the program are on the CPU */
	SIGN_MOVED = 1 << 8,      /* the thread came from another CPU */
};
#define N_SIGNS 9
extern const char *const sign_names[N_SIGNS]; /* "steal", in the order of the bits */

struct outside {
	const char *code, *meaning;
	bool kernel;        /* the kernel's doing, though no event tells */
	bool unseen;        /* and events should have told */
	unsigned int what;  /* bits of enum isolprobe_class that it may have been */
	unsigned int needs; /* signs, all of them */
};

/* Ends with a NULL code. The first row that fits is taken; the last fits always. */
extern const struct outside outsides[];
extern const unsigned int n_outsides;

const struct outside *outside_find(enum isolprobe_class what, unsigned int signs);

/* The signs of some CPUs, looked for again and again. */
struct outside_cpu {
	unsigned int cpu;
	struct cpumask siblings;      /* without the CPU itself */
	uint64_t slow_at_begin, slow; /* throttling and frequency changes so far */
	uint64_t steal_at_begin;
	bool has_smis;
	uint64_t smis_at_begin, smis; /* the latter by outside_finish() */
};

#define OUTSIDE_LOOKS 32 /* that are kept */

struct outside_watch {
	const struct system *sys;
	bool vm, intel;
	struct outside_cpu *cpus;
	size_t n_cpus;
	struct outside_look {
		uint64_t time;          /* ns, CLOCK_MONOTONIC */
		uint64_t *steal, *busy; /* of each CPU and its siblings, in ticks of the kernel */
	} looks[OUTSIDE_LOOKS];
	size_t n_looks;
};

/* Is there a hypervisor? Linux on x86 has CPUID's bit among the flags of /proc/cpuinfo, of which
 * cpuinfo is the text (NULL: not known); elsewhere hypervisors tell of themselves. */
bool outside_is_vm(const struct sysroot *root, const char *cpuinfo);

void outside_open(struct outside_watch *watch, const struct system *sys,
                  const struct cpumask *cpus);
void outside_look(struct outside_watch *watch, uint64_t time);
/* What is to be said of a time on the i-th CPU; SIGN_VM, _STEAL, _SIBLING, _SLOWED. */
unsigned int outside_signs(const struct outside_watch *watch, size_t i, uint64_t from, uint64_t to);
/* Steal time of the i-th CPU since the first look, ns. */
uint64_t outside_steal_ns(const struct outside_watch *watch, size_t i);
/* When nobody is to be disturbed any more. */
void outside_finish(struct outside_watch *watch);
void outside_free(struct outside_watch *watch);

#endif
