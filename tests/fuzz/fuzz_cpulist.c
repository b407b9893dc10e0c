/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whatever the list says: what is taken is online and never empty, and what is not has a sentence.
 */
#include "../../isolcore/cpulist.h"

#include <errno.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static struct system *machine(void)
{
	static struct system sys = SYSTEM_INIT;

	if (sys.machine.online.words)
		return &sys;
	/* The nodes and siblings are the live machine's; the rest is a machine with holes. */
	check(!sysroot_open(&sys.root, "/", NULL));
	check(!cpumask_parse_list(&sys.machine.possible, "0-71"));
	check(!cpumask_parse_list(&sys.machine.present, "0-39,64-67"));
	check(!cpumask_parse_list(&sys.machine.online, "0-7,10-39,64-67"));
	check(!cpumask_parse_list(&sys.machine.isolated, "4-7"));
	check(!cpumask_parse_list(&sys.machine.nohz_full, "5-7"));
	sys.machine.has_nohz_full = true;
	return &sys;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct system *sys = machine();
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT, again = CPUMASK_INIT;
	_cleanup_free_ char *text = xstrndup((const char *)data, size), *list = NULL, *hex = NULL;
	int rc = cpulist_parse(&cpus, text, sys, NULL, &err);

	if (rc) {
		check(rc == -EINVAL || rc == -ENXIO || rc == -ENODEV || rc == -err.err);
		check(err.text && !strchr(err.text, '\n') && cpumask_empty(&cpus));
		return 0;
	}
	check(!cpumask_empty(&cpus) && cpumask_subset(&cpus, &sys->machine.online));
	/* The two forms in which the result is shown are read back as the same. */
	list = cpumask_list(&cpus);
	check(!cpulist_parse(&again, list, sys, NULL, NULL) && cpumask_equal(&again, &cpus));
	hex = cpumask_hex(&cpus);
	if (strchr(hex, ','))
		check(!cpulist_parse(&again, hex, sys, NULL, NULL) && cpumask_equal(&again, &cpus));
	return 0;
}
