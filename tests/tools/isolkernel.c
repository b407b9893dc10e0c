/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isolkernel [--abi v6|v4|eopnotsupp|taken] [--base N] [--proc yes|no] [--file PATH=TEXT]...
 *            [--log FILE] -- COMMAND...
 *
 * Runs a command as if on a kernel with the task isolation patches: the prctl calls base..base+4
 * and the files /proc/.../task_isolation are answered for the whole process tree as those patches
 * do, per thread, kept over exec, inherited over fork, vfork and clone as the inherit mask says.
 * Ends as the command ends, but not before all of its descendants have.
 *
 *   v6, v4      the two forms of the arguments
 *   eopnotsupp  patched, but configured out: every call says EOPNOTSUPP, and there is no file
 *   taken       the numbers are another call's, which returns 0 without writing; there is no file
 *   --proc      whether there is a file, against the above
 *   --file      what reading a file of the machine gives. Without one for it,
 *               /proc/sys/kernel/osrelease is that of a kernel on which the posted numbers are free
 *   --log       a line "TID CALL ARG2 = RESULT" for each call that was answered
 *
 * It is a tracer (seccomp RET_TRACE) rather than a listener of seccomp user notifications, because
 * only a tracer is told which thread made which: a child that stops before its creator's event is
 * held until that comes. The price: no other tracer and no LeakSanitizer inside, and CLONE_UNTRACED
 * is not followed. A path is answered by pointing the call at a file in a temporary directory,
 * written at that moment: a descriptor keeps what it was opened with. x86_64 only (status 77).
 */
#include <stdio.h>

#ifndef __x86_64__
int main(void)
{
	fputs("isolkernel: only for x86_64\n", stderr);
	return 77;
}
#else

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "../../isolcore/isol_prctl.h"

enum abi {
	ABI_V6,
	ABI_V4,
	ABI_EOPNOTSUPP,
	ABI_TAKEN
};

struct thread {
	pid_t tid;
	bool known; /* its creator is known, and so what it inherits */
	bool held;  /* stopped until then */
	bool has_state;
	uint64_t conf, quiesce, oneshot, active;
	uint8_t inherit;
};

struct fake_file {
	const char *path; /* without the leading slash */
	const char *text;
};

struct kernel {
	enum abi abi;
	bool has_proc;
	unsigned int base;
	FILE *log;
	struct thread *threads;
	size_t n_threads, room;
	struct fake_file *files;
	size_t n_files, files_room;
	char *dir; /* where paths are redirected to */
};

static void *grow(void *array, size_t need, size_t *room, size_t size)
{
	if (need > *room) {
		*room = need * 2;
		array = reallocarray(array, *room, size);
		if (!array)
			err(125, "out of memory");
	}
	return array;
}

static struct thread *find_thread(struct kernel *k, pid_t tid)
{
	for (size_t i = 0; i < k->n_threads; i++)
		if (k->threads[i].tid == tid)
			return &k->threads[i];
	return NULL;
}

static struct thread *get_thread(struct kernel *k, pid_t tid)
{
	struct thread *t = find_thread(k, tid);

	if (t)
		return t;
	k->threads = grow(k->threads, k->n_threads + 1, &k->room, sizeof(*k->threads));
	k->threads[k->n_threads] = (struct thread){ .tid = tid };
	return &k->threads[k->n_threads++];
}

static void forget_thread(struct kernel *k, pid_t tid)
{
	struct thread *t = find_thread(k, tid);

	if (t)
		*t = k->threads[--k->n_threads];
}

static void inherit(struct thread *child, const struct thread *parent)
{
	child->known = true;
	child->inherit = parent->inherit;
	child->has_state = parent->inherit != 0;
	if (parent->inherit & ISOL_INHERIT_CONF) {
		child->conf = parent->conf;
		child->quiesce = parent->quiesce;
		child->oneshot = parent->oneshot;
	}
	if (parent->inherit & ISOL_INHERIT_ACTIVE)
		child->active = parent->active;
}

/* The memory of the command */

static long get_user(pid_t tid, void *to, uint64_t from, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)from, size };

	return process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

static long put_user(pid_t tid, uint64_t to, const void *from, size_t size)
{
	struct iovec local = { (void *)from, size }, remote = { (void *)to, size };

	return process_vm_writev(tid, &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

static bool get_path(pid_t tid, char path[PATH_MAX], uint64_t from)
{
	size_t len = 0;

	while (len < PATH_MAX) {
		size_t chunk = 4096 - (from + len) % 4096; /* the next page may not be there */

		if (chunk > PATH_MAX - len)
			chunk = PATH_MAX - len;
		if (get_user(tid, path + len, from + len, chunk))
			return false;
		if (memchr(path + len, '\0', chunk))
			return true;
		len += chunk;
	}
	return false;
}

/* The calls */

static long feat_get(pid_t tid, const uint64_t *arg)
{
	const struct task_isol_quiesce_extensions ext = { .supported_quiesce_bits =
		                                                  ISOL_F_QUIESCE_VMSTATS };
	const uint64_t features = ISOL_F_QUIESCE;

	switch (arg[1]) {
	case 0:
		return put_user(tid, arg[2], &features, sizeof(features));
	case ISOL_F_QUIESCE:
		return put_user(tid, arg[2], &ext, sizeof(ext));
	}
	return -EINVAL;
}

static long cfg_get(const struct kernel *k, const struct thread *t, const uint64_t *arg)
{
	const struct task_isol_quiesce_control control = { .quiesce_mask = t->quiesce };
	const struct task_isol_inherit_control inherits = { .inherit_mask = t->inherit };

	if (arg[1] == I_CFG_INHERIT)
		return t->has_state ? put_user(t->tid, arg[2], &inherits, sizeof(inherits))
		                    : -EINVAL;
	if (arg[1] != I_CFG_FEAT)
		return -EINVAL;
	if (arg[2] == 0)
		return put_user(t->tid, arg[3], &t->conf, sizeof(t->conf));
	if (arg[2] != ISOL_F_QUIESCE)
		return -EINVAL;
	if (k->abi == ABI_V4)
		return put_user(t->tid, arg[3], &control, sizeof(control));
	if (arg[3] != QUIESCE_CONTROL)
		return -EINVAL;
	return put_user(t->tid, arg[4], &control, sizeof(control));
}

static long set_quiesce(const struct kernel *k, struct thread *t, const uint64_t *arg)
{
	struct task_isol_quiesce_control control;

	if (arg[2] != ISOL_F_QUIESCE || (k->abi == ABI_V6 && arg[3] != QUIESCE_CONTROL))
		return -EINVAL;
	if (get_user(t->tid, &control, arg[k->abi == ABI_V6 ? 4 : 3], sizeof(control)))
		return -EFAULT;
	if (k->abi == ABI_V4)
		control.quiesce_oneshot_mask = t->oneshot;
	else if (control.quiesce_oneshot_mask & ~control.quiesce_mask)
		return -EINVAL;
	if (control.flags || control.quiesce_mask & ~(uint64_t)ISOL_F_QUIESCE_VMSTATS)
		return -EINVAL;
	t->has_state = true;
	t->conf |= ISOL_F_QUIESCE;
	t->quiesce = control.quiesce_mask;
	t->oneshot = control.quiesce_oneshot_mask;
	return 0;
}

static long set_inherit(struct thread *t, const uint64_t *arg)
{
	struct task_isol_inherit_control control;

	if (get_user(t->tid, &control, arg[2], sizeof(control)))
		return -EFAULT;
	if (control.inherit_mask & ~(ISOL_INHERIT_CONF | ISOL_INHERIT_ACTIVE) ||
	    control.inherit_mask == ISOL_INHERIT_ACTIVE)
		return -EINVAL;
	t->has_state = true;
	t->inherit = control.inherit_mask;
	return 0;
}

static long cfg_set(const struct kernel *k, struct thread *t, const uint64_t *arg)
{
	switch (arg[1]) {
	case I_CFG_FEAT:
		return set_quiesce(k, t, arg);
	case I_CFG_INHERIT:
		return set_inherit(t, arg);
	}
	return -EINVAL;
}

static long activate_get(const struct kernel *k, const struct thread *t, const uint64_t *arg)
{
	if (!t->has_state)
		return -EINVAL;
	if (k->abi == ABI_V4)
		return (long)t->active;
	return put_user(t->tid, arg[1], &t->active, sizeof(t->active));
}

static long activate_set(const struct kernel *k, struct thread *t, const uint64_t *arg)
{
	uint64_t mask, control[8] = { 0 }; /* v4: flags, oneshot mask, padding */

	if (get_user(t->tid, &mask, arg[1], sizeof(mask)))
		return -EFAULT;
	if (k->abi == ABI_V4 && arg[2] && get_user(t->tid, control, arg[2], sizeof(control)))
		return -EFAULT;
	if (mask & ~(uint64_t)ISOL_F_QUIESCE || !t->conf || control[0] || control[1] & ~t->quiesce)
		return -EINVAL;
	if (k->abi == ABI_V4)
		t->oneshot = control[1];
	t->active = mask;
	return 0;
}

static long answer(const struct kernel *k, struct thread *t, enum isol_call call,
                   const uint64_t *arg)
{
	if (k->abi == ABI_EOPNOTSUPP)
		return -EOPNOTSUPP;
	if (k->abi == ABI_TAKEN)
		return 0;
	switch (call) {
	case ISOL_FEAT_GET:
		return feat_get(t->tid, arg);
	case ISOL_CFG_GET:
		return cfg_get(k, t, arg);
	case ISOL_CFG_SET:
		return cfg_set(k, t, arg);
	case ISOL_ACTIVATE_GET:
		return activate_get(k, t, arg);
	case ISOL_ACTIVATE_SET:
		return activate_set(k, t, arg);
	case ISOL_N_CALLS:
		break;
	}
	return -EINVAL;
}

/* The system call that a thread is stopped at */

static void set_register(pid_t tid, size_t offset, uint64_t value)
{
	if (ptrace(PTRACE_POKEUSER, tid, offset, value) && errno != ESRCH)
		err(125, "cannot set a register of %d", tid);
}

#define REGISTER(name) offsetof(struct user, regs.name)

static void answer_call(struct kernel *k, struct thread *t, const uint64_t *arg)
{
	static const char *const names[] = { "FEAT_GET", "CFG_GET", "CFG_SET", "ACTIVATE_GET",
		                             "ACTIVATE_SET" };
	unsigned int call = (unsigned int)arg[0] - k->base;
	long rc = answer(k, t, call, arg);

	/* On the return from the call; the one quiesce takes its bit along. */
	if (t->active)
		t->quiesce &= ~t->oneshot;
	set_register(t->tid, REGISTER(orig_rax), (uint64_t)-1); /* no call at all */
	set_register(t->tid, REGISTER(rax), (uint64_t)rc);
	if (k->log)
		fprintf(k->log, "%d %s %llu = %ld\n", t->tid, names[call],
		        call < ISOL_ACTIVATE_GET ? (unsigned long long)arg[1] : 0, rc);
}

/* The thread that a path "proc/.../task_isolation" is about, or 0. */
static pid_t task_isolation_of(const char *path, pid_t tid)
{
	char rest[16];
	int n = 0;
	pid_t process, thread;

	if (!strcmp(path, "proc/thread-self/task_isolation"))
		return tid;
	if (!strcmp(path, "proc/self/task_isolation")) {
		char status[64];
		FILE *f;

		snprintf(status, sizeof(status), "/proc/%d/status", tid);
		f = fopen(status, "r");
		for (char line[256]; f && fgets(line, sizeof(line), f);)
			if (sscanf(line, "Tgid: %d", &n) == 1)
				break;
		if (f)
			fclose(f);
		return n;
	}
	if (sscanf(path, "proc/%d/task/%d/%15s%n", &process, &thread, rest, &n) == 3 &&
	    !strcmp(rest, "task_isolation") && !path[n])
		return thread;
	if (sscanf(path, "proc/%d/%15s%n", &process, rest, &n) == 2 &&
	    !strcmp(rest, "task_isolation") && !path[n])
		return process;
	return 0;
}

static void write_file(const char *path, const char *text, mode_t mode, uid_t owner)
{
	FILE *f;

	unlink(path); /* who has it open keeps what it was */
	f = fopen(path, "wx");
	if (!f || fputs(text, f) == EOF || fchown(fileno(f), owner, (gid_t)-1) ||
	    fchmod(fileno(f), mode) || fclose(f))
		err(125, "cannot write %s", path);
}

/* Returns where to find what the path holds here, or NULL: let it be. The caller frees it. */
static char *redirected(struct kernel *k, const char *path, pid_t tid)
{
	static const char *const none_or[] = { "none", "quiesce" };
	char *file = NULL, *text = NULL;
	struct stat st;
	char proc[32];
	pid_t of;

	path += strspn(path, "/");
	for (size_t i = 0; i < k->n_files; i++)
		if (!strcmp(path, k->files[i].path)) {
			if (asprintf(&file, "%s/file%zu", k->dir, i) < 0 ||
			    asprintf(&text, "%s\n", k->files[i].text) < 0)
				errx(125, "out of memory");
			write_file(file, text, 0644, geteuid());
			free(text);
			return file;
		}
	of = k->has_proc ? task_isolation_of(path, tid) : 0;
	if (!of)
		return NULL;
	/* As the kernel does: readable for the owner only, which is root after a change of user. */
	snprintf(proc, sizeof(proc), "/proc/%d", of);
	if (stat(proc, &st))
		return NULL;
	const struct thread *found = find_thread(k, of);
	const struct thread t = found ? *found : (struct thread){ 0 };

	if (asprintf(&file, "%s/task%d", k->dir, of) < 0 ||
	    asprintf(&text, "Configured state: %s \nActive state: %s \nQuiescing: %s \n",
	             none_or[t.conf & 1], none_or[t.active & 1],
	             t.quiesce ? "vmstat_sync" : "none") < 0)
		errx(125, "out of memory");
	write_file(file, text, 0400, st.st_uid);
	free(text);
	return file;
}

/* Puts another path below the part of the stack that the thread uses. */
static void redirect_path(struct kernel *k, pid_t tid, const struct __ptrace_syscall_info *info,
                          bool has_directory)
{
	static const size_t registers[] = { REGISTER(rdi), REGISTER(rsi) };
	char path[PATH_MAX];
	char *other = get_path(tid, path, info->seccomp.args[has_directory])
	                      ? redirected(k, path, tid)
	                      : NULL;
	uint64_t place;

	if (!other)
		return;
	place = (info->stack_pointer - 128 - PATH_MAX) & ~UINT64_C(15);
	if (put_user(tid, place, other, strlen(other) + 1))
		warnx("no room on the stack of %d: %s is not answered", tid, path);
	else
		set_register(tid, registers[has_directory], place);
	free(other);
}

/* System calls with a path; the value says whether a directory comes before it. */
static const struct {
	int nr;
	bool has_directory;
} path_calls[] = {
	{ SYS_open, false },      { SYS_stat, false },      { SYS_lstat, false },
	{ SYS_access, false },    { SYS_openat, true },     { SYS_openat2, true },
	{ SYS_statx, true },      { SYS_newfstatat, true }, { SYS_faccessat, true },
	{ SYS_faccessat2, true },
};

static void at_system_call(struct kernel *k, pid_t tid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0)
		return;
	if (info.seccomp.nr == SYS_prctl)
		answer_call(k, get_thread(k, tid), (const uint64_t *)info.seccomp.args);
	for (size_t i = 0; i < ARRAY_SIZE(path_calls); i++)
		if (info.seccomp.nr == (unsigned int)path_calls[i].nr)
			redirect_path(k, tid, &info, path_calls[i].has_directory);
}

static void install_filter(unsigned int base)
{
	struct sock_filter code[16 + 2 * ARRAY_SIZE(path_calls)];
	unsigned short n = 0;

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
	code[n++] = (struct sock_filter)LOAD(arch);
	code[n++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)LOAD(nr);
	for (size_t i = 0; i < ARRAY_SIZE(path_calls); i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		                                         (unsigned int)path_calls[i].nr, 0, 1);
		code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_TRACE);
	}
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 1, 0);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)LOAD(args[0]);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, base, 0, 2);
	code[n++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, base + ISOL_N_CALLS, 1, 0);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_TRACE);
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
#undef LOAD
#undef RETURN
	const struct sock_fprog program = { .len = n, .filter = code };

	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		err(125, "cannot install the seccomp filter");
}

static void resume(pid_t tid, int signal)
{
	if (ptrace(PTRACE_CONT, tid, 0, signal) && errno != ESRCH)
		err(125, "cannot resume %d", tid);
}

static void born(struct kernel *k, pid_t parent)
{
	unsigned long tid;
	struct thread *child;

	if (ptrace(PTRACE_GETEVENTMSG, parent, 0, &tid))
		return;
	child = get_thread(k, (pid_t)tid);
	inherit(child, get_thread(k, parent)); /* looked up: child may have moved the array */
	child = get_thread(k, (pid_t)tid);
	if (child->held)
		resume(child->tid, 0);
	child->held = false;
}

/* A thread that is not the leader execs: it goes on under the leader's id, with its own state. */
static void changed_id(struct kernel *k, pid_t tid)
{
	unsigned long former;
	struct thread moved;

	if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &former) || (pid_t)former == tid)
		return;
	moved = *get_thread(k, (pid_t)former);
	forget_thread(k, (pid_t)former);
	moved.tid = tid;
	*get_thread(k, tid) = moved;
}

static void stopped(struct kernel *k, pid_t tid, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	switch (event) {
	case 0:
		resume(tid, signal);
		return;
	case PTRACE_EVENT_STOP:
		if (signal != SIGTRAP) { /* stopped by a signal: it stays so until SIGCONT */
			ptrace(PTRACE_LISTEN, tid, 0, 0);
			return;
		}
		if (!get_thread(k, tid)->known) {
			get_thread(k, tid)->held = true;
			return;
		}
		break;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		born(k, tid);
		break;
	case PTRACE_EVENT_EXEC:
		changed_id(k, tid);
		break;
	case PTRACE_EVENT_SECCOMP:
		at_system_call(k, tid);
		break;
	}
	resume(tid, 0);
}

/* Returns the wait status of the command. */
static int trace(struct kernel *k, pid_t command)
{
	int result = 0;

	for (;;) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid < 0 && errno == ECHILD)
			return result;
		if (tid < 0 && errno != EINTR)
			err(125, "cannot wait");
		if (tid < 0)
			continue;
		if (WIFSTOPPED(status)) {
			stopped(k, tid, status);
			continue;
		}
		forget_thread(k, tid);
		if (tid == command)
			result = status;
	}
}

static pid_t start(struct kernel *k, char **argv)
{
	int gate[2];
	char byte;
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC))
		err(125, "cannot make a pipe");
	pid = fork();
	if (pid < 0)
		err(125, "cannot fork");
	if (pid == 0) {
		close(gate[1]);
		if (read(gate[0], &byte, 1) != 1)
			_exit(125);
		install_filter(k->base);
		execvp(argv[0], argv);
		err(errno == ENOENT ? 127 : 126, "cannot execute %s", argv[0]);
	}
	if (ptrace(PTRACE_SEIZE, pid, 0,
	           PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
	                   PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL))
		err(125, "cannot trace the command");
	get_thread(k, pid)->known = true;
	/* What the terminal sends is for the command. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGTSTP, SIG_IGN);
	if (write(gate[1], "", 1) != 1)
		err(125, "cannot start the command");
	close(gate[0]);
	close(gate[1]);
	return pid;
}

static void remove_dir(const char *dir)
{
	DIR *d = opendir(dir);

	for (struct dirent *entry; d && (entry = readdir(d));)
		unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

static void add_file(struct kernel *k, const char *argument)
{
	const char *equals = strchr(argument, '=');
	char *path = equals ? strndup(argument, (size_t)(equals - argument)) : NULL;

	if (!path)
		errx(125, "--file wants PATH=TEXT, not %s", argument);
	k->files = grow(k->files, k->n_files + 1, &k->files_room, sizeof(*k->files));
	k->files[k->n_files++] =
		(struct fake_file){ .path = path + strspn(path, "/"), .text = equals + 1 };
}

static int one_of(const char *const *words, int n, const char *word)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(words[i], word))
			return i;
	errx(125, "unknown value %s", word);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "abi", required_argument, NULL, 'a' },  { "base", required_argument, NULL, 'b' },
		{ "proc", required_argument, NULL, 'p' }, { "file", required_argument, NULL, 'f' },
		{ "log", required_argument, NULL, 'l' },  { 0 }
	};
	static const char *const abis[] = { "v6", "v4", "eopnotsupp", "taken" };
	static const char *const no_yes[] = { "no", "yes" };
	struct kernel k = { .base = ISOL_POSTED_BASE };
	char dir[] = "/tmp/isolkernel.XXXXXX";
	int option, has_proc = -1, status;
	char *end;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (option) {
		case 'a':
			k.abi = (enum abi)one_of(abis, ARRAY_SIZE(abis), optarg);
			break;
		case 'b':
			k.base = (unsigned int)strtoul(optarg, &end, 10);
			if (*end || end == optarg)
				errx(125, "--base wants a number, not %s", optarg);
			break;
		case 'p':
			has_proc = one_of(no_yes, ARRAY_SIZE(no_yes), optarg);
			break;
		case 'f':
			add_file(&k, optarg);
			break;
		case 'l':
			k.log = fopen(optarg, "we");
			if (!k.log)
				err(125, "cannot write %s", optarg);
			break;
		default:
			return 125;
		}
	}
	if (optind == argc)
		errx(125, "no command");
	k.has_proc = has_proc < 0 ? k.abi == ABI_V6 || k.abi == ABI_V4 : has_proc;
	add_file(&k, "/proc/sys/kernel/osrelease=5.15.0-isolkernel"); /* an earlier one wins */
	k.dir = mkdtemp(dir);
	if (!k.dir || chmod(k.dir, 0755))
		err(125, "cannot make a temporary directory");
	status = trace(&k, start(&k, argv + optind));
	remove_dir(k.dir);
	if (k.log && fclose(k.log))
		err(125, "cannot write the log");
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return WEXITSTATUS(status);
}
#endif
