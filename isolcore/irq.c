/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "irq.h"

#include "facility.h"
#include "task_affinity.h"
#include "text.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>

#define IRQ_DIR       "/proc/irq/"
#define AFFINITY_FILE "/smp_affinity_list"

/* What an interrupt's directory holds besides one directory for each action (kernel/irq/proc.c). */
static const char *const irq_files[] = {
	"affinity_hint", "effective_affinity", "effective_affinity_list",
	"node",          "smp_affinity",       "smp_affinity_list",
	"spurious",
};

/* One asking for a mask to be left alone: a number, or a pattern of device names. */
struct keep {
	char *pattern;
	bool used;
};

struct irq_planner {
	struct plan *plan;
	const struct system *sys;
	const struct request *req;
	struct keep *keep;
	size_t n_keep, keep_room;
	/* The last mask and what it became: most interrupts of a machine have the same. */
	char *found, *wanted;
};

static void planner_init(struct irq_planner *p, struct plan *plan, const struct system *sys,
                         const struct request *req)
{
	_cleanup_free_ char *copy = xstrdup(req->irq.keep ? req->irq.keep : "");
	char *rest = copy, *word;

	*p = (struct irq_planner){ .plan = plan, .sys = sys, .req = req };
	while ((word = strsep(&rest, ", \t"))) {
		if (!*word)
			continue;
		p->keep = xgrow(p->keep, p->n_keep + 1, &p->keep_room, sizeof(*p->keep));
		p->keep[p->n_keep++] = (struct keep){ .pattern = xstrdup(word) };
	}
}

static void planner_free(struct irq_planner *p)
{
	for (size_t i = 0; i < p->n_keep; i++)
		free(p->keep[i].pattern);
	free(p->keep);
	free(p->found);
	free(p->wanted);
}
#define _cleanup_planner_ _cleanup_(planner_free)

/* The number of an interrupt, or -1. */
static long as_number(const char *name)
{
	unsigned long long number;

	return text_unsigned(name, &number) && number <= INT_MAX ? (long)number : -1;
}

static bool is_irq_file(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(irq_files); i++)
		if (!strcmp(name, irq_files[i]))
			return true;
	return false;
}

/* The names of the devices that use an interrupt. None: nobody does, or it is gone. */
static void list_actions(const struct system *sys, const char *irq, struct namelist *actions)
{
	_cleanup_namelist_ struct namelist all = NAMELIST_INIT;
	_cleanup_free_ char *dir = xasprintf(IRQ_DIR "%s", irq);

	if (sysroot_list(&sys->root, dir, &all, NULL))
		return;
	for (size_t i = 0; i < all.n; i++)
		if (!is_irq_file(all.names[i]))
			namelist_take(actions, take_ptr(&all.names[i]));
}

/* "24 (eth0-rx-0, eth0-tx-0)": an interrupt as people know it. The caller frees it. */
static char *irq_title(const char *irq, const struct namelist *actions)
{
	char *title = xstrdup(irq);

	for (size_t i = 0; i < actions->n; i++)
		xappend(&title, "%s%s", i ? ", " : " (", actions->names[i]);
	if (actions->n)
		xappend(&title, ")");
	return title;
}

static char *irq_title_of_path(const struct system *sys, const char *path)
{
	_cleanup_namelist_ struct namelist actions = NAMELIST_INIT;
	const char *start = path + strlen(IRQ_DIR);
	_cleanup_free_ char *irq = xstrndup(start, strcspn(start, "/"));

	list_actions(sys, irq, &actions);
	return irq_title(irq, &actions);
}

static bool keep_matches(const struct keep *keep, const char *irq, const struct namelist *actions)
{
	if (as_number(keep->pattern) >= 0)
		return !strcmp(keep->pattern, irq);
	for (size_t i = 0; i < actions->n; i++)
		if (!fnmatch(keep->pattern, actions->names[i], 0))
			return true;
	return false;
}

static bool is_kept(struct irq_planner *p, const char *irq, const struct namelist *actions)
{
	bool kept = false;

	for (size_t i = 0; i < p->n_keep; i++)
		if (keep_matches(&p->keep[i], irq, actions))
			kept = p->keep[i].used = true;
	return kept;
}

/* mask without the workload's CPUs; the housekeeping CPUs if no CPU that is online remains. */
static void move_off(struct cpumask *mask, const struct irq_planner *p)
{
	cpumask_andnot(mask, &p->req->cpus.workload);
	if (!cpumask_intersects(mask, &p->sys->machine.online))
		cpumask_copy(mask, &p->req->cpus.housekeeping);
}

/*
 * Works out from a mask as the kernel writes it the one that is wanted, into p->found and
 * p->wanted; wanted is found where the mask is off the workload's CPUs. False: not a mask.
 */
static bool work_out(struct irq_planner *p, const char *found)
{
	_cleanup_cpumask_ struct cpumask mask = CPUMASK_INIT;

	if (p->found && !strcmp(p->found, found))
		return true;
	if (cpumask_parse_list(&mask, found))
		return false;
	free(p->found);
	free(p->wanted);
	p->found = xstrdup(found);
	if (cpumask_intersects(&mask, &p->req->cpus.workload)) {
		move_off(&mask, p);
		p->wanted = cpumask_list(&mask);
	} else {
		p->wanted = xstrdup(found);
	}
	return true;
}

static bool is_hit(const struct irq_planner *p)
{
	return strcmp(p->found, p->wanted) != 0;
}

/* On arm64 the interrupts of the GIC below 32 (SGI and PPI) exist once for each CPU. */
static bool is_per_cpu(const struct system *sys, const char *irq)
{
	_cleanup_free_ char *chip_path = xasprintf("/sys/kernel/irq/%s/chip_name", irq),
			    *hwirq_path = xasprintf("/sys/kernel/irq/%s/hwirq", irq), *chip = NULL,
			    *hwirq = NULL;

	return !sysroot_read(&sys->root, chip_path, &chip, NULL) && !strncmp(chip, "GIC", 3) &&
	       !sysroot_read(&sys->root, hwirq_path, &hwirq, NULL) && as_number(hwirq) >= 0 &&
	       as_number(hwirq) < 32;
}

static void judge_exposed(const struct system *sys, struct knob *knob)
{
	const char *start = knob->path + strlen(IRQ_DIR);
	_cleanup_free_ char *irq = xstrndup(start, strcspn(start, "/")),
			    *title = irq_title_of_path(sys, knob->path);

	if (is_per_cpu(sys, irq)) {
		knob_judge(knob, KNOB_EXPOSED, REASON_PER_CPU_IRQ,
		           "interrupt %s belongs to each CPU by itself", title);
		return;
	}
	knob_judge(knob, KNOB_EXPOSED, REASON_MANAGED_IRQ,
	           "interrupt %s stays on CPUs %s: the kernel places it itself", title,
	           knob->found);
	xreplace(&knob->remedy, "boot with isolcpus=managed_irq,LIST, or give the device fewer "
	                        "queues than there are housekeeping CPUs");
}

/* What a refused write means for an interrupt (kernel/irq/manage.c, arch/x86/kernel/apic). */
static const struct {
	int err;
	enum knob_state state;
	const char *reason;
	const char *meaning;
	const char *remedy;
} refusals[] = {
	{ ENOSPC, KNOB_REFUSED, REASON_NO_VECTOR, "the CPUs that are left have no free vector",
	  "leave more housekeeping CPUs, or give the devices fewer queues" },
	{ EINVAL, KNOB_REFUSED, REASON_INVALID_VALUE,
	  "none of these CPUs is online and can take it", "name other housekeeping CPUs" },
	{ ENXIO, KNOB_REFUSED, REASON_INVALID_VALUE, "they are offline",
	  "name other housekeeping CPUs" },
	{ EBUSY, KNOB_REFUSED, REASON_BUSY, "it is being moved just now",
	  "start again after its next interrupt" },
	/* It hits nobody any more. */
	{ ENOENT, KNOB_GRANTED, REASON_IRQ_GONE, "it was freed in the meantime", NULL },
	{ ENODEV, KNOB_GRANTED, REASON_IRQ_GONE, "it was freed in the meantime", NULL },
};

static void judge_pending(const struct system *sys, struct knob *knob)
{
	_cleanup_cpumask_ struct cpumask wanted = CPUMASK_INIT, effective = CPUMASK_INIT;
	_cleanup_free_ char *path = xasprintf("%.*seffective_affinity_list",
	                                      (int)(strrchr(knob->path, '/') - knob->path + 1),
	                                      knob->path),
			    *text = NULL;

	/* Not there without CONFIG_GENERIC_IRQ_EFFECTIVE_AFF_MASK: the request is all there is. */
	if (sysroot_read(&sys->root, path, &text, NULL) || cpumask_parse_list(&effective, text) ||
	    cpumask_parse_list(&wanted, knob->wanted) || cpumask_subset(&effective, &wanted))
		return;
	knob_judge(knob, KNOB_PENDING, REASON_PENDING,
	           "it is still on CPU %s and moves with its next interrupt", text);
}

static void judge_irq(const struct system *sys, struct knob *knob, const struct error *write_error)
{
	_cleanup_free_ char *title = NULL;

	/* A managed interrupt: EIO before Linux 6.12, EPERM since, for root too. Without the
	 * privilege the file could not have been opened (EACCES). */
	if (write_error->err == EIO || write_error->err == EPERM) {
		judge_exposed(sys, knob);
		return;
	}
	if (knob->state == KNOB_GRANTED) {
		judge_pending(sys, knob);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		if (refusals[i].err != write_error->err)
			continue;
		title = irq_title_of_path(sys, knob->path);
		knob_judge(knob, refusals[i].state, refusals[i].reason,
		           "cannot move interrupt %s to CPUs %s: %s", title, knob->wanted,
		           refusals[i].meaning);
		xreplace(&knob->remedy, refusals[i].remedy);
	}
}

static int write_irq(const struct system *sys, const char *path, const char *value,
                     struct error *err)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	_cleanup_error_ struct error error = ERROR_INIT;
	int rc = knob_file_write(sys, path, value, &error);

	if (rc == -EINVAL && value && !cpumask_parse_list(&cpus, value) &&
	    system_all_offline(sys, &cpus))
		return error_set(err, ENXIO, "cannot write %s to %s: these CPUs are offline", value,
		                 path);
	return rc ? error_move(err, &error) : 0;
}

const struct knob_type knob_irq_affinity = {
	.name = "irq-affinity",
	.read = knob_file_read,
	.write = write_irq,
	.same = knob_same_cpulist,
	.judge = judge_irq,
	.mortal = true,
};

static struct knob *add_irq(struct irq_planner *p, const char *irq, const char *path,
                            const char *found, const char *wanted)
{
	_cleanup_free_ char *name = xasprintf("irq.%s.affinity", irq);
	struct knob *knob;

	knob = plan_add(p->plan, &facility_irq, &knob_irq_affinity, p->req->irq.policy, name, path,
	                found, wanted, "keeps device interrupts off the workload's CPUs");
	/* irqbalance goes on moving interrupts among the CPUs that it may use. */
	knob->avoid = &p->req->cpus.workload;
	return knob;
}

static void plan_irq(struct irq_planner *p, const char *irq)
{
	_cleanup_error_ struct error error = ERROR_INIT;
	_cleanup_namelist_ struct namelist actions = NAMELIST_INIT;
	_cleanup_free_ char *path = xasprintf(IRQ_DIR "%s" AFFINITY_FILE, irq), *found = NULL,
			    *title = NULL;
	struct knob *knob;
	int rc = knob_file_read(p->sys, path, &found, &error);

	if (rc == -ENOENT || rc == -ENOTDIR)
		return; /* freed since it was listed */
	if (!rc && !work_out(p, found))
		rc = error_set(&error, EINVAL, "cannot read %s: \"%.60s\" is not a list of CPUs",
		               path, found);
	if (rc) {
		knob = add_irq(p, irq, path, NULL, NULL);
		knob_judge(knob, KNOB_REFUSED, REASON_UNREADABLE, "%s", error.text);
		return;
	}
	if (p->n_keep || is_hit(p))
		list_actions(p->sys, irq, &actions);
	if (is_kept(p, irq, &actions)) {
		if (!is_hit(p))
			return;
		knob = add_irq(p, irq, path, found, NULL);
		title = irq_title(irq, &actions);
		knob_judge(knob, KNOB_EXPOSED, REASON_KEPT,
		           "interrupt %s is left on CPUs %s, as [irq] keep asks", title, found);
		return;
	}
	if (is_hit(p) && !(sysroot_mode(&p->sys->root, path) & 0222)) {
		knob = add_irq(p, irq, path, found, NULL);
		judge_exposed(p->sys, knob);
		return;
	}
	knob = add_irq(p, irq, path, found, p->wanted);
	if (actions.n) {
		title = irq_title(irq, &actions);
		knob_judge(knob, KNOB_PLANNED, NULL, "interrupt %s", title);
	}
}

static void plan_default(struct irq_planner *p)
{
	static const char path[] = IRQ_DIR "default_smp_affinity";
	_cleanup_cpumask_ struct cpumask mask = CPUMASK_INIT;
	struct knob *knob = plan_add_read(p->plan, p->sys, &facility_irq, &knob_cpuhex_file,
	                                  p->req->irq.policy, "irq.default_affinity", path, NULL,
	                                  "keeps new interrupts off the workload's CPUs");

	if (!knob->found)
		return;
	if (cpumask_parse_hex(&mask, knob->found)) {
		knob_judge(knob, KNOB_REFUSED, REASON_UNREADABLE, "\"%.60s\" is not a mask of CPUs",
		           knob->found);
		return;
	}
	if (cpumask_intersects(&mask, &p->req->cpus.workload)) {
		move_off(&mask, p);
		knob->wanted = cpumask_hex(&mask);
	} else {
		knob->wanted = xstrdup(knob->found);
	}
}

/* "irq/24-eth0" of the thread that handles interrupt 24: its number, as text, or NULL. */
static char *irq_of_thread(const char *comm)
{
	const char *number = comm + strlen("irq/");
	size_t len;

	if (strncmp(comm, "irq/", strlen("irq/")))
		return NULL;
	len = strspn(number, "0123456789");
	return len && number[len] == '-' ? xstrndup(number, len) : NULL;
}

static void plan_thread(struct irq_planner *p, pid_t pid)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	_cleanup_namelist_ struct namelist actions = NAMELIST_INIT;
	_cleanup_free_ char *irq = NULL, *list = NULL, *path = NULL, *name = NULL;
	struct process thread;
	struct knob *knob;

	/* A process of a user may have such a name too: it is no kernel thread. */
	if (process_read(&thread, &p->sys->root, pid, NULL) || !(thread.flags & PROCESS_KTHREAD))
		return;
	irq = irq_of_thread(thread.comm);
	if (!irq || task_affinity_read(&cpus, p->sys, pid, NULL))
		return;
	list = cpumask_list(&cpus);
	if (!work_out(p, list) || !is_hit(p))
		return;
	if (p->n_keep)
		list_actions(p->sys, irq, &actions);
	if (is_kept(p, irq, &actions))
		return;
	path = task_affinity_path(&thread);
	name = xasprintf("irq.%s.thread.%s", irq, strchr(thread.comm, '-') + 1);
	knob = plan_add(p->plan, &facility_irq, &knob_task_affinity, p->req->irq.policy, name, path,
	                list, thread.flags & PROCESS_NO_SETAFFINITY ? NULL : p->wanted,
	                "keeps the threads of interrupts off the workload's CPUs");
	/* With its next interrupt the kernel itself moves the thread to the effective CPU. */
	knob->avoid = &p->req->cpus.workload;
	if (!knob->wanted)
		knob_judge(knob, KNOB_EXPOSED, REASON_BOUND_THREAD,
		           "kernel thread %s is bound to its CPUs; nobody can move it",
		           thread.comm);
}

static int plan_threads(struct irq_planner *p, struct error *err)
{
	_cleanup_pids_ struct pids pids = { 0 };
	int rc = process_find(&pids, &p->sys->root, "irq/*", err);

	for (size_t i = 0; !rc && i < pids.n; i++)
		plan_thread(p, pids.pids[i]);
	return rc;
}

static int plan_irqs(struct irq_planner *p, struct error *err)
{
	_cleanup_namelist_ struct namelist list = NAMELIST_INIT;
	_cleanup_error_ struct error error = ERROR_INIT;
	int rc = sysroot_list(&p->sys->root, "/proc/irq", &list, &error);

	if (rc == -ENOENT || rc == -EACCES) {
		struct knob *knob = add_irq(p, "all", "/proc/irq", NULL, NULL);

		knob_judge(knob, KNOB_UNAVAILABLE,
		           rc == -ENOENT ? REASON_ABSENT : REASON_UNREADABLE, "%s", error.text);
		xreplace(&knob->remedy, "in a container, run chisol on the host");
		return 0;
	}
	if (rc)
		return error_move(err, &error);
	if (p->req->irq.default_affinity != ANSWER_NO)
		plan_default(p);
	for (size_t i = 0; i < list.n; i++)
		if (as_number(list.names[i]) >= 0)
			plan_irq(p, list.names[i]);
	return 0;
}

/* The numbers of the interrupts that the plan has a knob for. */
static void known_irqs(const struct plan *plan, struct cpumask *numbers)
{
	for (size_t i = 0; i < plan->n_knobs; i++) {
		const struct knob *knob = plan->knobs[i];
		unsigned int number;

		if (knob->type == &knob_irq_affinity &&
		    sscanf(knob->path, IRQ_DIR "%9u/", &number) == 1 && number <= CPUMASK_MAX)
			cpumask_set(numbers, number);
	}
}

static bool add_new_irq(struct irq_planner *p, const char *irq)
{
	_cleanup_namelist_ struct namelist actions = NAMELIST_INIT;
	_cleanup_free_ char *path = xasprintf(IRQ_DIR "%s" AFFINITY_FILE, irq), *found = NULL,
			    *title = NULL;
	struct knob *knob;

	if (knob_file_read(p->sys, path, &found, NULL) || !work_out(p, found) || !is_hit(p))
		return false;
	list_actions(p->sys, irq, &actions);
	if (is_kept(p, irq, &actions))
		return false;
	title = irq_title(irq, &actions);
	knob = add_irq(p, irq, path, found, NULL);
	knob_judge(knob, KNOB_EXPOSED, REASON_NEW_IRQ,
	           "interrupt %s appeared during the run and may go to CPUs %s", title, found);
	xreplace(&knob->remedy, "bring its device up before the run");
	return true;
}

size_t irq_new_since(struct plan *plan, const struct system *sys, const struct request *req)
{
	_cleanup_planner_ struct irq_planner p = { 0 };
	_cleanup_namelist_ struct namelist list = NAMELIST_INIT;
	_cleanup_cpumask_ struct cpumask known = CPUMASK_INIT; /* of interrupt numbers */
	size_t n_new = 0;

	if (!policy_asked(req->irq.policy) || sysroot_list(&sys->root, "/proc/irq", &list, NULL))
		return 0;
	planner_init(&p, plan, sys, req);
	known_irqs(plan, &known);
	for (size_t i = 0; i < list.n; i++) {
		long number = as_number(list.names[i]);

		if (number >= 0 && number <= (long)CPUMASK_MAX &&
		    !cpumask_test(&known, (unsigned int)number))
			n_new += add_new_irq(&p, list.names[i]);
	}
	return n_new;
}

static int plan_facility(struct plan *plan, const struct system *sys, const struct request *req,
                         const char *run_id, struct error *err)
{
	_cleanup_planner_ struct irq_planner p = { 0 };
	int rc;

	(void)run_id;
	if (!policy_asked(req->irq.policy))
		return 0;
	if (cpumask_empty(&req->cpus.housekeeping))
		return error_set(err, EINVAL,
		                 "cannot move interrupts: no housekeeping CPU is left for them");
	planner_init(&p, plan, sys, req);
	rc = plan_irqs(&p, err);
	if (!rc && req->irq.threads != ANSWER_NO)
		rc = plan_threads(&p, err);
	for (size_t i = 0; !rc && i < p.n_keep; i++)
		if (!p.keep[i].used)
			plan_note(plan, &facility_irq, REASON_ABSENT,
			          "[irq] keep names \"%s\", which is no interrupt of this machine",
			          p.keep[i].pattern);
	return rc;
}

const struct facility facility_irq = {
	.name = "irq",
	.title = "device interrupts",
	.plan = plan_facility,
};
