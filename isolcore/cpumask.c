/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpumask.h"

#include <errno.h>
#include <stdint.h>

#define WORD_BITS (8 * sizeof(unsigned long))

void cpumask_free(struct cpumask *m)
{
	free(m->words);
	*m = (struct cpumask)CPUMASK_INIT;
}

static void reserve(struct cpumask *m, size_t n_words)
{
	size_t room = m->n_words;

	if (n_words <= m->n_words)
		return;
	m->words = xgrow(m->words, n_words, &room, sizeof(*m->words));
	memset(m->words + m->n_words, 0, (room - m->n_words) * sizeof(*m->words));
	m->n_words = room;
}

static unsigned long word(const struct cpumask *m, size_t i)
{
	return i < m->n_words ? m->words[i] : 0;
}

static size_t max_words(const struct cpumask *a, const struct cpumask *b)
{
	return a->n_words > b->n_words ? a->n_words : b->n_words;
}

void cpumask_set(struct cpumask *m, unsigned int cpu)
{
	reserve(m, cpu / WORD_BITS + 1);
	m->words[cpu / WORD_BITS] |= 1UL << (cpu % WORD_BITS);
}

void cpumask_set_range(struct cpumask *m, unsigned int first, unsigned int last)
{
	for (unsigned int cpu = first; cpu <= last; cpu++)
		cpumask_set(m, cpu);
}

void cpumask_clear_cpu(struct cpumask *m, unsigned int cpu)
{
	if (cpu / WORD_BITS < m->n_words)
		m->words[cpu / WORD_BITS] &= ~(1UL << (cpu % WORD_BITS));
}

bool cpumask_test(const struct cpumask *m, unsigned int cpu)
{
	return word(m, cpu / WORD_BITS) >> (cpu % WORD_BITS) & 1;
}

void cpumask_copy(struct cpumask *dst, const struct cpumask *src)
{
	if (dst == src)
		return;
	reserve(dst, src->n_words);
	for (size_t i = 0; i < dst->n_words; i++)
		dst->words[i] = word(src, i);
}

void cpumask_or(struct cpumask *dst, const struct cpumask *src)
{
	reserve(dst, src->n_words);
	for (size_t i = 0; i < src->n_words; i++)
		dst->words[i] |= src->words[i];
}

void cpumask_and(struct cpumask *dst, const struct cpumask *src)
{
	for (size_t i = 0; i < dst->n_words; i++)
		dst->words[i] &= word(src, i);
}

void cpumask_andnot(struct cpumask *dst, const struct cpumask *src)
{
	for (size_t i = 0; i < dst->n_words; i++)
		dst->words[i] &= ~word(src, i);
}

bool cpumask_equal(const struct cpumask *a, const struct cpumask *b)
{
	for (size_t i = 0; i < max_words(a, b); i++)
		if (word(a, i) != word(b, i))
			return false;
	return true;
}

bool cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
	for (size_t i = 0; i < a->n_words; i++)
		if (a->words[i] & word(b, i))
			return true;
	return false;
}

bool cpumask_subset(const struct cpumask *a, const struct cpumask *b)
{
	for (size_t i = 0; i < a->n_words; i++)
		if (a->words[i] & ~word(b, i))
			return false;
	return true;
}

bool cpumask_empty(const struct cpumask *m)
{
	return cpumask_next(m, 0) < 0;
}

unsigned int cpumask_weight(const struct cpumask *m)
{
	unsigned int n = 0;

	for (size_t i = 0; i < m->n_words; i++)
		n += (unsigned int)__builtin_popcountl(m->words[i]);
	return n;
}

long cpumask_next(const struct cpumask *m, long from)
{
	size_t i = (size_t)from / WORD_BITS;
	unsigned long w = word(m, i) & ~0UL << ((size_t)from % WORD_BITS);

	while (!w) {
		if (++i >= m->n_words)
			return -1;
		w = m->words[i];
	}
	return (long)(i * WORD_BITS) + __builtin_ctzl(w);
}

long cpumask_last(const struct cpumask *m)
{
	for (size_t i = m->n_words; i-- > 0;)
		if (m->words[i])
			return (long)(i * WORD_BITS) + (long)WORD_BITS - 1 -
			       __builtin_clzl(m->words[i]);
	return -1;
}

char *cpumask_list(const struct cpumask *m)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = xopen_memory(&text, &size);
	const char *comma = "";

	for (long first = cpumask_next(m, 0); first >= 0;) {
		long last = first;

		while (cpumask_test(m, (unsigned int)last + 1))
			last++;
		if (first == last)
			fprintf(out, "%s%ld", comma, first);
		else
			fprintf(out, "%s%ld-%ld", comma, first, last);
		comma = ",";
		first = cpumask_next(m, last + 1);
	}
	xclose_memory(out);
	return text;
}

char *cpumask_hex(const struct cpumask *m)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = xopen_memory(&text, &size);
	long last = cpumask_last(m);

	for (long group = last < 0 ? 0 : last / 32; group >= 0; group--) {
		size_t bit = (size_t)group * 32;
		uint32_t bits = (uint32_t)(word(m, bit / WORD_BITS) >> (bit % WORD_BITS));

		if (group == (last < 0 ? 0 : last / 32))
			fprintf(out, "%x", bits);
		else
			fprintf(out, ",%08x", bits);
	}
	xclose_memory(out);
	return text;
}

/* The text up to its trailing newline; NULL if what follows the newline is not the end. */
static const char *text_end(const char *text)
{
	const char *end = text + strcspn(text, "\n");

	return *end && end[1] ? NULL : end;
}

static bool parse_cpu(const char **p, const char *end, unsigned int *cpu)
{
	unsigned long value = 0;
	const char *s = *p;

	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		value = value * 10 + (unsigned long)(*s - '0');
		if (value > CPUMASK_MAX)
			return false;
	}
	if (s == *p)
		return false;
	*p = s;
	*cpu = (unsigned int)value;
	return true;
}

int cpumask_parse_list(struct cpumask *m, const char *text)
{
	const char *end = text_end(text), *p = text;

	cpumask_free(m);
	if (!end)
		return -EINVAL;
	/* An unset nohz_full is "  (null)" on kernels <= 6.12. */
	while (p < end && *p == ' ')
		p++;
	if (p == end ||
	    ((size_t)(end - p) == strlen("(null)") && !strncmp(p, "(null)", strlen("(null)"))))
		return 0;
	for (;;) {
		unsigned int first, last;

		if (!parse_cpu(&p, end, &first))
			break;
		last = first;
		if (p < end && *p == '-') {
			p++;
			if (!parse_cpu(&p, end, &last) || last < first)
				break;
		}
		cpumask_set_range(m, first, last);
		if (p == end)
			return 0;
		if (*p++ != ',')
			break;
	}
	cpumask_free(m);
	return -EINVAL;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int cpumask_parse_hex(struct cpumask *m, const char *text)
{
	const char *end = text_end(text);
	unsigned int bit = 0, in_group = 0;

	cpumask_free(m);
	if (!end || end == text)
		return -EINVAL;
	for (const char *p = end; p-- > text;) {
		int digit = hex_digit(*p);

		if (*p == ',') {
			if (in_group == 0 || in_group > 8)
				goto bad;
			bit += (8 - in_group) * 4;
			in_group = 0;
			continue;
		}
		if (digit < 0 || bit + 3 > CPUMASK_MAX || in_group == 8)
			goto bad;
		for (unsigned int i = 0; i < 4; i++)
			if (digit >> i & 1)
				cpumask_set(m, bit + i);
		bit += 4;
		in_group++;
	}
	if (in_group)
		return 0;
bad:
	cpumask_free(m);
	return -EINVAL;
}

/*
 * The kernel refuses a buffer that is smaller than its own mask (EINVAL), and its size is not
 * published: sched_getaffinity(2) says to try with growing buffers.
 */
int cpumask_get_affinity(struct cpumask *m, pid_t tid)
{
	for (size_t n_words = 16; n_words <= CPUMASK_MAX / WORD_BITS + 1; n_words *= 2) {
		struct cpumask got = CPUMASK_INIT;

		reserve(&got, n_words);
		if (!sched_getaffinity(tid, got.n_words * sizeof(long), (cpu_set_t *)got.words)) {
			cpumask_free(m);
			*m = got;
			return 0;
		}
		cpumask_free(&got);
		if (errno != EINVAL)
			return -errno;
	}
	return -EINVAL;
}

int cpumask_set_affinity(const struct cpumask *m, pid_t tid)
{
	if (!m->n_words)
		return -EINVAL;
	if (sched_setaffinity(tid, m->n_words * sizeof(long), (const cpu_set_t *)m->words))
		return -errno;
	return 0;
}
