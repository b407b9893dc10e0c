/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process.h"

#include "text.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>

/* Fields after the command, which is in parentheses and may itself contain any of them. */
static bool parse_stat(struct process *process, const char *text)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	size_t len;

	/* Fields 3, 4, 9 and 22; sscanf saturates on overflow, and no kernel writes such a number.
	 */
	if (!open || !close || close < open ||
	    sscanf(close + 1,
	           " %c %9d %*s %*s %*s %*s %lu %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
	           " %llu",
	           &process->state, &process->parent, &process->flags, &process->start_time) != 4)
		return false;
	len = (size_t)(close - open - 1);
	if (len >= sizeof(process->comm))
		return false;
	memcpy(process->comm, open + 1, len);
	return true;
}

int process_read(struct process *process, const struct sysroot *root, pid_t pid, struct error *err)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/stat", pid), *text = NULL;
	int rc = sysroot_read(root, path, &text, err);

	if (rc)
		return rc;
	*process = (struct process){ .pid = pid };
	if (!parse_stat(process, text))
		return error_set(err, EINVAL, "cannot read %s: it is not as proc_pid_stat(5) says",
		                 path);
	return 0;
}

int process_self(struct process *process, struct error *err)
{
	_cleanup_sysroot_ struct sysroot root = SYSROOT_INIT;
	int rc = sysroot_open(&root, "/", err);

	return rc ? rc : process_read(process, &root, getpid(), err);
}

bool process_alive(const struct sysroot *root, pid_t pid, unsigned long long start_time)
{
	struct process process;
	int rc = process_read(&process, root, pid, NULL);

	if (rc)
		return rc != -ENOENT && rc != -ENOTDIR && rc != -ESRCH;
	return process.start_time == start_time && process.state != 'Z' && process.state != 'X';
}

void pids_free(struct pids *pids)
{
	free(pids->pids);
	*pids = (struct pids){ 0 };
}

int process_find(struct pids *pids, const struct sysroot *root, const char *pattern,
                 struct error *err)
{
	_cleanup_namelist_ struct namelist names = NAMELIST_INIT;
	int rc = sysroot_list(root, "/proc", &names, err);

	for (size_t i = 0; !rc && i < names.n; i++) {
		_cleanup_free_ char *path = NULL, *comm = NULL;
		unsigned long long pid;

		if (!text_unsigned(names.names[i], &pid) || pid > INT_MAX)
			continue;
		path = xasprintf("/proc/%s/comm", names.names[i]);
		if (sysroot_read(root, path, &comm, NULL) || fnmatch(pattern, comm, 0))
			continue;
		pids->pids = xgrow(pids->pids, pids->n + 1, &pids->room, sizeof(*pids->pids));
		pids->pids[pids->n++] = (pid_t)pid;
	}
	return rc;
}
