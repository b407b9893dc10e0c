/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "../../probe/elf_file.h"

/* A file in memory with this content. */
static int make_file(const void *bytes, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	return fd;
}

static char *read_self(size_t *len)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *bytes;

	assert_int_equal(read_whole(fd, SYSROOT_BIG, &bytes, len), 0);
	return bytes;
}

static void test_a_program_tells_its_loader_and_libraries(void **state)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_elf_ struct elf_file elf = ELF_FILE_INIT;
	bool has_libc = false;

	(void)state;
	assert_int_equal(elf_read(&elf, fd, NULL), 0);
	assert_false(elf.foreign);
	assert_non_null(elf.interpreter);
	assert_int_equal(access(elf.interpreter, X_OK), 0);
	for (size_t i = 0; i < elf.needed.n; i++)
		has_libc = has_libc || !strncmp(elf.needed.names[i], "libc.so.", 8);
	assert_true(has_libc);
}

static void test_what_is_no_elf_file_is_told(void **state)
{
	static const char *const texts[] = { "", "#!/bin/sh\n", "\177ELF",
		                             "MZ and so on, long enough" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_close_ int fd = make_file(texts[i], strlen(texts[i]));
		struct elf_file elf;

		assert_int_equal(elf_read(&elf, fd, NULL), -ENOEXEC);
	}
}

static void test_another_machine_or_word_size_is_foreign(void **state)
{
	static const struct {
		int at;
		char value;
	} changes[] = { { EI_CLASS, ELFCLASS32 },
		        { EI_DATA, ELFDATA2MSB },
		        { offsetof(Elf64_Ehdr, e_machine), EM_S390 } };
	_cleanup_free_ char *self = NULL;
	size_t len;

	(void)state;
	self = read_self(&len);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		char before = self[changes[i].at];
		_cleanup_elf_ struct elf_file elf = ELF_FILE_INIT;
		_cleanup_close_ int fd = -1;

		self[changes[i].at] = changes[i].value;
		fd = make_file(self, len);
		assert_int_equal(elf_read(&elf, fd, NULL), 0);
		assert_true(elf.foreign);
		self[changes[i].at] = before;
	}
}

/* Whatever the headers claim, nothing outside of the file is read, and nothing endless. */
static void test_a_file_that_lies_does_no_harm(void **state)
{
	_cleanup_free_ char *self = NULL;
	unsigned int seed = 1;
	size_t len;

	(void)state;
	self = read_self(&len);
	if (len > 4096)
		len = 4096;
	for (int round = 0; round < 2000; round++) {
		_cleanup_free_ char *bytes = xcalloc(1, len);
		_cleanup_elf_ struct elf_file elf = ELF_FILE_INIT;
		_cleanup_close_ int fd = -1;
		size_t keep = round % 7 ? len : (size_t)rand_r(&seed) % len;

		memcpy(bytes, self, len);
		/* Behind e_ident, where the headers are. */
		for (int i = 0; i < 8; i++)
			bytes[EI_NIDENT + (size_t)rand_r(&seed) % 800] = (char)rand_r(&seed);
		fd = make_file(bytes, keep);
		elf_read(&elf, fd, NULL);
	}
}

static void test_the_note_of_the_library_is_found_among_others(void **state)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segment;
		Elf64_Nhdr other;
		char other_name[4], other_text[8];
		Elf64_Nhdr ours;
		char our_name[12];
	} file = {
		.head = { .e_machine = EM_NONE,
		          .e_phoff = offsetof(__typeof__(file), segment),
		          .e_phentsize = sizeof(Elf64_Phdr),
		          .e_phnum = 1 },
		.segment = { .p_type = PT_NOTE,
		             .p_offset = offsetof(__typeof__(file), other),
		             .p_filesz = sizeof(file) - offsetof(__typeof__(file), other) },
		.other = { .n_namesz = 4, .n_descsz = 6 },
		.other_name = "GNU",
		.ours = { .n_namesz = sizeof("isolprobe") },
		.our_name = "isolprobe",
	};
	_cleanup_free_ char *self = NULL;
	size_t len;

	(void)state;
	self = read_self(&len);
	memcpy(file.head.e_ident, self, EI_NIDENT);
	file.head.e_machine = ((Elf64_Ehdr *)(void *)self)->e_machine;
	for (size_t cut = 0; cut < 30; cut++) {
		_cleanup_close_ int fd = -1;
		_cleanup_elf_ struct elf_file elf = ELF_FILE_INIT;

		file.segment.p_filesz = sizeof(file) - offsetof(__typeof__(file), other) - cut;
		fd = make_file(&file, sizeof(file));
		assert_int_equal(elf_read(&elf, fd, NULL), 0);
		assert_null(elf.interpreter);
		/* 12 bytes for a name of 10. */
		assert_int_equal(elf.has_note, cut <= 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_tells_its_loader_and_libraries),
		cmocka_unit_test(test_what_is_no_elf_file_is_told),
		cmocka_unit_test(test_another_machine_or_word_size_is_foreign),
		cmocka_unit_test(test_a_file_that_lies_does_no_harm),
		cmocka_unit_test(test_the_note_of_the_library_is_found_among_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
