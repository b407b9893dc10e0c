/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The prctl interface of the task isolation patches ("extensible prctl task isolation interface
 * and vmstat sync", linux-kernel, posted 2021-10 to 2022-03, never merged): two argument forms of
 * one set of calls. Everything acts on the calling thread; there is no way to reach another one.
 *
 * Its numbers, 63 to 67 as posted, belong to other calls on mainline: ACTIVATE_SET (67) turns on
 * KSM merging for good since Linux 6.4, and returns 0. So no number is called before
 * /proc/self/task_isolation, which no other kernel has, is there; and then FEAT_GET first, which
 * does nothing to whoever owns its number on mainline, and of which a written answer is the proof.
 * The version of the kernel proves nothing: a patched one gives the numbers to the interface.
 */
#ifndef ISOLCORE_ISOL_PRCTL_H
#define ISOLCORE_ISOL_PRCTL_H

#include <stdint.h>

#include "request.h"

/* Offsets from the number of PR_ISOL_FEAT_GET; the order is that of all posted versions since v4.
 */
enum isol_call {
	ISOL_FEAT_GET,
	ISOL_CFG_GET,
	ISOL_CFG_SET,
	ISOL_ACTIVATE_GET,
	ISOL_ACTIVATE_SET,
	ISOL_N_CALLS
};

#define ISOL_POSTED_BASE       63u
#define I_CFG_FEAT             1u /* second argument of CFG_GET and CFG_SET */
#define I_CFG_INHERIT          2u
#define ISOL_F_QUIESCE         (1u << 0) /* a feature */
#define ISOL_F_QUIESCE_VMSTATS (1u << 0) /* what it may quiesce */
#define ISOL_INHERIT_CONF      (1u << 0)
#define ISOL_INHERIT_ACTIVE    (1u << 1)
#define QUIESCE_CONTROL        1u /* v6: a selector, the fourth argument */

struct task_isol_quiesce_extensions {
	uint64_t flags;
	uint64_t supported_quiesce_bits;
	uint64_t pad[6];
};

/* v4: the same, with quiesce_oneshot_mask part of the padding. */
struct task_isol_quiesce_control {
	uint64_t flags;
	uint64_t quiesce_mask;
	uint64_t quiesce_oneshot_mask;
	uint64_t pad[5];
};

struct task_isol_inherit_control {
	uint8_t inherit_mask;
	uint8_t flags;
	uint8_t pad[6];
};

struct isol_interface {
	unsigned int base;      /* number of PR_ISOL_FEAT_GET */
	enum isolation_abi abi; /* ISOLATION_ABI_AUTO until the kernel has shown its form */
	unsigned int quiesce;   /* the QUIESCE_ bits that the kernel offers */
	char *absent;           /* NULL: usable; otherwise the sentence that says why it is not */
};
#define ISOL_INTERFACE_INIT \
	{                   \
		0           \
	}

void isol_interface_free(struct isol_interface *isol);
#define _cleanup_isol_ _cleanup_(isol_interface_free)

/*
 * Finds out, without any effect, whether the interface is there at this base. In a recorded tree
 * the presence of /proc/self/task_isolation is all that can be told.
 */
void isol_probe(struct isol_interface *isol, const struct system *sys, unsigned int base,
                enum isolation_abi abi);

/* What the calling thread has. */
struct isol_state {
	unsigned int quiesce; /* QUIESCE_ bits configured */
	unsigned int
		inherit; /* INHERIT_ bits: what threads and children that it makes start with */
	bool active;
};

/* Each 0 or -errno with a sentence. Configuring settles the form: that of v6 is tried first. */
int isol_set_quiesce(struct isol_interface *isol, unsigned int quiesce, bool oneshot,
                     struct error *err);
int isol_activate(const struct isol_interface *isol, struct error *err);
int isol_set_inherit(const struct isol_interface *isol, unsigned int inherit, struct error *err);
/* Reads back through the CFG_GET and ACTIVATE_GET calls. Settles the form too, if need be. */
int isol_get(struct isol_interface *isol, struct isol_state *state, struct error *err);
/* Reads /proc/PID/task_isolation (pid 0: self), which does not show what inherits. The file is
 * readable for the owner of the process and root only: -EACCES after a change of user. */
int isol_get_file(const struct system *sys, pid_t pid, struct isol_state *state, struct error *err);

#endif
