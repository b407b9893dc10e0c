/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "info.h"

#include <errno.h>
#include <fcntl.h>

#include "escape.h"
#include "hold.h"
#include "json.h"
#include "../isolcore/cgroup_world.h"
#include "../isolcore/isol_prctl.h"
#include "../isolcore/process.h"
#include "../isolcore/vmstat.h"
#include "../probe/outside.h"
#include "../probe/tracefs.h"

struct info {
	const struct system *sys;
	struct isol_interface isol;
	struct cgroup_world world;
	struct error no_world; /* why it could not be found out */
};

/* The content of a file, or "unknown". */
static char *read_word(const struct info *in, const char *path)
{
	char *text = NULL;

	return sysroot_read(&in->sys->root, path, &text, NULL) ? xstrdup("unknown") : text;
}

static bool file_has(const struct info *in, const char *path, const char *word)
{
	_cleanup_free_ char *text = NULL;

	return !sysroot_read_limit(&in->sys->root, path, SYSROOT_BIG, &text, NULL) &&
	       strstr(text, word);
}

/* Where a file system of this type is mounted first, or NULL. proc_pid_mountinfo(5): the fifth
 * field is the place, the type follows the dash. */
static char *mounted_at(const struct info *in, const char *type)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char *mark = xasprintf(" - %s ", type);
	char *rest = NULL;

	if (sysroot_read_limit(&in->sys->root, "/proc/self/mountinfo", SYSROOT_BIG, &text, NULL))
		return NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *place = NULL;

		if (strstr(line, mark) && sscanf(line, "%*s %*s %*s %*s %ms", &place) == 1)
			return place;
	}
	return NULL;
}

static char *list_or(const struct cpumask *cpus, const char *none)
{
	return cpumask_empty(cpus) ? xstrdup(none) : cpumask_list(cpus);
}

static char *kernel(const struct info *in)
{
	const struct machine *m = &in->sys->machine;
	_cleanup_free_ char *cpuinfo = NULL;

	sysroot_read_limit(&in->sys->root, "/proc/cpuinfo", SYSROOT_BIG, &cpuinfo, NULL);
	return xasprintf("Linux %s%s%s%s", *m->release ? m->release : "of unknown version",
	                 *m->arch ? ", " : "", m->arch,
	                 outside_is_vm(&in->sys->root, cpuinfo) ? ", in a virtual machine" : "");
}

static char *task_isolation(const struct info *in)
{
	static const char *const forms[] = {
		[ISOLATION_ABI_AUTO] = "form found out when configuring",
		[ISOLATION_ABI_V4] = "v4 form",
		[ISOLATION_ABI_V6] = "v6 form",
	};

	if (in->isol.absent)
		return xstrdup(in->isol.absent);
	return xasprintf("prctl %u to %u, %s", in->isol.base, in->isol.base + ISOL_N_CALLS - 1,
	                 forms[in->isol.abi]);
}

/* Why the caller cannot write there. What the machine of a recorded tree offers, it offers to root.
 */
static const char *obstacle(const struct info *in, const char *path)
{
	if (!in->sys->root.live ||
	    !faccessat(in->sys->root.fd, path + strspn(path, "/"), W_OK, AT_EACCESS))
		return "";
	return errno == EROFS ? ", which is read-only here" : ", which takes root";
}

static char *vmstat(const struct info *in)
{
	_cleanup_cpumask_ struct cpumask spared = CPUMASK_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *interval = read_word(in, "/proc/sys/vm/stat_interval");
	_cleanup_free_ char *list = NULL;
	char *text = NULL;

	if (!in->isol.absent)
		return xstrdup("by kernel");
	if (vmstat_spared_cpus(in->sys, &spared, &err))
		return xstrdup(err.text);
	list = cpumask_list(&spared);
	if (*list)
		xappend(&text, "by placement on CPUs %s; ", list);
	if (in->world.kind == CGROUP_V2 && vmstat_spares_partitions(&in->sys->machine))
		xappend(&text, "by placement in an isolated cpuset partition%s; ",
		        obstacle(in, in->world.mount));
	xappend(&text, "%sby stand-in (vm.stat_interval, now %s s)%s", *list ? "elsewhere " : "",
	        interval, obstacle(in, "/proc/sys/vm/stat_interval"));
	return text;
}

static char *possible(const struct info *in)
{
	return cpumask_list(&in->sys->machine.possible);
}

static char *online(const struct info *in)
{
	return cpumask_list(&in->sys->machine.online);
}

static char *isolated(const struct info *in)
{
	return list_or(&in->sys->machine.isolated, "none (isolcpus=)");
}

static char *nohz_full(const struct info *in)
{
	return list_or(&in->sys->machine.nohz_full, in->sys->machine.has_nohz_full
	                                                    ? "none (nohz_full=)"
	                                                    : "not built into this kernel");
}

static char *smt(const struct info *in)
{
	_cleanup_free_ char *active = read_word(in, "/sys/devices/system/cpu/smt/active"),
			    *list = NULL;
	_cleanup_cpumask_ struct cpumask mates = CPUMASK_INIT;

	system_core_mates(in->sys, &in->sys->machine.isolated, &mates);
	list = cpumask_list(&mates);
	return xasprintf("%s%s%s",
	                 !strcmp(active, "1")   ? "on"
	                 : !strcmp(active, "0") ? "off or none"
	                                        : active,
	                 *list ? "; on the core of an isolated CPU, and not isolated: " : "", list);
}

/* With CONFIG_RT_GROUP_SCHED each v1 cpu group has a runtime of its own, at first none. */
static char *realtime(const struct info *in)
{
	_cleanup_free_ char *runtime = read_word(in, "/proc/sys/kernel/sched_rt_runtime_us"),
			    *period = read_word(in, "/proc/sys/kernel/sched_rt_period_us"),
			    *group = cgroup_v1_own(in->sys, "cpu"),
			    *file = xasprintf("%s/cpu.rt_runtime_us", group ? group : ""),
			    *own = read_word(in, file);
	bool unlimited = !strcmp(runtime, "-1"), none = group && !unlimited && !strcmp(own, "0");

	if (none)
		return xasprintf("refused to this group and what is started in it (EPERM): %s is 0",
		                 file);
	if (unlimited)
		return xstrdup("without limit (kernel.sched_rt_runtime_us)");
	return xasprintf("up to %s us in %s us (kernel.sched_rt_runtime_us)", runtime, period);
}

static char *cpuset(const struct info *in)
{
	return xstrdup(in->no_world.err ? in->no_world.text : in->world.sentence);
}

static char *interrupts(const struct info *in)
{
	_cleanup_namelist_ struct namelist names = NAMELIST_INIT;
	size_t n = 0;

	if (sysroot_list(&in->sys->root, "/proc/irq", &names, NULL))
		return xstrdup("unknown (no /proc/irq)");
	for (size_t i = 0; i < names.n; i++)
		n += names.names[i][strspn(names.names[i], "0123456789")] == '\0';
	return xasprintf("%zu under /proc/irq", n);
}

static char *irqbalance(const struct info *in)
{
	_cleanup_pids_ struct pids pids = { 0 };

	if (process_find(&pids, &in->sys->root, "irqbalance", NULL))
		return xstrdup("unknown (no /proc)");
	return pids.n ? xasprintf("runs as process %d", (int)pids.pids[0])
	              : xstrdup("does not run");
}

static char *resctrl(const struct info *in)
{
	_cleanup_free_ char *place = mounted_at(in, "resctrl");

	if (place)
		return xasprintf("mounted at %s", place);
	return xstrdup(file_has(in, "/proc/filesystems", "\tresctrl\n")
	                       ? "in the kernel, not mounted"
	                       : "not in this kernel or machine");
}

/* The probe mounts tracefs for itself where nobody did, if it may. */
static char *tracing(const struct info *in)
{
	_cleanup_free_ char *place = mounted_at(in, "tracefs");
	_cleanup_free_ char *paranoid = read_word(in, "/proc/sys/kernel/perf_event_paranoid");
	_cleanup_error_ struct error err = ERROR_INIT;
	const char *spared = "", *trouble = "";
	struct sysroot tracefs;

	if (in->sys->root.live && tracefs_open(&tracefs, &in->sys->root, &err)) {
		trouble = err.text;
	} else if (in->sys->root.live) {
		sysroot_close(&tracefs);
		spared = place ? "" : ", which --probe does not need";
	}
	return xasprintf("tracefs %s%s%s, perf_event_paranoid %s%s%s",
	                 place ? "at " : "not mounted", place ? place : "", spared, paranoid,
	                 *trouble ? "; --probe=watch is not possible: " : "", trouble);
}

static char *trace_hold(const struct info *in)
{
	size_t n_events;
	pid_t pid = hold_find(in->sys, &n_events);

	return pid ? xasprintf("%zu held by process %d (--hold-trace)", n_events, (int)pid)
	           : xstrdup("not held: a run with --probe has the kernel patch itself");
}

static char *ksm(const struct info *in)
{
	_cleanup_free_ char *run = read_word(in, "/sys/kernel/mm/ksm/run");

	if (!sysroot_exists(&in->sys->root, "/sys/kernel/mm/ksm/run"))
		return xstrdup("not built into this kernel");
	return xasprintf("%s%s", !strcmp(run, "1") ? "merges pages" : "does not run",
	                 file_has(in, "/proc/self/ksm_stat", "ksm_merge_any: yes")
	                         ? "; this process and what it starts ask for it"
	                         : "");
}

static const struct {
	const char *key, *label;
	char *(*describe)(const struct info *in);
} rows[] = {
	{ "kernel", "kernel", kernel },
	{ "task_isolation", "task isolation", task_isolation },
	{ "vmstat_sync", "vmstat_sync", vmstat },
	{ "cpus_possible", "possible CPUs", possible },
	{ "cpus_online", "online CPUs", online },
	{ "cpus_isolated", "isolated at boot", isolated },
	{ "cpus_nohz_full", "nohz_full", nohz_full },
	{ "smt", "SMT", smt },
	{ "realtime", "realtime", realtime },
	{ "cpuset", "cgroups", cpuset },
	{ "interrupts", "interrupts", interrupts },
	{ "irqbalance", "irqbalance", irqbalance },
	{ "resctrl", "resctrl", resctrl },
	{ "tracing", "tracing", tracing },
	{ "trace_hold", "trace events", trace_hold },
	{ "ksm", "page merging", ksm },
};

/* The first line, and only it, is that of the posted chisol: names, bits without one in hex. */
static int print_text(const struct info *in, FILE *out)
{
	if (!in->isol.absent) {
		unsigned int others = in->isol.quiesce & ~QUIESCE_VMSTAT_SYNC;

		fprintf(out, "quiesce: %s",
		        in->isol.quiesce & QUIESCE_VMSTAT_SYNC ? "vmstat_sync " : "");
		if (others)
			fprintf(out, "0x%x ", others);
		putc('\n', out);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = rows[i].describe(in), *escaped = NULL;

		fprintf(out, "%s:%*s", rows[i].label, (int)(18 - strlen(rows[i].label)), "");
		escaped = escape_text(text);
		fprintf(out, "%s\n", escaped);
	}
	return fflush(out) || ferror(out) ? -EIO : 0;
}

static int print_json(const struct info *in, FILE *out)
{
	json_t *document = json_document("chisol_info", 1);

	json_object_set_new(document, "quiesce",
	                    !in->isol.absent && in->isol.quiesce & QUIESCE_VMSTAT_SYNC
	                            ? json_pack("[s]", "vmstat_sync")
	                            : json_array());
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = rows[i].describe(in);

		json_object_set_new(document, rows[i].key, json_text(text));
	}
	return json_print(out, document);
}

int info_print(enum report_format format, const struct system *sys, const struct request *req,
               FILE *out, struct error *err)
{
	struct info in = { .sys = sys, .isol = ISOL_INTERFACE_INIT };
	struct isol_state state;
	int rc;

	isol_probe(&in.isol, sys, req->task_isolation.prctl_base, req->task_isolation.abi);
	/* Asking what this process has shows the form; a failure leaves it unknown. */
	if (!in.isol.absent && sys->root.live)
		isol_get(&in.isol, &state, NULL);
	if (!cgroup_world_read(&in.world, sys, &in.no_world))
		cgroup_world_ask_libcgroup(&in.world, sys);
	rc = format == REPORT_JSON ? print_json(&in, out) : print_text(&in, out);
	isol_interface_free(&in.isol);
	cgroup_world_free(&in.world);
	error_clear(&in.no_world);
	return rc ? error_errno(err, -rc, "cannot print what the machine offers") : 0;
}
