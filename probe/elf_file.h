/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an executable file tells of itself that decides whether libisolprobe can be loaded into it
 * (elf(5)). The file is hostile input: every offset and length in it is checked against the file.
 */
#ifndef PROBE_ELF_FILE_H
#define PROBE_ELF_FILE_H

#include "../isolcore/sysroot.h"

struct elf_file {
	bool foreign;           /* another machine, word size or byte order: nothing more is read */
	char *interpreter;      /* the dynamic loader; NULL: linked statically */
	bool has_note;          /* libisolprobe is linked in */
	struct namelist needed; /* the shared libraries that it names itself */
};
#define ELF_FILE_INIT                             \
	{                                         \
		false, NULL, false, NAMELIST_INIT \
	}

/* -ENOEXEC: it is no ELF file, or one that contradicts itself. */
int elf_read(struct elf_file *elf, int fd, struct error *err);
void elf_free(struct elf_file *elf);
#define _cleanup_elf_ _cleanup_(elf_free)

#endif
