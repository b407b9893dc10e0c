/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isolstate [--activate|--clear] [BASE]: prints what task isolation its main thread, a second
 * thread and a child process have, as the prctl calls from BASE (63) on tell. --activate: as a
 * program that is made for task isolation does, its second thread activates what it finds
 * configured. --clear: at the end it takes its configuration back (v6 form) and stays for another
 * two seconds.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../isolcore/isol_prctl.h"

struct who {
	const char *name;
	unsigned int base;
	bool activate;
};

static long call(unsigned int nr, unsigned long a, unsigned long b, unsigned long c,
                 unsigned long d)
{
	return syscall(SYS_prctl, (unsigned long)nr, a, b, c, d) < 0 ? -errno : 0;
}

static void *print_state(void *arg)
{
	const struct who *who = arg;
	struct task_isol_quiesce_control quiesce = { 0 };
	struct task_isol_inherit_control inherit = { 0 };
	uint64_t features = 0, active = 0;

	if (call(who->base + ISOL_CFG_GET, I_CFG_FEAT, 0, (unsigned long)&features, 0)) {
		printf("%s: no interface\n", who->name);
		return NULL;
	}
	if (call(who->base + ISOL_CFG_GET, I_CFG_FEAT, ISOL_F_QUIESCE, QUIESCE_CONTROL,
	         (unsigned long)&quiesce) == -EFAULT) {
		/* v4: no selector, and the active mask is the result of the call */
		long rc = syscall(SYS_prctl, (unsigned long)who->base + ISOL_ACTIVATE_GET, 0, 0, 0,
		                  0);

		call(who->base + ISOL_CFG_GET, I_CFG_FEAT, ISOL_F_QUIESCE, (unsigned long)&quiesce,
		     0);
		active = rc < 0 ? 0 : (uint64_t)rc;
	} else {
		call(who->base + ISOL_ACTIVATE_GET, (unsigned long)&active, 0, 0, 0);
	}
	if (who->activate && features &&
	    call(who->base + ISOL_ACTIVATE_SET, (unsigned long)&features, 0, 0, 0) == 0)
		active = features;
	call(who->base + ISOL_CFG_GET, I_CFG_INHERIT, (unsigned long)&inherit, 0, 0);
	printf("%s: configured=%llu quiesce=%llu active=%llu inherit=%u\n", who->name,
	       (unsigned long long)features, (unsigned long long)quiesce.quiesce_mask,
	       (unsigned long long)active, inherit.inherit_mask);
	return NULL;
}

static int clear(unsigned int base)
{
	const struct task_isol_quiesce_control none = { 0 };

	if (call(base + ISOL_CFG_SET, I_CFG_FEAT, ISOL_F_QUIESCE, QUIESCE_CONTROL,
	         (unsigned long)&none))
		return 1;
	sleep(2);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
	const char *number = argv[1 + (*mode != '\0')];
	unsigned int base = number ? (unsigned int)strtoul(number, NULL, 10) : ISOL_POSTED_BASE;
	struct who self = { "main", base, false },
		   thread = { "thread", base, !strcmp(mode, "--activate") },
		   child = { "child", base, false };
	pthread_t id;
	pid_t pid;

	print_state(&self);
	if (pthread_create(&id, NULL, print_state, &thread) || pthread_join(id, NULL))
		return 1;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		print_state(&child);
		return 0;
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		return 1;
	return strcmp(mode, "--clear") ? 0 : clear(base);
}
