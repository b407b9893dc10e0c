/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whatever the file says: a journal that is taken keeps what its readers rely on. */
#include "../../isolcore/journal.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_journal_ struct journal j = JOURNAL_INIT;

	if (journal_parse(&j, "/run/chisol/7-9.journal", (const char *)data, size, &err)) {
		check(err.text && !j.path && !j.records);
		return 0;
	}
	check(j.run_id && j.boot_id && j.command && j.started && j.pid > 0 && j.size <= size);
	for (size_t i = 0; i < j.n_records; i++) {
		const struct journal_record *record = &j.records[i];

		check(record->type && record->wanted && record->path[0] == '/');
		check(!strstr(record->path, "/../") && !strchr(record->wanted, '\n'));
		check(i == 0 || record->seq > record[-1].seq);
	}
	return 0;
}
