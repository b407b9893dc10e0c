/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tick.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach.h"
#include "threshold.h"

#define LEARN_LEAST     16        /* passes to know the loop from, if it is slow */
#define LEARN_NS        300000000 /* to know the valley: 75 timer interrupts at 250 Hz */
#define GUESS_NS        1000      /* no kernel entry is much shorter in a virtual machine */
#define ABOVE_LOOP_NS   100       /* what is nearer to the loop is the loop */
#define VALLEY_HIGH_NS  4000      /* every kernel entry is shorter than that */
#define LOOKS_PER_CHECK 1024
#define BUSY_PART       1000 /* with more than this part spent in the probe, it looks at less */
#define KEEP_WORST      64
#define KEEP_FIRST      64

static __thread struct tick_record *current;
static __thread bool current_is_shared;

static uint64_t count_switches(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		return 0;
	return (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

static enum isolprobe_class classify(struct tick_record *r)
{
	enum rseq_state state = rseq_look(r->rseq);
	uint64_t switches;

	if (state == RSEQ_ARMED)
		return ISOLPROBE_INTERRUPT;
	rseq_arm(r->rseq);
	switches = count_switches();
	if (switches != r->switches) {
		r->switches = switches;
		return ISOLPROBE_SWITCHED;
	}
	return state == RSEQ_CLEARED ? ISOLPROBE_RETURN : ISOLPROBE_INTERRUPT;
}

static void keep_worst(struct tick_record *r, const struct tick_gap *gap)
{
	struct tick_gap displaced;

	if (worst_wants(&r->worst, gap->length))
		worst_add(&r->worst, gap, &displaced);
}

static void set_max_quiet(struct tick_record *r, uint64_t until)
{
	int64_t stretch = (int64_t)(until - r->quiet_since);

	/* Negative after a step back of the counter. */
	if (stretch > (int64_t)r->quiet)
		r->quiet = (uint64_t)stretch;
}

/* What became of the thread since the last look; length is of the whole pass. */
static struct tick_gap observe(struct tick_record *r, uint64_t start, uint64_t end)
{
	enum isolprobe_class what = classify(r);

	return (struct tick_gap){ end - start, start, rseq_cpu(r->rseq), what };
}

static void count_break(struct tick_record *r, const struct tick_gap *gap)
{
	struct tick_total *total = &r->breaks[gap->what];

	total->n++;
	total->length += gap->length;
	if (gap->length < r->min)
		r->min = gap->length;
	__atomic_store_n(&r->n_breaks, r->n_breaks + 1, __ATOMIC_RELAXED);
	set_max_quiet(r, gap->start);
	r->quiet_since = gap->start + gap->length + r->loop;
	if (r->n_first < r->room_first)
		r->first[r->n_first++] = *gap;
	for (int i = 0; i < 2; i++)
		if (r->rings[i])
			gap_ring_put(r->rings[i], gap);
}

static void record_gap(struct tick_record *r, struct tick_gap gap)
{
	struct tick_total *total = &r->breaks[gap.what];

	gap.length = gap.length > r->loop ? gap.length - r->loop : 0;
	histogram_add(&r->by_class[gap.what], gap.length);
	keep_worst(r, &gap);
	if (gap.length > total->max)
		total->max = gap.length;
	if (gap.length > r->max)
		__atomic_store_n(&r->max, gap.length, __ATOMIC_RELAXED);
	if (gap.length >= r->threshold)
		count_break(r, &gap);
}

static void set_limit(struct tick_record *r, uint64_t limit)
{
	r->blind_limit += limit - r->limit;
	r->limit = limit;
}

/* From here on it is known what counts as a gap. */
static void begin_to_measure(struct tick_record *r)
{
	r->stage = TICK_MEASURES;
	for (int i = 0; i < 2; i++) {
		struct gap_ring *ring = r->rings[i];

		if (!ring)
			continue;
		__atomic_store_n(&ring->loop, r->loop, __ATOMIC_RELAXED);
		__atomic_store_n(&ring->blind, r->blind_limit, __ATOMIC_RELAXED);
		__atomic_store_n(&ring->threshold, r->threshold, __ATOMIC_RELEASE);
	}
}

/* The loop is known: from now on only what is longer than it. */
static void learnt_loop(struct tick_record *r)
{
	const struct histogram *passes = &r->learning;
	uint64_t n = r->n_learnt, median = histogram_quantile(passes, n, 0.5, 0, UINT64_MAX);
	uint64_t spread = histogram_quantile(passes, n, 0.75, 0, UINT64_MAX) - median;
	uint64_t above = 4 * spread + clock_steps(&r->scale, ABOVE_LOOP_NS);
	uint64_t guess = clock_steps(&r->scale, GUESS_NS);

	r->loop = median;
	r->stage = TICK_LEARNS_VALLEY;
	if (r->threshold)
		begin_to_measure(r);
	else
		r->threshold = guess > above ? guess : above;
	set_limit(r, r->loop + (above < r->threshold ? above : r->threshold - 1));
	for (uint32_t i = 0; i < r->n_learnt; i++)
		if (r->learnt[i].length > r->limit)
			record_gap(r, r->learnt[i]);
}

/* The threshold goes into the valley, and what was counted by a guess is counted again. */
static void learnt_valley(struct tick_record *r)
{
	uint64_t low = r->limit - r->loop, high = clock_steps(&r->scale, VALLEY_HIGH_NS);
	struct histogram *all = &r->learning;
	unsigned int from, lowest;
	uint32_t kept = 0;

	memset(all, 0, sizeof(*all));
	for (unsigned int i = 0; i < ISOLPROBE_CLASSES; i++)
		histogram_merge(all, &r->by_class[i]);
	r->threshold = threshold_place(all, low, high > 4 * low ? high : 4 * low);
	from = histogram_index(r->threshold);
	for (unsigned int i = 0; i < ISOLPROBE_CLASSES; i++) {
		struct histogram_bucket total = histogram_total(&r->by_class[i], from);

		r->breaks[i].n = total.n;
		r->breaks[i].length = total.sum;
	}
	__atomic_store_n(&r->n_breaks, histogram_total(all, from).n, __ATOMIC_RELAXED);
	for (lowest = from; lowest < HISTOGRAM_BUCKETS && !all->buckets[lowest].n;)
		lowest++;
	r->min = histogram_low(lowest);
	for (uint32_t i = 0; i < r->n_first; i++)
		if (r->first[i].length >= r->threshold)
			r->first[kept++] = r->first[i];
	r->n_first = kept;
	begin_to_measure(r);
}

/* Moves on from stage to stage. Returns whether that took time, which is no gap. */
static bool learn(struct tick_record *r, uint64_t now)
{
	bool long_enough = now - r->begin > clock_steps(&r->scale, LEARN_NS);

	switch (r->stage) {
	case TICK_LEARNS_LOOP:
		if (r->n_learnt < TICK_LEARN && !(long_enough && r->n_learnt >= LEARN_LEAST))
			return false;
		learnt_loop(r);
		return true;
	case TICK_LEARNS_VALLEY:
		if (!long_enough)
			return false;
		learnt_valley(r);
		return true;
	case TICK_MEASURES:
		if (r->entries % LOOKS_PER_CHECK == 0 && r->busy > (now - r->begin) / BUSY_PART)
			set_limit(r, r->loop + r->threshold - 1);
		break;
	}
	return false;
}

static bool look(struct tick_record *r, uint64_t last, uint64_t now)
{
	struct tick_gap pass;

	r->entries++;
	if ((int64_t)(now - last) < 0) {
		r->backwards++;
		return false;
	}
	pass = observe(r, last, now);
	if (r->stage == TICK_LEARNS_LOOP) {
		histogram_add(&r->learning, pass.length);
		r->learnt[r->n_learnt++] = pass;
		if (pass.length < r->shortest)
			r->shortest = pass.length;
	} else {
		record_gap(r, pass);
	}
	return learn(r, now);
}

/* In a child of fork() there is none: a shared one is its parent's. */
struct tick_record *tick_current(void)
{
	if (current && current_is_shared && !attached_record())
		current = NULL;
	return current;
}

struct isolprobe_mark isolprobe_gap_(uint64_t last, uint64_t now)
{
	struct tick_record *r = tick_current();

	if (!r)
		return (struct isolprobe_mark){ now, UINT64_MAX };
	for (;;) {
		bool learnt = look(r, last, now);

		last = now;
		now = isolprobe_counter();
		/* An interruption of the probe is one of the loop, too. */
		if (learnt || now - last <= r->blind_limit || (int64_t)(now - last) < 0)
			break;
		r->ticks++;
	}
	r->busy += now - last;
	return (struct isolprobe_mark){ now, r->limit };
}

/* A slot of the record that is shared with chisol, for this thread to be in. */
static struct tick_slot *claim_slot(struct record *record, struct record_tick **claim)
{
	for (unsigned int i = 0; i < RECORD_TICKS; i++) {
		struct record_tick *t = &record->ticks[i];
		uint32_t was = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);
		struct tick_slot *slot;

		if (was != RECORD_TICK_FREE &&
		    (was != RECORD_TICK_LEFT ||
		     __atomic_load_n(&t->collected, __ATOMIC_ACQUIRE) != t->round))
			continue;
		if (!__atomic_compare_exchange_n(&t->state, &was, RECORD_TICK_CLAIMED, false,
		                                 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		slot = attached_slot(i);
		if (!slot) {
			__atomic_store_n(&t->state, was, __ATOMIC_RELEASE);
			break;
		}
		memset(slot, 0, sizeof(*slot));
		t->round++;
		t->tid = (uint32_t)syscall(SYS_gettid);
		*claim = t;
		return slot;
	}
	__atomic_fetch_add(&record->ticks_omitted, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void set_state(struct record_tick *claim, enum record_tick_state state)
{
	if (claim)
		__atomic_store_n(&claim->state, state, __ATOMIC_RELEASE);
}

static struct tick_record *map_record(const struct tick_options *options)
{
	size_t n = (size_t)options->n_worst + options->n_first;
	size_t size = sizeof(struct tick_record) + n * sizeof(struct tick_gap);
	struct record *shared = options->alone ? NULL : attached_record();
	struct tick_gap *gaps = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct record_tick *claim = NULL;
	struct tick_slot *slot;
	struct tick_record *r;

	if (gaps == MAP_FAILED)
		return NULL;
	slot = shared ? claim_slot(shared, &claim) : NULL;
	r = slot ? &slot->record : (struct tick_record *)(void *)(gaps + n);
	r->claim = claim;
	r->rings[0] = options->ring;
	r->rings[1] = slot ? &slot->ring : NULL;
	r->lists = gaps;
	r->lists_size = size;
	r->worst = (struct worst){ gaps, sizeof(*gaps), 0, options->n_worst };
	r->first = gaps + options->n_worst;
	r->room_first = options->n_first;
	return r;
}

static int find_scale(struct tick_record *r, const struct clock_scale *given)
{
	if (given) {
		r->scale = *given;
		r->scale_is_final = true;
		return 0;
	}
	r->scale_is_final = !clock_kernel_scale(&r->scale);
	return r->scale_is_final || !clock_fit_quickly(&r->scale) ? 0 : -ENOTSUP;
}

/* What a stay in the probe takes, generously. */
static uint64_t blind_cost(struct tick_record *r)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 16; i++) {
		uint64_t begin = isolprobe_counter(), took;

		r->learnt[0] = observe(r, begin, isolprobe_counter());
		r->switches = count_switches();
		took = isolprobe_counter() - begin;
		if (took < least)
			least = took;
	}
	return 8 * least;
}

int tick_begin(struct isolprobe *probe, const struct tick_options *options)
{
	struct tick_record *r;
	int rc;

	*probe = (struct isolprobe){ .limit = UINT64_MAX };
	if (tick_current())
		return -EBUSY;
	r = map_record(options);
	if (!r)
		return -ENOMEM;
	rc = find_scale(r, options->scale);
	if (rc) {
		tick_free(r);
		return rc;
	}
	r->rseq = rseq_begin();
	r->blind_limit = blind_cost(r) + clock_steps(&r->scale, GUESS_NS);
	if (options->threshold_ns)
		r->threshold = clock_steps(&r->scale, options->threshold_ns) + 1;
	r->shortest = r->min = UINT64_MAX;
	r->cpu = rseq_cpu(r->rseq);
	r->begin_point = clock_now();
	current = r;
	current_is_shared = r->claim;
	set_state(r->claim, RECORD_TICK_RUNS);
	probe->limit = r->limit;
	probe->last = r->begin = r->quiet_since = isolprobe_counter();
	return 0;
}

struct tick_record *tick_take(const struct isolprobe *probe)
{
	struct tick_record *r = tick_current();
	uint64_t off_ns;

	if (!r)
		return NULL;
	current = NULL;
	r->end = probe->last;
	r->end_cpu = rseq_cpu(r->rseq);
	rseq_end(r->rseq);
	r->end_point = clock_now();
	r->ticks += probe->ticks;
	/* The run was shorter than it takes to learn. */
	if (r->stage == TICK_LEARNS_LOOP)
		learnt_loop(r);
	if (r->stage == TICK_LEARNS_VALLEY)
		learnt_valley(r);
	set_max_quiet(r, r->end);
	worst_sort(&r->worst);
	if (!r->scale_is_final && r->end_point.ns - r->begin_point.ns > LEARN_NS)
		clock_fit(&r->scale, (struct clock_point[]){ r->begin_point, r->end_point }, 2,
		          &off_ns);
	set_state(r->claim, RECORD_TICK_ENDED);
	return r;
}

void tick_free(struct tick_record *record)
{
	struct record_tick *claim;

	if (!record)
		return;
	claim = record->claim;
	munmap(record->lists, record->lists_size);
	if (!claim)
		return;
	munmap(record, TICK_SLOT_SIZE); /* the slot begins with it */
	set_state(claim, RECORD_TICK_LEFT);
}

void tick_progress(const struct tick_record *record, uint64_t *n_breaks, uint64_t *max)
{
	*n_breaks = __atomic_load_n(&record->n_breaks, __ATOMIC_RELAXED);
	*max = __atomic_load_n(&record->max, __ATOMIC_RELAXED);
}

int isolprobe_begin_(struct isolprobe *probe, uint64_t threshold_ns)
{
	return tick_begin(probe, &(struct tick_options){ .threshold_ns = threshold_ns,
	                                                 .n_worst = KEEP_WORST,
	                                                 .n_first = KEEP_FIRST });
}

uint64_t isolprobe_broken(void)
{
	const struct tick_record *r = tick_current();

	return r ? r->n_breaks : 0;
}
