/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>

/* A mount without a place in any tree, or -errno. */
static int mount_detached(void)
{
	_cleanup_close_ int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int mount;

	if (context < 0 || syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	return mount < 0 ? -errno : mount;
}

int tracefs_open(struct sysroot *tracefs, const struct sysroot *root, struct error *err)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(places); i++) {
		_cleanup_free_ char *events = xasprintf("%s/events", places[i]);

		if (sysroot_exists(root, events))
			fd = sysroot_openat(root, places[i], O_PATH | O_DIRECTORY, NULL);
	}
	if (fd < 0)
		fd = mount_detached();
	if (fd == -EPERM || fd == -EACCES)
		return error_set(err, -fd,
		                 "cannot open tracefs, which tells of the kernel's trace events: "
		                 "%s; it takes root",
		                 strerror(-fd));
	if (fd < 0)
		return error_set(err, -fd,
		                 "cannot open tracefs, which tells of the kernel's trace events: "
		                 "%s; the kernel needs CONFIG_FTRACE, or tracefs mounted on "
		                 "/sys/kernel/tracing",
		                 strerror(-fd));
	*tracefs = (struct sysroot){ .fd = fd, .live = true, .dir = xstrdup("tracefs") };
	return 0;
}
