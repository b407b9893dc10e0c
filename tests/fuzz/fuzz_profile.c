/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whatever the file says: a profile that is taken leaves every key in its range and says where it
 * was given; one that is refused says in which lines.
 */
#include "../../isolcore/profile.h"
#include "../../isolcore/profile_keys.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_key(const struct request *req, unsigned int i)
{
	const struct profile_key *key = &profile_keys[i];
	const void *place = (const char *)req + key->offset;
	unsigned int allowed = 0, value = 0;
	const char *text;

	if (key->type == KEY_WORD || key->type == KEY_WORDS || key->type == KEY_NUMBER)
		memcpy(&value, place, sizeof(value));
	check((req->origins[i].given == GIVEN_PROFILE) == (req->origins[i].text != NULL));
	switch (key->type) {
	case KEY_WORD:
	case KEY_WORDS:
		for (const struct key_word *w = key->words; w->word; w++)
			allowed |= key->type == KEY_WORD ? w->value == value : w->value;
		check(key->type == KEY_WORD ? allowed : !(value & ~allowed));
		break;
	case KEY_NUMBER:
		check(req->origins[i].given == GIVEN_NOT ||
		      (value >= key->min && value <= key->max));
		break;
	case KEY_TEXT:
	case KEY_CPUS:
		text = *(char *const *)place;
		check(!text || (*text && !strpbrk(text, "\r\n")));
		break;
	case KEY_BOOL:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_request_ struct request req;
	int rc;

	request_init(&req);
	rc = profile_parse(&req, "fuzz.conf", (const char *)data, size, &err);
	check(!rc == !err.text);
	for (const char *line = err.text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		check(!strncmp(line, "fuzz.conf:", strlen("fuzz.conf:")));
	}
	for (unsigned int i = 0; i < n_profile_keys; i++)
		check_key(&req, i);
	return 0;
}
