/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a recorded tree for chisol --root: a machine of any size. See usage().
 *
 * Of the interrupts half may go to all CPUs, a quarter to those of one node and a quarter to one
 * CPU each, as on a server with several network cards.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_IRQ    24
#define FIRST_THREAD 1000

struct tree {
	int fd;
	unsigned long n_cpus, n_irqs, n_nodes, n_managed, n_threads;
	const char *cgroup;
	bool interrupts;
};

static void die(const char *what, const char *name)
{
	fprintf(stderr, "mktree: cannot %s %s: %s\n", what, name, strerror(errno));
	exit(1);
}

static void usage(FILE *out)
{
	fputs("Usage: mktree [OPTION...] DIR CPUS IRQS\n"
	      "Makes DIR a tree for chisol --root with so many CPUs and interrupts.\n\n"
	      "  --nodes=N           NUMA nodes (1)\n"
	      "  --cgroup=v1|v2|none where the cpuset controller is (v2)\n"
	      "  --managed=N         so many of the interrupts are placed by the kernel (0)\n"
	      "  --threads=N         so many of the interrupts have a thread (0)\n"
	      "  --interrupts        /proc/interrupts and softirqs too: CPUS x IRQS x 11 bytes\n"
	      "  --help\n",
	      out);
}

static unsigned long number(const char *text, unsigned long least)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value < least || value > 1000000) {
		fprintf(stderr, "mktree: \"%s\" is not a number from %lu to 1000000\n", text,
		        least);
		exit(2);
	}
	return value;
}

/* A directory and those above it; names are at most some tens of characters long. */
__attribute__((format(printf, 2, 3))) static void make_dir(const struct tree *tree, const char *fmt,
                                                           ...)
{
	char *path;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&path, fmt, ap) < 0)
		die("name", fmt);
	va_end(ap);
	for (char *slash = path; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		if (mkdirat(tree->fd, path, 0755) && errno != EEXIST)
			die("make", path);
	}
	if (mkdirat(tree->fd, path, 0755) && errno != EEXIST)
		die("make", path);
	free(path);
}

static FILE *open_file(const struct tree *tree, const char *path, mode_t mode)
{
	int fd = openat(tree->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		die("make", path);
	return file;
}

/* One line into dir/name. */
__attribute__((format(printf, 5, 6))) static void put(const struct tree *tree, const char *dir,
                                                      const char *name, mode_t mode,
                                                      const char *fmt, ...)
{
	char *path = NULL, *line;
	va_list ap;
	int fd, len;

	va_start(ap, fmt);
	len = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (len < 0 || asprintf(&path, "%s/%s", dir, name) < 0)
		die("name", name);
	line[len] = '\n'; /* in place of the NUL */
	fd = openat(tree->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0 || write(fd, line, (size_t)len + 1) != len + 1 || close(fd))
		die("write", path);
	free(line);
	free(path);
}

/* "LIST" and the hex mask of the CPUs first to last. The caller frees them. */
static char *list_of(unsigned long first, unsigned long last)
{
	char *text;

	if ((first == last ? asprintf(&text, "%lu", first)
	                   : asprintf(&text, "%lu-%lu", first, last)) < 0)
		die("name", "CPUs");
	return text;
}

static char *mask_of(const struct tree *tree, unsigned long first, unsigned long last)
{
	unsigned long n_groups = (tree->n_cpus + 31) / 32;
	char *text = malloc(n_groups * 9 + 1), *p = text;

	if (!text)
		die("name", "CPUs");
	for (unsigned long group = n_groups; group-- > 0;) {
		unsigned int bits = 0;

		for (unsigned long bit = 0; bit < 32; bit++)
			if (group * 32 + bit >= first && group * 32 + bit <= last)
				bits |= 1u << bit;
		p += sprintf(p, "%08x%s", bits, group ? "," : "");
	}
	return text;
}

static unsigned long node_first(const struct tree *tree, unsigned long node)
{
	return node * tree->n_cpus / tree->n_nodes;
}

static void make_cpus(const struct tree *tree)
{
	static const char dir[] = "sys/devices/system/cpu";
	static const char *const all[] = { "online", "possible", "present" };
	unsigned long half = tree->n_cpus / 2;
	char *list = list_of(0, tree->n_cpus - 1), path[128];

	make_dir(tree, "%s", dir);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		put(tree, dir, all[i], 0444, "%s", list);
	put(tree, dir, "isolated", 0444, "%s", "");
	put(tree, dir, "nohz_full", 0444, "%s", "");
	for (unsigned long cpu = 0; cpu < tree->n_cpus; cpu++) {
		snprintf(path, sizeof(path), "%s/cpu%lu/topology", dir, cpu);
		make_dir(tree, "%s", path);
		if (tree->n_cpus % 2)
			put(tree, path, "thread_siblings_list", 0444, "%lu", cpu);
		else
			put(tree, path, "thread_siblings_list", 0444, "%lu,%lu", cpu % half,
			    cpu % half + half);
	}
	for (unsigned long node = 0; node < tree->n_nodes; node++) {
		free(list);
		list = list_of(node_first(tree, node), node_first(tree, node + 1) - 1);
		snprintf(path, sizeof(path), "sys/devices/system/node/node%lu", node);
		make_dir(tree, "%s", path);
		put(tree, path, "cpulist", 0444, "%s", list);
	}
	free(list);
	list = list_of(0, tree->n_nodes - 1);
	put(tree, "sys/devices/system/node", "online", 0444, "%s", list);
	free(list);
}

static void make_irq(const struct tree *tree, unsigned long i)
{
	unsigned long cpu = i % tree->n_cpus, node = i % tree->n_nodes, first = 0,
		      last = tree->n_cpus - 1;
	bool managed = i < tree->n_managed;
	char *list, *mask, path[64];

	if (managed || i % 4 == 3) {
		first = last = cpu;
	} else if (i % 4 == 2) {
		first = node_first(tree, node);
		last = node_first(tree, node + 1) - 1;
	}
	if (cpu < first || cpu > last)
		cpu = first;
	list = list_of(first, last);
	mask = mask_of(tree, first, last);
	make_dir(tree, "proc/irq/%lu/eth%lu-rx-%lu", i + FIRST_IRQ, i / 64, i % 64);
	snprintf(path, sizeof(path), "proc/irq/%lu", i + FIRST_IRQ);
	put(tree, path, "smp_affinity", managed ? 0444 : 0644, "%s", mask);
	put(tree, path, "smp_affinity_list", managed ? 0444 : 0644, "%s", list);
	put(tree, path, "effective_affinity_list", 0444, "%lu", cpu);
	put(tree, path, "node", 0444, "%lu", node);
	free(list);
	free(mask);
}

static void make_thread(const struct tree *tree, unsigned long i)
{
	char *list = list_of(0, tree->n_cpus - 1), path[64], comm[64];

	snprintf(path, sizeof(path), "proc/%lu", i + FIRST_THREAD);
	snprintf(comm, sizeof(comm), "irq/%lu-eth%lu-rx-%lu", i + FIRST_IRQ, i / 64, i % 64);
	make_dir(tree, "%s", path);
	put(tree, path, "comm", 0644, "%s", comm);
	put(tree, path, "stat", 0444, "%lu (%s) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 -51 0 1 0 %lu",
	    i + FIRST_THREAD, comm, 100 + i);
	put(tree, path, "status", 0444, "Name:\t%s\nState:\tS (sleeping)\nCpus_allowed_list:\t%s",
	    comm, list);
	free(list);
}

static void make_table(const struct tree *tree, const char *path, const char *const *rows,
                       size_t n_rows, unsigned long n_numbered)
{
	FILE *file = open_file(tree, path, 0444);

	fputs("           ", file);
	for (unsigned long cpu = 0; cpu < tree->n_cpus; cpu++)
		fprintf(file, "CPU%-8lu", cpu);
	putc('\n', file);
	for (unsigned long i = 0; i < n_numbered; i++) {
		fprintf(file, "%5lu:", i + FIRST_IRQ);
		for (unsigned long cpu = 0; cpu < tree->n_cpus; cpu++)
			fprintf(file, "%11lu", cpu == i % tree->n_cpus ? i : 0);
		fprintf(file, "  PCI-MSI %lu-edge      eth%lu-rx-%lu\n", i, i / 64, i % 64);
	}
	for (size_t i = 0; i < n_rows; i++) {
		size_t len = strcspn(rows[i], " ");

		fprintf(file, "%5.*s:", (int)len, rows[i]);
		for (unsigned long cpu = 0; cpu < tree->n_cpus; cpu++)
			fprintf(file, "%11lu", cpu);
		fprintf(file, "%s%s\n", rows[i][len] ? "  " : "", rows[i] + len);
	}
	if (fclose(file))
		die("write", path);
}

static void make_proc(const struct tree *tree)
{
	static const char *const arch_rows[] = { "LOC Local timer interrupts",
		                                 "RES Rescheduling interrupts" };
	static const char *const softirqs[] = { "HI", "TIMER", "NET_RX", "RCU" };
	char *mask = mask_of(tree, 0, tree->n_cpus - 1);

	make_dir(tree, "proc/irq");
	put(tree, "proc/irq", "default_smp_affinity", 0644, "%s", mask);
	free(mask);
	for (unsigned long i = 0; i < tree->n_irqs; i++)
		make_irq(tree, i);
	for (unsigned long i = 0; i < tree->n_threads; i++)
		make_thread(tree, i);
	make_dir(tree, "proc/sys/kernel/random");
	make_dir(tree, "proc/sys/vm");
	put(tree, "proc/sys/kernel", "osrelease", 0444, "6.12.0-tree");
	put(tree, "proc/sys/kernel", "hostname", 0644, "tree");
	put(tree, "proc/sys/kernel", "arch", 0444, "x86_64");
	put(tree, "proc/sys/kernel/random", "boot_id", 0444,
	    "00000000-0000-4000-8000-000000000000");
	put(tree, "proc/sys/vm", "stat_interval", 0644, "1");
	put(tree, "proc", "cmdline", 0444, "root=/dev/vda1");
	if (!tree->interrupts)
		return;
	make_table(tree, "proc/interrupts", arch_rows, 2, tree->n_irqs);
	make_table(tree, "proc/softirqs", softirqs, 4, 0);
}

static void make_cgroup(const struct tree *tree)
{
	bool v1 = !strcmp(tree->cgroup, "v1");
	char *cpus = list_of(0, tree->n_cpus - 1), *mems = list_of(0, tree->n_nodes - 1);
	const char *dir = v1 ? "sys/fs/cgroup/cpuset" : "sys/fs/cgroup";

	make_dir(tree, "%s", dir);
	make_dir(tree, "proc/self");
	put(tree, dir, "cgroup.procs", 0644, "1");
	if (v1) {
		put(tree, "proc/self", "cgroup", 0444, "1:cpuset:/");
		put(tree, "proc/self", "mountinfo", 0444,
		    "31 25 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset");
		put(tree, dir, "tasks", 0644, "1");
		put(tree, dir, "cpuset.cpus", 0644, "%s", cpus);
		put(tree, dir, "cpuset.effective_cpus", 0444, "%s", cpus);
		put(tree, dir, "cpuset.mems", 0644, "%s", mems);
		put(tree, dir, "cpuset.effective_mems", 0444, "%s", mems);
		put(tree, dir, "cpuset.cpu_exclusive", 0644, "1");
		put(tree, dir, "cpuset.mem_exclusive", 0644, "1");
		put(tree, dir, "cpuset.sched_load_balance", 0644, "1");
	} else {
		put(tree, "proc/self", "cgroup", 0444, "0::/");
		put(tree, "proc/self", "mountinfo", 0444,
		    "31 25 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
		put(tree, dir, "cgroup.threads", 0644, "1");
		put(tree, dir, "cgroup.controllers", 0444, "cpuset cpu io memory pids");
		put(tree, dir, "cgroup.subtree_control", 0644, "cpuset cpu io memory pids");
		put(tree, dir, "cpuset.cpus.effective", 0444, "%s", cpus);
		put(tree, dir, "cpuset.cpus.isolated", 0444, "%s", "");
		put(tree, dir, "cpuset.mems.effective", 0444, "%s", mems);
	}
	free(cpus);
	free(mems);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "nodes", required_argument, NULL, 'n' },
		{ "cgroup", required_argument, NULL, 'c' },
		{ "managed", required_argument, NULL, 'm' },
		{ "threads", required_argument, NULL, 't' },
		{ "interrupts", no_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct tree tree = { .n_nodes = 1, .cgroup = "v2" };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'n':
			tree.n_nodes = number(optarg, 1);
			break;
		case 'c':
			tree.cgroup = optarg;
			break;
		case 'm':
			tree.n_managed = number(optarg, 0);
			break;
		case 't':
			tree.n_threads = number(optarg, 0);
			break;
		case 'i':
			tree.interrupts = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (argc - optind != 3) {
		usage(stderr);
		return 2;
	}
	tree.n_cpus = number(argv[optind + 1], 1);
	tree.n_irqs = number(argv[optind + 2], 0);
	if (tree.n_nodes > tree.n_cpus)
		tree.n_nodes = tree.n_cpus;
	if (tree.n_threads > tree.n_irqs)
		tree.n_threads = tree.n_irqs;
	if (mkdir(argv[optind], 0755) && errno != EEXIST)
		die("make", argv[optind]);
	tree.fd = open(argv[optind], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tree.fd < 0)
		die("open", argv[optind]);
	make_cpus(&tree);
	make_proc(&tree);
	if (strcmp(tree.cgroup, "none") != 0)
		make_cgroup(&tree);
	return 0;
}
