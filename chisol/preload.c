/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload.h"

#include "../probe/elf_file.h"
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#define LIBRARY         "libisolprobe-preload.so"
#define MAX_INTERPRETED 5 /* scripts that are interpreted by scripts; more the kernel refuses */

char *preload_find_library(void)
{
	_cleanup_free_ char *beside = NULL, *self = realpath("/proc/self/exe", NULL);

	if (self && strrchr(self, '/')) {
		beside = xasprintf("%.*s/" LIBRARY, (int)(strrchr(self, '/') - self), self);
		if (!access(beside, R_OK))
			return take_ptr(&beside);
	}
	return access(CHISOL_LIB_DIR "/" LIBRARY, R_OK) ? NULL
	                                                : xstrdup(CHISOL_LIB_DIR "/" LIBRARY);
}

/* The file that the kernel will run: the interpreter, if the command is a script. */
static char *find_executable(const char *name)
{
	char *file = command_find(name, X_OK);

	for (int i = 0; file && i < MAX_INTERPRETED; i++) {
		char *interpreter = command_interpreter(file);

		if (!interpreter)
			break;
		free(file);
		file = interpreter;
	}
	return file;
}

/*
 * Will the dynamic loader ignore the environment (AT_SECURE)? The rules of bprm_fill_uid() and
 * cap_bprm_creds_from_file(): it changes the user or the group, or has capabilities of its own.
 */
static bool gains_privileges(int fd, const struct stat *st)
{
	struct statvfs fs;
	bool ignored = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	               (!fstatvfs(fd, &fs) && fs.f_flag & ST_NOSUID);
	bool set_group = (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
	uid_t user = !ignored && st->st_mode & S_ISUID ? st->st_uid : geteuid();
	gid_t group = !ignored && set_group ? st->st_gid : getegid();

	return user != getuid() || group != getgid() ||
	       (!ignored && getuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

static bool same_file(const char *a, const char *b)
{
	struct stat first, second;

	return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

/* chisol itself has the C library that the library is made for. */
static bool has_our_loader(const struct elf_file *elf)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_elf_ struct elf_file self = ELF_FILE_INIT;

	return fd >= 0 && !elf_read(&self, fd, NULL) && self.interpreter &&
	       same_file(self.interpreter, elf->interpreter);
}

static bool needs(const struct elf_file *elf, const char *pattern)
{
	for (size_t i = 0; i < elf->needed.n; i++)
		if (!fnmatch(pattern, elf->needed.names[i], 0))
			return true;
	return false;
}

static enum record_handed preloadable(const struct elf_file *elf, const char *library)
{
	if (!elf->interpreter)
		return RECORD_STATIC;
	if (!has_our_loader(elf))
		return RECORD_OTHER_LOADER;
	if (needs(elf, "libasan.so.*") || needs(elf, "libtsan.so.*"))
		return RECORD_SANITIZER;
	/* The loader takes both for the end of a name. */
	if (!library || strpbrk(library, ": "))
		return RECORD_NO_LIBRARY;
	return access(library, R_OK) ? RECORD_UNREADABLE_LIBRARY : RECORD_TO_PRELOAD;
}

static enum record_handed choose(const char *file, const char *library, bool follow)
{
	_cleanup_close_ int fd =
		file ? open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
	_cleanup_elf_ struct elf_file elf = ELF_FILE_INIT;
	enum record_handed preload;
	struct stat st;
	bool linked;

	if (fd < 0 || fstat(fd, &st) || elf_read(&elf, fd, NULL))
		return RECORD_UNKNOWN_FILE;
	if (elf.foreign)
		return RECORD_FOREIGN;
	if (gains_privileges(fd, &st))
		return RECORD_SECURE;
	linked = elf.has_note || needs(&elf, "libisolprobe.so.*");
	preload = follow ? preloadable(&elf, library) : RECORD_NOT_LINKED;
	return preload != RECORD_TO_PRELOAD && linked ? RECORD_TO_LINKED : preload;
}

/* What the user preloads comes first: some of it insists on that. */
static void set_preload(const char *library)
{
	const char *own = getenv("LD_PRELOAD");
	_cleanup_free_ char *all =
		own && *own ? xasprintf("%s:%s", own, library) : xstrdup(library);

	setenv(RECORD_ENV_RESTORE "LD_PRELOAD", own ? own : "", 1);
	setenv("LD_PRELOAD", all, 1);
}

void preload_hand_over(const struct record_keep *keep, const char *library, bool follow,
                       const char *name)
{
	struct record_handing *handing = &keep->record->handing;
	_cleanup_free_ char *file = find_executable(name), *number = NULL;

	keep->record->orders.pid = (uint32_t)getpid();
	handing->outcome = choose(file, library, follow);
	snprintf(handing->file, sizeof(handing->file), "%s", file ? file : name);
	if (handing->outcome != RECORD_TO_PRELOAD && handing->outcome != RECORD_TO_LINKED)
		return;
	fcntl(keep->fd, F_SETFD, 0);
	number = xasprintf("%d", keep->fd);
	setenv(RECORD_ENV, number, 1);
	if (handing->outcome == RECORD_TO_PRELOAD)
		set_preload(library);
}

/* Each after "libisolprobe is not in FILE: ". */
static const char *const reasons[RECORD_HANDED_KINDS] = {
	[RECORD_NOT_HANDED] = "the command was not started",
	[RECORD_TO_PRELOAD] = "the dynamic loader was told to load it, and did not",
	[RECORD_TO_LINKED] = "it is linked with it, but its start code did not run",
	[RECORD_NOT_LINKED] = "it is not linked with it (--probe=thread preloads it)",
	[RECORD_STATIC] = "it is linked statically, so that nothing can be preloaded",
	[RECORD_SECURE] = "it gains privileges (set-user-ID, set-group-ID or file capabilities), "
			  "and the dynamic loader then ignores what is to be preloaded",
	[RECORD_FOREIGN] = "it is made for another machine or word size",
	[RECORD_OTHER_LOADER] = "it is made for another C library than chisol",
	[RECORD_SANITIZER] = "it is built with a sanitizer, which refuses other preloaded "
			     "libraries",
	[RECORD_NO_LIBRARY] = "chisol does not find " LIBRARY " beside itself or in " CHISOL_LIB_DIR
			      ", or its path has a blank or a colon in it",
	[RECORD_UNREADABLE_LIBRARY] = "the command's user may not read it",
	[RECORD_UNKNOWN_FILE] = "the file cannot be looked at",
};

char *preload_why_not(const struct record_keep *keep, const char *library)
{
	struct record_handing handing;
	struct record_head head;

	record_read_handing(keep, &handing);
	record_read_head(keep, &head);
	if (head.state == RECORD_REFUSED)
		return xasprintf("%s has libisolprobe of another version (its record is %u, "
		                 "chisol's %u)",
		                 handing.file, head.library_version, RECORD_VERSION);
	if (handing.outcome == RECORD_UNREADABLE_LIBRARY)
		return xasprintf("libisolprobe is not in %s: the command's user may not read %s",
		                 handing.file, library ? library : LIBRARY);
	return xasprintf("libisolprobe is not in %s: %s", handing.file, reasons[handing.outcome]);
}
