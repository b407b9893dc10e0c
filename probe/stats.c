/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats.h"

#include <math.h>

#define TAIL      0.025    /* on each side of 95 % */
#define Z95       1.959964 /* the 97.5 % point of the normal distribution */
#define EXACT_MAX 100
#define HALVINGS  60

/* The probability of at most n events where mean are expected. */
static double at_most(unsigned int n, double mean)
{
	double term = exp(-mean), sum = term;

	for (unsigned int k = 1; k <= n; k++) {
		term *= mean / k;
		sum += term;
	}
	return sum;
}

/* The mean for which at most n events have a given probability. */
static double mean_for(unsigned int n, double probability)
{
	double low = 0, high = n + 10 * sqrt(n) + 10;

	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (at_most(n, middle) > probability)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static double byar(double n, double sign)
{
	double root = 1 - 1 / (9 * n) + sign * Z95 / (3 * sqrt(n));

	return n * root * root * root;
}

struct rate rate_poisson(uint64_t n, uint64_t elapsed_ns)
{
	double seconds = (double)elapsed_ns / 1e9, count = (double)n, low = 0, high;

	if (!elapsed_ns)
		return (struct rate){ 0, 0, 0 };
	if (n > EXACT_MAX) {
		low = byar(count, -1);
		high = byar(count + 1, 1);
	} else {
		low = n ? mean_for((unsigned int)n - 1, 1 - TAIL) : 0;
		high = mean_for((unsigned int)n, TAIL);
	}
	return (struct rate){ count / seconds, low / seconds, high / seconds };
}
