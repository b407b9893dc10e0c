/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf_file.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>

#include "record.h"

#define MAX_HEADERS 4096u      /* the kernel takes less than 64 KiB of them (load_elf_phdrs()) */
#define MAX_SEGMENT (1u << 20) /* of those that are read here: 4 KiB is usual */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define BYTE_ORDER_HERE ELFDATA2LSB
#else
#define BYTE_ORDER_HERE ELFDATA2MSB
#endif

struct image {
	int fd;
	ElfW(Phdr) * headers;
	size_t n_headers;
};

static int malformed(struct error *err, const char *what)
{
	return error_set(err, ENOEXEC, "its %s cannot be read", what);
}

static bool read_at(int fd, void *buffer, size_t len, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, buffer, len, (off_t)offset) == (ssize_t)len;
}

/* A copy of a part of the file, with a NUL behind it; NULL: it is not there, or too big. */
static char *read_part(int fd, uint64_t offset, uint64_t len)
{
	_cleanup_free_ char *part = NULL;

	if (len > MAX_SEGMENT)
		return NULL;
	part = xcalloc(1, len + 1);
	return read_at(fd, part, len, offset) ? take_ptr(&part) : NULL;
}

static const ElfW(Phdr) * find_header(const struct image *image, uint32_t type)
{
	for (size_t i = 0; i < image->n_headers; i++)
		if (image->headers[i].p_type == type)
			return &image->headers[i];
	return NULL;
}

/* Where in the file is an address of the program, and how much follows it there? */
static bool find_address(const struct image *image, uint64_t address, uint64_t *offset,
                         uint64_t *left)
{
	for (size_t i = 0; i < image->n_headers; i++) {
		const ElfW(Phdr) *h = &image->headers[i];
		uint64_t into = address - h->p_vaddr;

		if (h->p_type != PT_LOAD || address < h->p_vaddr || into >= h->p_filesz)
			continue;
		*offset = h->p_offset + into;
		*left = h->p_filesz - into;
		return *offset >= into;
	}
	return false;
}

static int read_interpreter(struct elf_file *elf, const struct image *image, struct error *err)
{
	const ElfW(Phdr) *h = find_header(image, PT_INTERP);

	if (!h)
		return 0;
	elf->interpreter = read_part(image->fd, h->p_offset, h->p_filesz);
	return elf->interpreter ? 0 : malformed(err, "interpreter");
}

static bool is_our_note(const char *name, uint32_t len)
{
	return len == sizeof(RECORD_NOTE) && !memcmp(name, RECORD_NOTE, len);
}

static void look_for_note(struct elf_file *elf, const char *notes, size_t len)
{
	for (size_t at = 0; len - at >= sizeof(ElfW(Nhdr));) {
		ElfW(Nhdr) note;
		uint64_t name, end;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		end = name + ((uint64_t)note.n_namesz + 3) / 4 * 4 +
		      ((uint64_t)note.n_descsz + 3) / 4 * 4;
		if (name + note.n_namesz > len)
			return;
		if (is_our_note(notes + name, note.n_namesz))
			elf->has_note = true;
		if (end > len)
			return;
		at = end;
	}
}

/* A program without the note may have notes of any size and alignment. */
static void read_notes(struct elf_file *elf, const struct image *image)
{
	for (size_t i = 0; i < image->n_headers; i++) {
		const ElfW(Phdr) *h = &image->headers[i];
		_cleanup_free_ char *notes = NULL;

		if (h->p_type != PT_NOTE)
			continue;
		notes = read_part(image->fd, h->p_offset, h->p_filesz);
		if (notes)
			look_for_note(elf, notes, h->p_filesz);
	}
}

static int read_needed(struct elf_file *elf, const struct image *image, struct error *err)
{
	const ElfW(Phdr) *h = find_header(image, PT_DYNAMIC);
	_cleanup_free_ char *dynamic = NULL, *strings = NULL;
	uint64_t offset, left, size = 0;
	size_t n;

	if (!h)
		return 0;
	dynamic = read_part(image->fd, h->p_offset, h->p_filesz);
	if (!dynamic)
		return malformed(err, "dynamic section");
	n = h->p_filesz / sizeof(ElfW(Dyn));
	for (size_t i = 0; i < n && !strings; i++) {
		ElfW(Dyn) d;

		memcpy(&d, dynamic + i * sizeof(d), sizeof(d));
		if (d.d_tag != DT_STRTAB || !find_address(image, d.d_un.d_ptr, &offset, &left))
			continue;
		size = left < MAX_SEGMENT ? left : MAX_SEGMENT;
		strings = read_part(image->fd, offset, size);
	}
	for (size_t i = 0; i < n; i++) {
		ElfW(Dyn) d;

		memcpy(&d, dynamic + i * sizeof(d), sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_NEEDED && strings && d.d_un.d_val < size)
			namelist_add(&elf->needed, strings + d.d_un.d_val);
	}
	return 0;
}

static int read_headers(struct image *image, const ElfW(Ehdr) * head, struct error *err)
{
	size_t size = head->e_phnum * sizeof(*image->headers);

	if (head->e_phentsize != sizeof(*image->headers) || !head->e_phnum ||
	    head->e_phnum > MAX_HEADERS)
		return malformed(err, "program headers");
	image->headers = xcalloc(1, size);
	image->n_headers = head->e_phnum;
	return read_at(image->fd, image->headers, size, head->e_phoff)
	               ? 0
	               : malformed(err, "program headers");
}

int elf_read(struct elf_file *elf, int fd, struct error *err)
{
	struct image image = { .fd = fd };
	ElfW(Ehdr) head;
	int rc;

	*elf = (struct elf_file)ELF_FILE_INIT;
	if (!read_at(fd, head.e_ident, sizeof(head.e_ident), 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return error_set(err, ENOEXEC, "it is no ELF file");
	if (head.e_ident[EI_CLASS] != (__ELF_NATIVE_CLASS == 64 ? ELFCLASS64 : ELFCLASS32) ||
	    head.e_ident[EI_DATA] != BYTE_ORDER_HERE) {
		elf->foreign = true;
		return 0;
	}
	if (!read_at(fd, &head, sizeof(head), 0))
		return malformed(err, "header");
	elf->foreign = head.e_machine != MACHINE;
	if (elf->foreign)
		return 0;
	rc = read_headers(&image, &head, err);
	if (!rc)
		rc = read_interpreter(elf, &image, err);
	if (!rc)
		rc = read_needed(elf, &image, err);
	if (!rc)
		read_notes(elf, &image);
	free(image.headers);
	if (rc)
		elf_free(elf);
	return rc;
}

void elf_free(struct elf_file *elf)
{
	free(elf->interpreter);
	namelist_free(&elf->needed);
	*elf = (struct elf_file)ELF_FILE_INIT;
}
