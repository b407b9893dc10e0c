/* SPDX-License-Identifier: GPL-2.0-or-later */
/* chisol.conf(5) against the table of keys, both ways. Runs in the top directory. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../isolcore/profile_keys.h"

#define MANUAL "man/chisol.conf.5"

static int read_manual(void **state)
{
	FILE *f = fopen(MANUAL, "re");
	char *text = NULL;
	size_t size = 0;

	assert_non_null(f);
	assert_true(getdelim(&text, &size, '\0', f) > 0);
	fclose(f);
	*state = text;
	return 0;
}

static int free_manual(void **state)
{
	free(*state);
	return 0;
}

/* The lines that the manual's item of a key begins with. */
static char *item(const struct profile_key *key)
{
	static const char *const types[] = {
		[KEY_WORD] = "Word: ",     [KEY_WORDS] = "Words: ", [KEY_BOOL] = "Yes or no",
		[KEY_NUMBER] = "Number: ", [KEY_TEXT] = "Text",     [KEY_CPUS] = "CPU list",
	};
	bool range = strchr(types[key->type], ':');
	bool policy = key->words && !key->default_text;
	_cleanup_free_ char *words = profile_key_range(key);
	_cleanup_free_ char *preset = policy ? xstrdup("Default: see Policies.\n")
	                              : key->default_text
	                                      ? xasprintf("Default: %s.\n", key->default_text)
	                                      : xstrdup("Not set by default.\n");

	return xasprintf(".It Cm %s\n%s%s.\n%s%s%s%s%s%s%s.Pp\n", key->name, types[key->type],
	                 range ? words : "", preset, key->file ? "Drives: " : "",
	                 key->file ? key->file : "", key->file ? ".\n" : "",
	                 key->since ? "Needs: " : "", key->since ? key->since : "",
	                 key->since ? ".\n" : "");
}

/* The text of a section of the manual, for the caller to free. */
static char *manual_section(const char *manual, const char *name)
{
	_cleanup_free_ char *heading = xasprintf("\n.Ss The [%s] section\n", name);
	const char *start = strstr(manual, heading), *end;

	if (!start)
		return NULL;
	start += strlen(heading);
	end = strstr(start, "\n.S");
	return end ? xstrndup(start, (size_t)(end + 1 - start)) : xstrdup(start);
}

static void every_key_is_in_the_manual_with_what_may_be_written(void **state)
{
	for (unsigned int i = 0; i < n_profile_keys; i++) {
		_cleanup_free_ char *section = manual_section(*state, profile_keys[i].section);
		_cleanup_free_ char *expected = item(&profile_keys[i]);

		assert_non_null(section);
		if (!strstr(section, expected))
			fail_msg("[%s] in " MANUAL " does not have:\n%s", profile_keys[i].section,
			         expected);
	}
}

static void every_key_of_the_manual_is_in_the_table(void **state)
{
	unsigned int n = 0;

	for (const struct profile_section *s = profile_sections; s->name; s++) {
		_cleanup_free_ char *section = manual_section(*state, s->name);

		assert_int_equal(section != NULL, s->supported);
		for (char *p = section; p && (p = strstr(p, "\n.It Cm ")); n++) {
			char *name = p + strlen("\n.It Cm ");

			p = strchrnul(name, '\n');
			name = xstrndup(name, (size_t)(p - name));
			if (profile_key_index(s->name, name) < 0)
				fail_msg(MANUAL ": there is no key %s in [%s]", name, s->name);
			free(name);
		}
	}
	assert_int_equal(n, n_profile_keys);
}

static void the_sections_kept_for_later_are_named(void **state)
{
	for (const struct profile_section *s = profile_sections; s->name; s++) {
		_cleanup_free_ char *name = xasprintf("[%s]", s->name);

		assert_non_null(strstr(*state, name));
	}
}

static void every_default_may_be_written(void **state)
{
	_cleanup_request_ struct request req;

	(void)state;
	request_init(&req);
	for (unsigned int i = 0; i < n_profile_keys; i++)
		if (profile_keys[i].default_text)
			assert_int_equal(profile_key_set(&req, i, profile_keys[i].default_text,
			                                 GIVEN_PROFILE, "test", false, NULL),
			                 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_in_the_manual_with_what_may_be_written),
		cmocka_unit_test(every_key_of_the_manual_is_in_the_table),
		cmocka_unit_test(the_sections_kept_for_later_are_named),
		cmocka_unit_test(every_default_may_be_written),
	};

	return cmocka_run_group_tests_name("profile_keys", tests, read_manual, free_manual);
}
