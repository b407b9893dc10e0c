/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isolabi [BASE]: makes the calls of the task isolation interface with good and bad arguments and
 * prints all that they answer: results, what they wrote, the file in /proc; in the caller, and in
 * the threads and processes that come of it. A kernel and tests/tools/isolkernel must be told
 * apart by nothing of it.
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../isolcore/isol_prctl.h"

#define BAD 8ul /* an address where nothing is */

enum argument {
	NO_MORE, /* in the first place: the end of the steps; elsewhere 0 */
	ZERO,
	ONE,
	TWO,
	HERE,    /* the buffer */
	NOWHERE, /* a bad address */
};

struct step {
	enum isol_call call;
	enum argument args[4];
	uint64_t in[3]; /* the buffer's first words */
};

static const char *const call_names[] = { "FEAT_GET", "CFG_GET", "CFG_SET", "ACTIVATE_GET",
	                                  "ACTIVATE_SET" };

/* Each starts as a process without any state. */
static const struct {
	const char *name;
	struct step steps[24]; /* up to the first without arguments */
} scenarios[] = {
	{ "features",
	  {
		  { .call = ISOL_FEAT_GET, .args = { ZERO, HERE } },
		  { .call = ISOL_FEAT_GET, .args = { ZERO, NOWHERE } },
		  { .call = ISOL_FEAT_GET, .args = { ONE, HERE } },
		  { .call = ISOL_FEAT_GET, .args = { ONE, NOWHERE } },
		  { .call = ISOL_FEAT_GET, .args = { TWO, HERE } },
		  { .call = ISOL_FEAT_GET, .args = { TWO, NOWHERE } },
	  } },
	{ "without a state",
	  {
		  { .call = ISOL_CFG_GET, .args = { ZERO } },
		  { .call = ISOL_CFG_GET, .args = { ONE, ZERO, HERE } },
		  { .call = ISOL_CFG_GET, .args = { ONE, ZERO, NOWHERE } },
		  { .call = ISOL_CFG_GET, .args = { ONE, ONE, ONE, HERE } },
		  { .call = ISOL_CFG_GET, .args = { ONE, ONE, ONE, NOWHERE } },
		  { .call = ISOL_CFG_GET, .args = { ONE, ONE, ZERO, NOWHERE } },
		  { .call = ISOL_CFG_GET, .args = { ONE, TWO, ONE, HERE } },
		  { .call = ISOL_CFG_GET, .args = { TWO, HERE } },
		  { .call = ISOL_CFG_GET, .args = { TWO, NOWHERE } },
		  { .call = ISOL_ACTIVATE_GET, .args = { HERE } },
		  { .call = ISOL_ACTIVATE_GET, .args = { NOWHERE } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 0 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 1 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { NOWHERE } },
		  { .call = ISOL_CFG_SET, .args = { ZERO } },
		  { .call = ISOL_CFG_SET, .args = { ONE, ZERO, ONE, HERE }, .in = { 0, 1 } },
		  { .call = ISOL_CFG_SET, .args = { ONE, TWO, ONE, HERE }, .in = { 0, 1 } },
	  } },
	{ "refused configurations",
	  {
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 1, 1 } },
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 2 } },
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 0, 1 } },
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 1, 2 } },
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ZERO, HERE }, .in = { 0, 1 } },
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, TWO, NOWHERE } },
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, NOWHERE } },
		  { .call = ISOL_CFG_SET,
	            .args = { ONE, ONE, HERE, ZERO },
	            .in = { 0, 1 } }, /* the form of v4 */
		  { .call = ISOL_CFG_SET, .args = { TWO, HERE }, .in = { 2 } },
		  { .call = ISOL_CFG_SET, .args = { TWO, HERE }, .in = { 4 } },
		  { .call = ISOL_CFG_SET, .args = { TWO, NOWHERE } },
	  } },
	{ "configured",
	  {
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 1 } },
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 2 } },
		  { .call = ISOL_CFG_GET, .args = { TWO, NOWHERE } },
		  { .call = ISOL_ACTIVATE_GET, .args = { NOWHERE } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 2 } },
	  } },
	{ "configured with nothing to quiesce, and activated",
	  {
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 0 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 1 } },
	  } },
	{ "configured, and inherited",
	  {
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 1 } },
		  { .call = ISOL_CFG_SET, .args = { TWO, HERE }, .in = { 1 } },
	  } },
	{ "active, and the configuration inherited",
	  {
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 1 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 1 } },
		  { .call = ISOL_CFG_SET, .args = { TWO, HERE }, .in = { 1 } },
	  } },
	{ "active, and inherited so; flags and padding do not matter",
	  {
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 1 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 1 } },
		  { .call = ISOL_CFG_SET, .args = { TWO, HERE }, .in = { 0xff03 } },
	  } },
	{ "only inherited",
	  {
		  { .call = ISOL_CFG_SET, .args = { TWO, HERE }, .in = { 3 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 1 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 0 } },
	  } },
	{ "no longer inherited",
	  {
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 1 } },
		  { .call = ISOL_CFG_SET, .args = { TWO, HERE }, .in = { 3 } },
		  { .call = ISOL_CFG_SET, .args = { TWO, HERE }, .in = { 0 } },
	  } },
	{ "no longer active",
	  {
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 1 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 1 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 0 } },
	  } },
	{ "oneshot, not spent",
	  {
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 1, 1 } },
		  { .call = ISOL_CFG_SET, .args = { TWO, HERE }, .in = { 1 } },
	  } },
	{ "oneshot, spent",
	  {
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 1, 1 } },
		  { .call = ISOL_CFG_SET, .args = { TWO, HERE }, .in = { 3 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 1 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 1 } },
	  } },
	{ "oneshot, configured while active",
	  {
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 1 } },
		  { .call = ISOL_ACTIVATE_SET, .args = { HERE }, .in = { 1 } },
		  { .call = ISOL_CFG_SET, .args = { ONE, ONE, ONE, HERE }, .in = { 0, 1, 1 } },
	  } },
};

static unsigned long value(enum argument argument, uint64_t *words)
{
	return argument == HERE      ? (unsigned long)words
	       : argument == NOWHERE ? BAD
	       : argument == TWO     ? 2
	                             : argument == ONE;
}

static void make(const char *who, unsigned int base, const struct step *s)
{
	static const char *const words[] = { "0", "0", "1", "2", "&buffer", "bad" };
	uint64_t buf[8] = { s->in[0], s->in[1], s->in[2] };
	long rc = syscall(SYS_prctl, (unsigned long)base + s->call, value(s->args[0], buf),
	                  value(s->args[1], buf), value(s->args[2], buf), value(s->args[3], buf));

	printf("%s: %s(%s, %s, %s, %s) {%llx,%llx,%llx}: %s {%llx,%llx,%llx}\n", who,
	       call_names[s->call], words[s->args[0]], words[s->args[1]], words[s->args[2]],
	       words[s->args[3]], (unsigned long long)s->in[0], (unsigned long long)s->in[1],
	       (unsigned long long)s->in[2], rc < 0 ? strerrorname_np(errno) : "ok",
	       (unsigned long long)buf[0], (unsigned long long)buf[1], (unsigned long long)buf[2]);
}

static void print_state(const char *who, unsigned int base)
{
	static const struct step steps[] = {
		{ .call = ISOL_CFG_GET, .args = { ONE, ZERO, HERE }, .in = { 0 } },
		{ .call = ISOL_CFG_GET, .args = { ONE, ONE, ONE, HERE }, .in = { 0 } },
		{ .call = ISOL_CFG_GET, .args = { TWO, HERE }, .in = { 0 } },
		{ .call = ISOL_ACTIVATE_GET, .args = { HERE }, .in = { 0 } },
	};
	FILE *f = fopen("/proc/thread-self/task_isolation", "re");

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		make(who, base, &steps[i]);
	for (char line[256]; f && fgets(line, sizeof(line), f);)
		printf("%s: file: %s", who, line);
	if (!f)
		printf("%s: no file: %s\n", who, strerrorname_np(errno));
	else
		fclose(f);
	fflush(stdout);
}

static void *thread(void *base)
{
	print_state("  thread", *(unsigned int *)base);
	return NULL;
}

/* In a process of its own, which ends by an exec. */
static void play(size_t i, unsigned int base, char *base_text)
{
	char *argv[] = { "isolabi", "--state", base_text, NULL };
	pthread_t id;
	pid_t pid;

	printf("%s\n", scenarios[i].name);
	for (const struct step *s = scenarios[i].steps; s->args[0] != NO_MORE; s++)
		make("  call", base, s);
	print_state("  then", base);
	if (pthread_create(&id, NULL, thread, &base) || pthread_join(id, NULL))
		errx(1, "no thread");
	pid = fork();
	if (pid == 0) {
		print_state("  child", base);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		err(1, "no child");
	execv("/proc/self/exe", argv);
	err(1, "cannot execute itself");
}

int main(int argc, char **argv)
{
	char posted[] = "63";
	char *base_text = argc > 1 ? argv[argc - 1] : posted;
	unsigned int base = (unsigned int)strtoul(base_text, NULL, 10);
	int status;

	if (argc > 2) { /* --state */
		print_state("  after exec", base);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
		pid_t pid = fork();

		if (pid == 0)
			play(i, base, base_text);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			errx(1, "%s: did not come to its end", scenarios[i].name);
	}
	return 0;
}
