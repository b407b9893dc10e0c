/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "../../isolcore/interrupts.h"
#include "tree.h"

static const struct tree_file cpus[] = { { "sys/devices/system/cpu/online", "0-3" },
	                                 { NULL, NULL } };
static const char x86[] =
	"           CPU0       CPU1       CPU3       \n"
	"  0:         44          0          0  IO-APIC   2-edge      timer\n"
	" 24:          1          0          7  PCI-MSIX-0000:00:01.0   0-edge      eth0, eth 1\n"
	" 25:          5          6          0  PCI-MSI 1-edge    \n"
	"LOC:        100        200        300   Local timer interrupts\n"
	"ERR:          9\n"
	"MIS:          8\n";
static const char softirqs[] = "                    CPU0       CPU1       CPU2       CPU3       \n"
			       "          HI:          0          0          0          0\n"
			       "       TIMER:         10         20         30         40\n";

static struct interrupt_table read_table(const struct tree *tree, const char *list)
{
	_cleanup_cpumask_ struct cpumask asked = CPUMASK_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;
	struct interrupt_table table = INTERRUPT_TABLE_INIT;

	assert_int_equal(cpumask_parse_list(&asked, list), 0);
	if (interrupts_read(&table, &tree->sys, &asked, &err))
		fail_msg("%s", err.text);
	return table;
}

static const struct interrupt_row *row_of(const struct interrupt_table *table, const char *id)
{
	for (size_t i = 0; i < table->n_rows; i++)
		if (!strcmp(table->rows[i].id, id))
			return &table->rows[i];
	return NULL;
}

static void columns_are_found_by_their_cpu_number(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(cpus);
	_cleanup_interrupts_ struct interrupt_table table = INTERRUPT_TABLE_INIT;
	_cleanup_free_ char *list = NULL;

	(void)state;
	tree_put(tree, "/proc/interrupts", x86);
	tree_put(tree, "/proc/softirqs", softirqs);
	table = read_table(tree, "1,2,3");
	list = cpumask_list(&table.cpus);
	assert_string_equal(list, "1,3"); /* CPU 2 is offline: it has no column */
	assert_int_equal(row_of(&table, "LOC")->counts[0], 200);
	assert_int_equal(row_of(&table, "LOC")->counts[1], 300);
	assert_int_equal(row_of(&table, "TIMER")->counts[1], 40);
	assert_int_equal(row_of(&table, "TIMER")->kind, INTERRUPT_SOFTIRQ);
	assert_string_equal(row_of(&table, "TIMER")->name, "");
	assert_null(table.unavailable);
}

static void rows_have_the_names_of_their_devices(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(cpus);
	_cleanup_interrupts_ struct interrupt_table table = INTERRUPT_TABLE_INIT;

	(void)state;
	tree_put(tree, "/proc/interrupts", x86);
	tree_put(tree, "/proc/softirqs", softirqs);
	table = read_table(tree, "0-3");
	assert_string_equal(row_of(&table, "0")->name, "timer");
	assert_string_equal(row_of(&table, "24")->name, "eth0, eth 1");
	assert_int_equal(row_of(&table, "24")->kind, INTERRUPT_DEVICE);
	assert_string_equal(row_of(&table, "25")->name, "");
	assert_string_equal(row_of(&table, "LOC")->name, "Local timer interrupts");
	assert_int_equal(row_of(&table, "LOC")->kind, INTERRUPT_ARCH);
}

static void counts_of_the_whole_machine_are_nobodys(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(cpus);
	_cleanup_interrupts_ struct interrupt_table table = INTERRUPT_TABLE_INIT;

	(void)state;
	tree_put(tree, "/proc/interrupts", x86);
	table = read_table(tree, "0-3");
	assert_null(row_of(&table, "ERR"));
	assert_null(row_of(&table, "MIS"));
}

static void arm64_has_no_loc_and_numbered_timers(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(cpus);
	_cleanup_interrupts_ struct interrupt_table table = INTERRUPT_TABLE_INIT;

	(void)state;
	tree_put(tree, "/proc/interrupts",
	         "           CPU0       CPU1       \n"
	         " 11:       5003       4001     GICv3  27 Level     arch_timer\n"
	         "IPI0:        12         13       Rescheduling interrupts\n"
	         "Err:          0\n");
	table = read_table(tree, "1");
	assert_string_equal(row_of(&table, "11")->name, "arch_timer");
	assert_int_equal(row_of(&table, "11")->counts[0], 4001);
	assert_string_equal(row_of(&table, "IPI0")->name, "Rescheduling interrupts");
	assert_null(row_of(&table, "Err"));
}

static void what_increased_is_left(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(cpus);
	_cleanup_interrupts_ struct interrupt_table before = INTERRUPT_TABLE_INIT,
						    after = INTERRUPT_TABLE_INIT;

	(void)state;
	tree_put(tree, "/proc/interrupts",
	         " CPU0 CPU1 CPU2\n"
	         " 24: 1 5 9  PCI-MSI 0-edge      eth0\n"
	         " 25: 7 7 7  PCI-MSI 1-edge      eth1\n"
	         "LOC: 1 4294967290 2   Local timer interrupts\n");
	before = read_table(tree, "0-2");
	/* CPU 1 went offline, 25 became another device, LOC of CPU 2 wrapped, 26 is new. */
	tree_put(tree, "/proc/interrupts",
	         " CPU0 CPU2\n"
	         " 24: 1 12  PCI-MSI 0-edge      eth0\n"
	         " 25: 3 0  PCI-MSI 1-edge      nvme0q1\n"
	         " 26: 0 4  PCI-MSI 1-edge      eth2\n"
	         "LOC: 1 1   Local timer interrupts\n");
	after = read_table(tree, "0-2");
	interrupts_subtract(&after, &before);
	assert_int_equal(after.n_rows, 4);
	assert_int_equal(row_of(&after, "24")->counts[0], 0);
	assert_int_equal(row_of(&after, "24")->counts[1], 3);
	assert_int_equal(row_of(&after, "25")->counts[0], 3);
	assert_int_equal(row_of(&after, "26")->counts[1], 4);
	assert_int_equal(row_of(&after, "LOC")->counts[0], 0);
	assert_int_equal(row_of(&after, "LOC")->counts[1], 1);
	interrupts_subtract(&after, &after);
	assert_int_equal(after.n_rows, 0);
}

static void more_cpus_than_a_cpu_set_t_holds(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(cpus);
	_cleanup_interrupts_ struct interrupt_table table = INTERRUPT_TABLE_INIT;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	for (int cpu = 0; cpu < 8192; cpu++)
		fprintf(out, "    CPU%d", cpu);
	fputs("\nLOC:", out);
	for (int cpu = 0; cpu < 8192; cpu++)
		fprintf(out, " %d", cpu);
	fputs("   Local timer interrupts\n", out);
	fclose(out);
	tree_put(tree, "/proc/interrupts", text);
	free(text);
	table = read_table(tree, "4096,8191");
	assert_int_equal(table.rows[0].counts[0], 4096);
	assert_int_equal(table.rows[0].counts[1], 8191);
}

static void a_masked_file_is_told_and_the_other_one_read(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(cpus);
	_cleanup_interrupts_ struct interrupt_table table = INTERRUPT_TABLE_INIT,
						    nothing = INTERRUPT_TABLE_INIT;

	(void)state;
	tree_put(tree, "/proc/interrupts", "");
	tree_put(tree, "/proc/softirqs", softirqs);
	table = read_table(tree, "2");
	assert_non_null(strstr(table.unavailable, "/proc/interrupts is empty"));
	assert_int_equal(row_of(&table, "TIMER")->counts[0], 30);
	tree_remove(tree, "/proc/interrupts");
	tree_remove(tree, "/proc/softirqs");
	nothing = read_table(tree, "2");
	assert_non_null(strstr(nothing.unavailable, "/proc/softirqs"));
	assert_int_equal(nothing.n_rows, 0);
}

static void what_is_no_such_table_is_refused(void **state)
{
	static const char *const bad[] = {
		"\n", "hello\n", "CPU\n", "CPU0 CPUx\n", "CPU0 CPU99999999999999999999\n", "CPU-1\n"
	};
	_cleanup_tree_ struct tree *tree = tree_open(cpus);
	_cleanup_cpumask_ struct cpumask asked = CPUMASK_INIT;

	(void)state;
	cpumask_set(&asked, 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_interrupts_ struct interrupt_table table = INTERRUPT_TABLE_INIT;
		_cleanup_error_ struct error err = ERROR_INIT;

		tree_put(tree, "/proc/interrupts", bad[i]);
		assert_int_equal(interrupts_read(&table, &tree->sys, &asked, &err), -EINVAL);
		assert_non_null(strstr(err.text, "/proc/interrupts"));
	}
}

static void rows_cut_short_or_without_a_colon_are_passed_over(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(cpus);
	_cleanup_interrupts_ struct interrupt_table table = INTERRUPT_TABLE_INIT;

	(void)state;
	tree_put(tree, "/proc/interrupts",
	         "CPU0 CPU1\n\n:\n 1\n 24: 1\n 25: 1 x\n 26: 1 2x\nLOC: 1 2\n 27: 3");
	table = read_table(tree, "0-1");
	assert_int_equal(table.n_rows, 1);
	assert_string_equal(table.rows[0].id, "LOC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_found_by_their_cpu_number),
		cmocka_unit_test(rows_have_the_names_of_their_devices),
		cmocka_unit_test(counts_of_the_whole_machine_are_nobodys),
		cmocka_unit_test(arm64_has_no_loc_and_numbered_timers),
		cmocka_unit_test(what_increased_is_left),
		cmocka_unit_test(more_cpus_than_a_cpu_set_t_holds),
		cmocka_unit_test(a_masked_file_is_told_and_the_other_one_read),
		cmocka_unit_test(what_is_no_such_table_is_refused),
		cmocka_unit_test(rows_cut_short_or_without_a_colon_are_passed_over),
	};

	return cmocka_run_group_tests_name("interrupts", tests, NULL, NULL);
}
