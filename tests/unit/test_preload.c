/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>

#include "../../chisol/preload.h"

static int setup(void **state)
{
	struct record_keep *keep = xcalloc(1, sizeof(*keep));

	*state = keep;
	return record_make(keep, NULL);
}

static int teardown(void **state)
{
	record_drop(*state);
	free(*state);
	unsetenv(RECORD_ENV);
	unsetenv(RECORD_ENV_RESTORE "LD_PRELOAD");
	unsetenv("LD_PRELOAD");
	return 0;
}

static uint32_t outcome(const struct record_keep *keep)
{
	struct record_handing handing;

	record_read_handing(keep, &handing);
	return handing.outcome;
}

static void test_every_outcome_has_a_sentence(void **state)
{
	struct record_keep *keep = *state;

	snprintf(keep->record->handing.file, sizeof(keep->record->handing.file), "/bin/thing");
	for (uint32_t i = 0; i < RECORD_HANDED_KINDS; i++) {
		_cleanup_free_ char *why = NULL;

		keep->record->handing.outcome = i;
		why = preload_why_not(keep, "/lib/it.so");
		assert_non_null(strstr(why, "/bin/thing"));
		assert_null(strstr(why, "(null)"));
	}
	keep->record->handing.outcome = UINT32_MAX;
	free(preload_why_not(keep, NULL));
}

static void test_a_library_of_another_version_is_named(void **state)
{
	struct record_keep *keep = *state;
	_cleanup_free_ char *why = NULL;

	keep->record->head.state = RECORD_REFUSED;
	keep->record->head.library_version = 4711;
	why = preload_why_not(keep, NULL);
	assert_non_null(strstr(why, "another version"));
	assert_non_null(strstr(why, "4711"));
}

/* This program itself is linked dynamically, and not with the library. */
static void test_who_cannot_take_the_record_gets_neither_descriptor_nor_variable(void **state)
{
	struct record_keep *keep = *state;
	const char *names[] = { "/proc/self/exe", "/dev/null", "no-such-command-at-all" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		preload_hand_over(keep, "/no/library.so", false, names[i]);
		assert_int_equal(outcome(keep), i ? RECORD_UNKNOWN_FILE : RECORD_NOT_LINKED);
		assert_null(getenv(RECORD_ENV));
		assert_int_equal(fcntl(keep->fd, F_GETFD), FD_CLOEXEC);
	}
	preload_hand_over(keep, NULL, true, "/proc/self/exe");
	assert_int_not_equal(outcome(keep), RECORD_TO_PRELOAD);
	assert_null(getenv("LD_PRELOAD"));
}

static void test_what_the_user_preloads_comes_first_and_can_be_put_back(void **state)
{
	struct record_keep *keep = *state;

	setenv("LD_PRELOAD", "libown.so", 1);
	preload_hand_over(keep, "/bin/sh", true, "sh");
	assert_int_equal(outcome(keep), RECORD_TO_PRELOAD);
	assert_string_equal(getenv("LD_PRELOAD"), "libown.so:/bin/sh");
	assert_string_equal(getenv(RECORD_ENV_RESTORE "LD_PRELOAD"), "libown.so");
	assert_int_equal(fcntl(keep->fd, F_GETFD), 0);
	assert_int_equal(atoi(getenv(RECORD_ENV)), keep->fd);
	assert_int_equal(keep->record->orders.pid, getpid());
}

static void test_a_path_that_the_loader_would_cut_is_not_given_to_it(void **state)
{
	struct record_keep *keep = *state;

	preload_hand_over(keep, "/a path/with:colons.so", true, "sh");
	assert_int_equal(outcome(keep), RECORD_NO_LIBRARY);
	preload_hand_over(keep, "/no/such/library.so", true, "sh");
	assert_int_equal(outcome(keep), RECORD_UNREADABLE_LIBRARY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_outcome_has_a_sentence),
		TEST(test_a_library_of_another_version_is_named),
		TEST(test_who_cannot_take_the_record_gets_neither_descriptor_nor_variable),
		TEST(test_what_the_user_preloads_comes_first_and_can_be_put_back),
		TEST(test_a_path_that_the_loader_would_cut_is_not_given_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
