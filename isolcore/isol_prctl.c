/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isol_prctl.h"

#include <errno.h>
#include <sys/syscall.h>

#define PROC_FILE "/proc/self/task_isolation"

/* Not an answer that the kernel can give: bit 0 is clear, and the rest is no feature. */
#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)

_Static_assert(sizeof(struct task_isol_quiesce_extensions) == 64, "as in the kernel");
_Static_assert(sizeof(struct task_isol_quiesce_control) == 64, "as in the kernel");
_Static_assert(sizeof(struct task_isol_inherit_control) == 8, "as in the kernel");
/* NOLINTBEGIN(misc-redundant-expression): that they are equal is the point */
_Static_assert(QUIESCE_VMSTAT_SYNC == ISOL_F_QUIESCE_VMSTATS, "passed on as it is");
_Static_assert(INHERIT_CONF == ISOL_INHERIT_CONF, "passed on as it is");
_Static_assert(INHERIT_ACTIVE == ISOL_INHERIT_ACTIVE, "passed on as it is");
/* NOLINTEND(misc-redundant-expression) */

static const char *const call_names[ISOL_N_CALLS] = {
	[ISOL_FEAT_GET] = "PR_ISOL_FEAT_GET",         [ISOL_CFG_GET] = "PR_ISOL_CFG_GET",
	[ISOL_CFG_SET] = "PR_ISOL_CFG_SET",           [ISOL_ACTIVATE_GET] = "PR_ISOL_ACTIVATE_GET",
	[ISOL_ACTIVATE_SET] = "PR_ISOL_ACTIVATE_SET",
};

/*
 * Whose the numbers are on mainline, and since when (include/uapi/linux/prctl.h): tells why a probe
 * failed, and decides nothing. To all of them the shape of FEAT_GET is an error or without effect.
 */
static const struct {
	unsigned int number;
	unsigned int major, minor;
	const char *owner;
} mainline_numbers[] = {
	{ 63, 5, 19, "PR_SME_SET_VL" },      { 64, 5, 19, "PR_SME_GET_VL" },
	{ 65, 6, 3, "PR_SET_MDWE" },         { 66, 6, 3, "PR_GET_MDWE" },
	{ 67, 6, 4, "PR_SET_MEMORY_MERGE" }, { 68, 6, 4, "PR_GET_MEMORY_MERGE" },
};

/* "prctl 63 (PR_SME_SET_VL since Linux 5.19)" */
static char *name_number(const struct machine *machine, unsigned int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(mainline_numbers); i++)
		if (mainline_numbers[i].number == number &&
		    machine_kernel_at_least(machine, mainline_numbers[i].major,
		                            mainline_numbers[i].minor))
			return xasprintf("prctl %u (%s since Linux %u.%u)", number,
			                 mainline_numbers[i].owner, mainline_numbers[i].major,
			                 mainline_numbers[i].minor);
	return xasprintf("prctl %u", number);
}

/* All five arguments, always: the unused ones are checked or may be one day. */
static long isol_call(const struct isol_interface *isol, enum isol_call call, unsigned long arg2,
                      unsigned long arg3, unsigned long arg4, unsigned long arg5)
{
	long rc = syscall(SYS_prctl, (unsigned long)isol->base + call, arg2, arg3, arg4, arg5);

	return rc < 0 ? -errno : rc;
}

static unsigned long address(const void *p)
{
	return (unsigned long)p;
}

static int call_failed(const struct isol_interface *isol, enum isol_call call, long rc,
                       struct error *err)
{
	return error_errno(err, (int)-rc, "cannot configure task isolation: %s (prctl %u)",
	                   call_names[call], isol->base + call);
}

void isol_interface_free(struct isol_interface *isol)
{
	free(isol->absent);
	*isol = (struct isol_interface)ISOL_INTERFACE_INIT;
}

/* Returns why the numbers are not those of the interface, or NULL. */
static char *probe_calls(struct isol_interface *isol, const struct machine *machine)
{
	_cleanup_free_ char *number = name_number(machine, isol->base);
	struct task_isol_quiesce_extensions ext;
	uint64_t features = UNTOUCHED;
	long rc = isol_call(isol, ISOL_FEAT_GET, 0, address(&features), 0, 0);

	if (rc < 0)
		return xasprintf("%s does not answer as PR_ISOL_FEAT_GET: %s", number,
		                 strerror((int)-rc));
	if (rc > 0 || features == UNTOUCHED)
		return xasprintf("%s belongs to something else: it succeeds without the answer of "
		                 "PR_ISOL_FEAT_GET",
		                 number);
	if (!(features & ISOL_F_QUIESCE))
		return xasprintf("the interface has no quiesce feature (features: 0x%llx)",
		                 (unsigned long long)features);
	memset(&ext, (int)(UNTOUCHED & 0xff), sizeof(ext));
	rc = isol_call(isol, ISOL_FEAT_GET, ISOL_F_QUIESCE, address(&ext), 0, 0);
	if (rc || ext.supported_quiesce_bits == UNTOUCHED)
		return xasprintf("%s does not tell what can be quiesced: %s", number,
		                 rc < 0 ? strerror((int)-rc) : "no answer");
	isol->quiesce = (unsigned int)ext.supported_quiesce_bits;
	return NULL;
}

void isol_probe(struct isol_interface *isol, const struct system *sys, unsigned int base,
                enum isolation_abi abi)
{
	_cleanup_free_ char *why = NULL;

	*isol = (struct isol_interface){ .base = base, .abi = abi };
	if (!sysroot_exists(&sys->root, PROC_FILE)) {
		isol->absent = xstrdup("this kernel has no task isolation interface "
		                       "(no " PROC_FILE ")");
		return;
	}
	if (sys->root.live)
		why = probe_calls(isol, &sys->machine);
	else
		isol->quiesce = QUIESCE_VMSTAT_SYNC;
	if (why)
		isol->absent = xasprintf("this kernel has " PROC_FILE ", but %s; set "
		                         "task_isolation.prctl_base to its number of "
		                         "PR_ISOL_FEAT_GET",
		                         why);
}

int isol_set_quiesce(struct isol_interface *isol, unsigned int quiesce, bool oneshot,
                     struct error *err)
{
	struct task_isol_quiesce_control control = { .quiesce_mask = quiesce };
	long rc = -EFAULT;

	if (isol->abi != ISOLATION_ABI_V4) {
		control.quiesce_oneshot_mask = oneshot ? quiesce : 0;
		rc = isol_call(isol, ISOL_CFG_SET, I_CFG_FEAT, ISOL_F_QUIESCE, QUIESCE_CONTROL,
		               address(&control));
		/* The form of v4 takes the selector as the pointer. */
		if (rc == -EFAULT && isol->abi == ISOLATION_ABI_AUTO)
			isol->abi = ISOLATION_ABI_V4;
		else if (!rc)
			isol->abi = ISOLATION_ABI_V6;
	}
	if (isol->abi == ISOLATION_ABI_V4) {
		if (oneshot)
			return error_set(err, EOPNOTSUPP,
			                 "cannot configure task isolation: this kernel takes "
			                 "oneshot only from the program, when it activates (v4 "
			                 "form); leave task_isolation.oneshot out");
		rc = isol_call(isol, ISOL_CFG_SET, I_CFG_FEAT, ISOL_F_QUIESCE, address(&control),
		               0);
	}
	if (!rc)
		return 0;
	call_failed(isol, ISOL_CFG_SET, rc, err);
	return rc == -EFAULT ? error_append(err, "; see task_isolation.abi") : (int)rc;
}

int isol_activate(const struct isol_interface *isol, struct error *err)
{
	uint64_t features = ISOL_F_QUIESCE;
	long rc = isol_call(isol, ISOL_ACTIVATE_SET, address(&features), 0, 0, 0);

	return rc ? call_failed(isol, ISOL_ACTIVATE_SET, rc, err) : 0;
}

int isol_set_inherit(const struct isol_interface *isol, unsigned int inherit, struct error *err)
{
	/* The third argument: the patches' own documentation says the fourth, their code not. */
	struct task_isol_inherit_control control = { .inherit_mask = (uint8_t)inherit };
	long rc = isol_call(isol, ISOL_CFG_SET, I_CFG_INHERIT, address(&control), 0, 0);

	return rc ? call_failed(isol, ISOL_CFG_SET, rc, err) : 0;
}

/* The quiesce mask; from v6 on the kernel does not report the oneshot mask. */
static long get_quiesce(struct isol_interface *isol, uint64_t *mask)
{
	struct task_isol_quiesce_control control = { .quiesce_mask = UNTOUCHED };
	long rc = -EFAULT;

	if (isol->abi != ISOLATION_ABI_V4) {
		rc = isol_call(isol, ISOL_CFG_GET, I_CFG_FEAT, ISOL_F_QUIESCE, QUIESCE_CONTROL,
		               address(&control));
		if (isol->abi == ISOLATION_ABI_AUTO && (!rc || rc == -EFAULT))
			isol->abi = rc ? ISOLATION_ABI_V4 : ISOLATION_ABI_V6;
	}
	if (isol->abi == ISOLATION_ABI_V4)
		rc = isol_call(isol, ISOL_CFG_GET, I_CFG_FEAT, ISOL_F_QUIESCE, address(&control),
		               0);
	*mask = control.quiesce_mask;
	return rc ? rc : *mask == UNTOUCHED ? -EBADMSG : 0;
}

/* v4 returns the mask, v6 writes it. A thread without any state has no answer: EINVAL. */
static long get_active(const struct isol_interface *isol, uint64_t *mask)
{
	long rc;

	*mask = UNTOUCHED;
	if (isol->abi == ISOLATION_ABI_V4) {
		rc = isol_call(isol, ISOL_ACTIVATE_GET, 0, 0, 0, 0);
		if (rc >= 0)
			*mask = (uint64_t)rc;
	} else {
		rc = isol_call(isol, ISOL_ACTIVATE_GET, address(mask), 0, 0, 0);
	}
	if (rc == -EINVAL)
		*mask = 0;
	else if (rc < 0)
		return rc;
	return *mask == UNTOUCHED ? -EBADMSG : 0;
}

int isol_get(struct isol_interface *isol, struct isol_state *state, struct error *err)
{
	struct task_isol_inherit_control inherit = { .inherit_mask = (uint8_t)UNTOUCHED };
	uint64_t features = UNTOUCHED, quiesce = 0, active = 0, ignored;
	long rc = isol_call(isol, ISOL_CFG_GET, I_CFG_FEAT, 0, address(&features), 0);

	*state = (struct isol_state){ 0 };
	if (!rc && features == UNTOUCHED)
		rc = -EBADMSG;
	if (!rc && (features & ISOL_F_QUIESCE))
		rc = get_quiesce(isol, &quiesce);
	else if (!rc && isol->abi == ISOLATION_ABI_AUTO)
		get_quiesce(isol, &ignored); /* which settles the form */
	if (rc)
		return call_failed(isol, ISOL_CFG_GET, rc, err);
	rc = isol_call(isol, ISOL_CFG_GET, I_CFG_INHERIT, address(&inherit), 0, 0);
	if (rc == -EINVAL) /* no state yet */
		inherit.inherit_mask = 0;
	else if (rc || inherit.inherit_mask == (uint8_t)UNTOUCHED)
		return call_failed(isol, ISOL_CFG_GET, rc ? rc : -EBADMSG, err);
	rc = get_active(isol, &active);
	if (rc)
		return call_failed(isol, ISOL_ACTIVATE_GET, rc, err);
	*state = (struct isol_state){ .quiesce = (unsigned int)quiesce,
		                      .inherit = inherit.inherit_mask,
		                      .active = active & ISOL_F_QUIESCE };
	return 0;
}

/* Is the word in the line that begins with the label? */
static bool line_has(const char *text, const char *label, const char *word)
{
	const char *line = strstr(text, label);
	const char *end = line ? strchrnul(line, '\n') : NULL;
	const char *found = line ? strstr(line + strlen(label), word) : NULL;

	return found && found < end;
}

int isol_get_file(const struct system *sys, pid_t pid, struct isol_state *state, struct error *err)
{
	_cleanup_free_ char *path =
		pid ? xasprintf("/proc/%d/task_isolation", pid) : xstrdup(PROC_FILE);
	_cleanup_free_ char *text = NULL;
	int rc = sysroot_read(&sys->root, path, &text, err);

	if (rc)
		return rc;
	*state = (struct isol_state){ 0 };
	if (line_has(text, "Configured state:", " quiesce") &&
	    line_has(text, "Quiescing:", " vmstat_sync"))
		state->quiesce = QUIESCE_VMSTAT_SYNC;
	state->active = line_has(text, "Active state:", " quiesce");
	return 0;
}
