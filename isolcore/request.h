/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked for, after defaults, profiles, --set and command line options: the only thing that
 * the front end makes and the only thing that facilities read.
 *
 * One struct per profile section; profile_keys.c has one row per key, which gives its type, range,
 * default and the place here. A section's policy is POLICY_OFF until one of its keys is given.
 */
#ifndef ISOLCORE_REQUEST_H
#define ISOLCORE_REQUEST_H

#include "machine.h"

enum policy {
	POLICY_OFF,     /* not asked for: nothing is changed */
	POLICY_TRY,     /* asked for; not granted is reported */
	POLICY_REQUIRE, /* asked for; not granted ends the launch with status 125, everything undone
	                 */
};

enum answer {
	ANSWER_AUTO,
	ANSWER_NO,
	ANSWER_YES
};

enum partition {
	PARTITION_AUTO,   /* isolated, or none where the CPUs are isolated since boot */
	PARTITION_MEMBER, /* a plain group: the CPUs are not taken from anybody */
	PARTITION_ROOT,   /* own scheduling domain with load balancing among the workload's CPUs */
	PARTITION_ISOLATED, /* no load balancing */
};

/*
 * The group that the command starts in, pinned to the workload's CPUs either way. Where hot and
 * help are separate groups, a program that sets its threads' affinity itself, to housekeeping CPUs
 * too (oslat's main thread goes to CPU 0), is refused that (EINVAL) in hot and may do it in the
 * run's own group above. On cgroup v2 an isolated or root partition takes the CPUs out of the group
 * above, so there START_RUN means a plain group of all the CPUs, and no partition.
 */
enum group_start {
	START_HOT,
	START_RUN
};

/* How much less than a quiesce by the kernel still counts as granted. */
enum accept {
	ACCEPT_AUTO, /* until request_resolve(): ACCEPT_KERNEL if a profile or --set says
	                policy = require, else ACCEPT_STAND_IN */
	ACCEPT_KERNEL,
	ACCEPT_PLACEMENT,
	ACCEPT_STAND_IN,
};

enum isolation_abi {
	ISOLATION_ABI_AUTO,
	ISOLATION_ABI_V4,
	ISOLATION_ABI_V6
};

enum fair_server {
	FAIR_SERVER_KEEP,
	FAIR_SERVER_OFF
};

#define QUIESCE_VMSTAT_SYNC (1u << 0)
#define INHERIT_CONF        (1u << 0)
#define INHERIT_ACTIVE      (1u << 1)
#define VERDICT_IGNORE_SELF (1u << 0)
#define ON_BREAK_OF_FOREIGN (1u << 0)
#define ON_BREAK_OF_SELF    (1u << 1)

/* How the probe looks. */
enum probe_mode {
	PROBE_AUTO, /* as well as is permitted */
	PROBE_WATCH,
	PROBE_THREAD,
};

/* Who gave a key its value; the later ones win over the earlier. */
enum given {
	GIVEN_NOT,     /* nobody: it has its default */
	GIVEN_PROFILE, /* a profile */
	GIVEN_SET,     /* --set */
	GIVEN_OPTION,  /* an option of its own, such as -c */
};

struct request_origin {
	enum given given;
	char *text; /* for messages: "conf/oslat.conf:12", "--set", "-c" */
};

struct request {
	char **argv; /* the command; NULL-terminated, borrowed from main's argv */
	struct request_origin *origins; /* one for each row of profile_keys[] */

	struct {
		enum policy policy; /* for sections that do not say their own */
		char *description;
		char *names; /* the profiles that were read, comma-separated; NULL: none */
	} profile;
	struct {
		enum policy policy;
		char *workload_text;     /* as given; NULL: the default */
		char *housekeeping_text; /* as given; NULL: all that is left */
		/* filled by request_resolve(): */
		struct cpumask workload; /* the CPUs of the command's hot threads, not empty */
		struct cpumask
			housekeeping; /* online, neither workload nor isolated; may be empty */
		bool asked;           /* workload CPUs were named, by -c or a profile */
		bool claimed;         /* kept off by others: no other run may use them */
	} cpus;
	struct {
		enum policy policy;
		enum partition partition;
		enum answer helpers; /* hot and help groups */
		enum group_start start;
		enum answer evict; /* cgroup v1: move other tasks off the workload's CPUs */
		char *parent;      /* group to make the run's group in; NULL: found out */
		char *mems_text;   /* NUMA nodes; NULL: those of the parent */
	} cgroup;
	struct {
		enum policy policy;
		enum answer default_affinity;
		enum answer threads;
		enum answer irqbalance;
		char *keep; /* IRQ numbers and device names to leave alone, comma-separated */
	} irq;
	struct {
		enum policy policy;
		unsigned int quiesce; /* QUIESCE_ bits */
		unsigned int inherit; /* INHERIT_ bits */
		bool activate;
		bool oneshot;
		enum accept accept;
		enum isolation_abi abi;
		unsigned int prctl_base; /* number of PR_ISOL_FEAT_GET; 63 as posted */
		char *threads; /* patterns of names of threads to activate, comma-separated */
	} task_isolation;
	struct {
		enum policy policy;
		unsigned int stat_interval; /* seconds; 0: leave it */
		bool flush;                 /* one vm.stat_refresh before the command starts */
	} vmstat;
	struct {
		enum policy policy;
		bool move;
	} kthreads;
	struct {
		enum policy policy;
		enum fair_server fair_server; /* of the workload's CPUs */
	} scheduler;
	struct {
		enum policy policy;
		char *user;      /* USER[:GROUP] or @caller */
		char *keep_caps; /* capability names, comma-separated */
		bool no_new_privs;
	} user;
	struct {
		enum policy policy;
		enum probe_mode mode;
		unsigned int ring;          /* KiB for the trace events of a CPU */
		char *on_break;             /* see break_action.h */
		unsigned int on_break_over; /* us; of longer breaks only */
		unsigned int on_break_of;   /* ON_BREAK_OF_ bits */
		unsigned int period;        /* ms between two looks at the threads */
	} probe;
	struct {
		enum policy policy;
		char *command;       /* for sh -c; not NULL where the section is asked for */
		unsigned int settle; /* seconds that it has before the command starts */
	} load;
	struct {
		enum policy policy;
		unsigned int max_breaks; /* per CPU; these three count only if they were given, */
		unsigned int max_gap;    /* us      or max_breaks if none of them was */
		unsigned int budget_ppm;
		unsigned int min_coverage; /* percent of its time that a loop is watched */
		unsigned int grace;        /* ms after the start that do not count */
		unsigned int ignore;       /* VERDICT_IGNORE_ bits */
	} verdict;
};

/* Policies are ordered: the stronger one wins where two askings meet. */
static inline bool policy_asked(enum policy p)
{
	return p != POLICY_OFF;
}

void request_init(struct request *req);
void request_free(struct request *req);
#define _cleanup_request_ _cleanup_(request_free)

/* Who gave a key its value, "irq.threads": "conf/oslat.conf:12", "--set", "-c"; NULL: nobody. */
const char *request_origin(const struct request *req, const char *section_dot_key);

/* Who asked for a section: who gave the first of its keys that were given most explicitly; NULL:
 * nobody. */
const char *request_section_origin(const struct request *req, const char *section);

/* Settles what does not depend on the machine: the policies, and what goes together. May be called
 * more than once. */
int request_settle(struct request *req, struct error *err);

/* After request_settle(): may the request change settings beyond the process itself? */
bool request_changes_machine(const struct request *req);

/*
 * After request_settle(), settles what depends on the machine: turns the CPU texts into masks and
 * checks them. taken: CPUs of other live runs (may be NULL), never housekeeping for this one. The
 * sentence names who asked and the offending piece:
 *
 *   -EINVAL           values that contradict each other, a text that is no CPU list, or a workload
 *                     that leaves no housekeeping CPU to a section that needs one
 *   -ENXIO, -ENODEV   a CPU that does not exist, that is offline
 *   -EPERM            a CPU that chisol's cpuset does not have, if it is required and no group of
 *                     the run's own could have it
 */
int request_resolve(struct request *req, const struct system *sys, const struct cpumask *taken,
                    struct error *err);

#endif
