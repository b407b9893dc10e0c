/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "print.h"

#define WORST_SHOWN 10

const char *const doubt_texts[DOUBTS] = {
	[DOUBT_BACKWARDS] = "the counter went backwards: lengths and times may be wrong",
	[DOUBT_UNSTABLE] = "the counter did not run at one rate, compared with CLOCK_MONOTONIC: "
			   "lengths and times may be wrong",
	[DOUBT_INTERCEPTED] = "a read of the counter takes more than 200 ns: the hypervisor "
			      "intercepts it, and short gaps are not seen",
	[DOUBT_MIGRATED] = "a measuring thread was moved off its CPU (offline, or another cpuset?)",
};

const char *const doubt_keys[DOUBTS] = {
	[DOUBT_BACKWARDS] = "counter-backwards",
	[DOUBT_UNSTABLE] = "counter-unstable",
	[DOUBT_INTERCEPTED] = "counter-intercepted",
	[DOUBT_MIGRATED] = "migrated",
};

/* A length with three digits that matter: "596 ns", "12.3 us". The caller frees it. */
static char *length(double ns)
{
	static const struct {
		double factor;
		const char *name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	size_t i = 0;
	double value;

	while (i + 1 < ARRAY_SIZE(units) && ns < 0.9995 * units[i].factor)
		i++;
	value = ns / units[i].factor;
	return xasprintf("%.*f %s",
	                 i + 1 == ARRAY_SIZE(units) || value >= 100 ? 0
	                 : value >= 10                              ? 1
	                                                            : 2,
	                 value, units[i].name);
}

/* "12.3 (11.8-12.9)": with as many decimals as the first one deserves. */
static char *rate_text(const struct rate *rate)
{
	int decimals = rate->per_second >= 100 ? 0 : rate->per_second >= 1 ? 2 : 4;

	return xasprintf("%.*f (%.*f-%.*f)", decimals, rate->per_second, decimals, rate->low,
	                 decimals, rate->high);
}

static void print_head(FILE *out, const struct outcome *o)
{
	const struct run *run = o->run;
	const struct clock_quality *q = &run->measured[0].clock;
	double step = 1e9 / clock_hz(&run->scale);
	_cleanup_free_ char *cpus = cpumask_list(&run->cpus),
			    *control = cpumask_list(&run->control),
			    *elapsed = length((double)o->figures[0].elapsed_ns),
			    *threshold = length((double)run->threshold_ns);

	fprintf(out, "%s on CPU%s %s, controlled from CPU%s %s%s\n", elapsed,
	        run->n_measured == 1 ? "" : "s", cpus,
	        cpumask_weight(&run->control) == 1 ? "" : "s", control,
	        run->interrupted ? ", ended by a signal" : "");
	fprintf(out, "A gap of %s or more is a break%s\n", threshold,
	        o->args->threshold_ns ? "" : " (found in the valley of the gaps' spectrum)");
	fprintf(out, "Clock: %.3f MHz %s, granularity %.1f ns, %.1f ns a read\n",
	        clock_hz(&run->scale) / 1e6,
	        run->scale_is_kernels ? "by the kernel's own conversion"
	                              : "fitted to CLOCK_MONOTONIC over the run",
	        (double)q->granularity * step, q->read_cost * step);
	if (run->skew_ns)
		fprintf(out, "Times on different CPUs may be %llu ns apart\n",
		        (unsigned long long)run->skew_ns);
	if (run->unlocked)
		fputs("Memory was not locked (it needs root or RLIMIT_MEMLOCK): page faults count, "
		      "too\n",
		      out);
	if (!run->measured[0].record->rseq)
		fputs("No restartable sequences (Linux 4.18): kernel work in the thread "
		      "counts as interrupt\n",
		      out);
	for (unsigned int i = 0; i < DOUBTS; i++)
		if (run->doubts & 1u << i)
			fprintf(out, "DOUBT: %s\n", doubt_texts[i]);
}

static void print_cpus(FILE *out, const struct outcome *o)
{
	fprintf(out, "\n%5s %14s %8s %9s %22s %8s %8s %8s %9s %10s %9s\n", "CPU", "loops", "loop",
	        "breaks", "a second (95 %)", "median", "99 %", "longest", "stolen", "quiet for",
	        "coverage");
	for (size_t i = 0; i < o->run->n_measured; i++) {
		const struct figures *f = &o->figures[i];
		_cleanup_free_ char *loop = xasprintf("%.1f ns", f->loop_quiet_ns),
				    *rate = rate_text(&f->rate),
				    *median = f->n ? length((double)f->percentiles_ns[0])
		                                   : xstrdup("-"),
				    *high = f->n ? length((double)f->percentiles_ns[2])
		                                 : xstrdup("-"),
				    *longest = f->n ? length((double)f->max_ns) : xstrdup("-"),
				    *quiet = length((double)f->quiet_ns);
		double stolen = f->elapsed_ns ? (double)f->total_ns / (double)f->elapsed_ns : 0;

		fprintf(out, "%5u %14llu %8s %9llu %22s %8s %8s %8s %8.4f%% %10s %8.4f%%\n", f->cpu,
		        (unsigned long long)f->loops, loop, (unsigned long long)f->n, rate, median,
		        high, longest, 100 * stolen, quiet, 100 * f->coverage);
	}
}

static void print_classes(FILE *out, const struct outcome *o)
{
	fprintf(out, "\n%5s  %-30s %9s %10s %10s\n", "CPU", "breaks: the thread was", "number",
	        "total", "longest");
	for (size_t i = 0; i < o->run->n_measured; i++) {
		for (unsigned int c = 0; c < ISOLPROBE_CLASSES; c++) {
			const struct class_figures *f = &o->figures[i].by_class[c];
			_cleanup_free_ char *total = length((double)f->total_ns),
					    *longest = length((double)f->max_ns);

			if (f->n)
				fprintf(out, "%5u  %-30s %9llu %10s %10s\n", o->figures[i].cpu,
				        class_names[c], (unsigned long long)f->n, total, longest);
		}
	}
}

static void print_count(FILE *out, unsigned int cpu, const char *code, const char *meaning,
                        const struct join_count *count)
{
	_cleanup_free_ char *total = length((double)count->total),
			    *longest = length((double)count->longest);

	if (count->n)
		fprintf(out, "%5u  %-14s %9llu %10s %10s  %s\n", cpu, code,
		        (unsigned long long)count->n, total, longest, meaning);
}

/* How many of the gaps are explained, how many are not, and why. */
static void print_shares(FILE *out, const struct join_cpu *c, const struct gap_watch *gw)
{
	const struct outside_watch *outside = &gw->outside;
	const struct join_count kernel = join_kernels(c), foreign = join_foreign(c);
	const struct join_over over = join_over(c);
	_cleanup_free_ char *steal =
		length((double)outside_steal_ns(outside, (size_t)(c - gw->join.cpus)));

	fprintf(out,
	        "CPU %u: %llu breaks (%.2f %% of their time) are the kernel's; %.2f %% of these have "
	        "an event that says how\n",
	        c->cpu, (unsigned long long)kernel.n, join_percent(kernel.total, c->all.total),
	        join_percent(c->named.n, kernel.n));
	fprintf(out, "CPU %u: %llu are not the kernel's; %s, its steal time went up by %s", c->cpu,
	        (unsigned long long)foreign.n,
	        outside->vm ? "this is a virtual machine" : "there is no hypervisor", steal);
	if (outside->cpus[c - gw->join.cpus].has_smis)
		fprintf(out, ", %llu SMIs",
		        (unsigned long long)outside->cpus[c - gw->join.cpus].smis);
	if (gw->join.n_cpus > 1)
		fprintf(out,
		        "; of all breaks, %llu were at the same time on another CPU, %llu on all",
		        (unsigned long long)c->together, (unsigned long long)c->everywhere);
	fprintf(out,
	        "\nCPU %u: %llu of %llu breaks that are over the threshold by the kernel's events are "
	        "in a gap",
	        c->cpu, (unsigned long long)over.joined, (unsigned long long)over.n);
	if (c->blind)
		fprintf(out, ", %llu came while the probe was blind", (unsigned long long)c->blind);
	fprintf(out, "; times agree to %llu ns\n", (unsigned long long)c->off);
	if (c->lost)
		fprintf(out, "CPU %u: %llu gaps came too fast to be joined with anything\n", c->cpu,
		        (unsigned long long)c->lost);
}

static void print_causes(FILE *out, const struct outcome *o)
{
	const struct causes *c = &o->run->causes;
	const struct join *join = &c->gaps.join;

	if (c->unavailable)
		fprintf(out, "\nCauses are not known: %s\n", c->unavailable);
	if (!c->known)
		return;
	fprintf(out, "\n%5s  %-14s %9s %10s %10s\n", "CPU", "cause", "breaks", "total", "longest");
	for (size_t i = 0; i < join->n_cpus; i++) {
		const struct join_cpu *cpu = &join->cpus[i];

		for (size_t k = 0; k < n_causes; k++)
			print_count(out, cpu->cpu, causes[k].code, causes[k].meaning,
			            &cpu->causes[k]);
		for (size_t k = 0; k < n_outsides; k++)
			print_count(out, cpu->cpu, outsides[k].code, outsides[k].meaning,
			            &cpu->outsides[k]);
	}
	for (size_t i = 0; i < join->n_cpus; i++)
		print_shares(out, &join->cpus[i], &c->gaps);
}

/* The worst of all CPUs: each CPU's are in order, and the longest next is taken. */
static void print_worst(FILE *out, const struct outcome *o)
{
	_cleanup_free_ uint32_t *next = xcalloc(o->run->n_measured, sizeof(*next));

	fprintf(out, "\n%5s %14s %10s  %s\n", "CPU", "at", "length", "the worst breaks");
	for (unsigned int shown = 0; shown < WORST_SHOWN; shown++) {
		const struct tick_record *r;
		const struct join_gap *joined;
		const struct tick_gap *gap = NULL;
		_cleanup_free_ char *text = NULL, *cause = NULL;
		size_t from = 0;

		for (size_t i = 0; i < o->run->n_measured; i++) {
			r = o->run->measured[i].record;
			if (next[i] < r->worst.n && tick_worst(r)[next[i]].length >= r->threshold &&
			    (!gap || tick_worst(r)[next[i]].length > gap->length)) {
				gap = &tick_worst(r)[next[i]];
				from = i;
			}
		}
		if (!gap)
			return;
		next[from]++;
		r = o->run->measured[from].record;
		text = length((double)clock_ns(&r->scale, gap->length));
		joined = causes_find(&o->run->causes, from, gap);
		cause = joined ? join_words(joined) : NULL;
		fprintf(out, "%5u %12.6f s %10s  %s%s%s\n", gap->cpu,
		        (double)clock_ns(&r->scale, gap->start - r->begin) / 1e9, text,
		        class_names[gap->what], cause ? ": " : "", cause ? cause : "");
	}
}

void print_text(FILE *out, const struct outcome *o)
{
	bool any = false;

	print_head(out, o);
	print_cpus(out, o);
	for (size_t i = 0; i < o->run->n_measured; i++)
		any |= o->figures[i].n > 0;
	if (!any)
		return;
	print_classes(out, o);
	print_causes(out, o);
	if (o->args->n_gaps)
		print_worst(out, o);
}
