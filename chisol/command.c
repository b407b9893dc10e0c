/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "command.h"

#include "../isolcore/mem.h"

#include <fcntl.h>

char *command_find(const char *name, int mode)
{
	const char *path = getenv("PATH");

	if (!*name) /* would be found in every directory */
		return NULL;
	if (strchr(name, '/'))
		return faccessat(AT_FDCWD, name, mode, AT_EACCESS) ? NULL : xstrdup(name);
	for (path = path ? path : "/bin:/usr/bin"; *path; path += *path == ':') {
		size_t n = strcspn(path, ":");
		_cleanup_free_ char *file = xasprintf("%.*s%s%s", (int)n, path, n ? "/" : "", name);

		if (!faccessat(AT_FDCWD, file, mode, AT_EACCESS))
			return take_ptr(&file);
		path += n;
	}
	return NULL;
}

char *command_interpreter(const char *file)
{
	char head[256]; /* the kernel looks at no more either (BINPRM_BUF_SIZE) */
	_cleanup_close_ int fd = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
	const char *word;

	if (n < 2 || memcmp(head, "#!", 2))
		return NULL;
	head[n] = '\0';
	word = head + 2 + strspn(head + 2, " \t");
	return xstrndup(word, strcspn(word, " \t\r\n"));
}
