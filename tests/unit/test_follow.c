/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../../isolcore/mem.h"
#include "../../probe/follow.h"

/* Follows this process itself; every CPU is one of the workload. */
struct own {
	struct follow follow;
	struct record_thread threads[RECORD_THREADS];
	struct record_folded folded;
	struct record_cpus workload;
};

static int setup(void **state)
{
	struct own *own = xcalloc(1, sizeof(*own));

	memset(own->workload.words, 0xff, sizeof(own->workload.words));
	own->follow = (struct follow){ .pid = getpid(),
		                       .workload = &own->workload,
		                       .threads = own->threads,
		                       .folded = &own->folded };
	*state = own;
	return follow_open(&own->follow);
}

static int teardown(void **state)
{
	struct own *own = *state;

	follow_close(&own->follow);
	free(own);
	return 0;
}

static struct record_thread *find(struct own *own, uint32_t tid)
{
	for (size_t i = 0; i < RECORD_THREADS; i++)
		if (own->threads[i].tid == tid)
			return &own->threads[i];
	return NULL;
}

struct other {
	pthread_t thread;
	pid_t tid;
	int go[2], ready[2];
};

static void *sleep_until_told(void *arg)
{
	struct other *other = arg;
	char byte;

	prctl(PR_SET_NAME, "an (odd) name");
	other->tid = gettid();
	assert_int_equal(write(other->ready[1], "", 1), 1);
	for (int i = 0; i < 10; i++)
		usleep(1000);
	assert_int_equal(write(other->ready[1], "", 1), 1);
	assert_int_equal(read(other->go[0], &byte, 1), 1);
	return NULL;
}

static void begin(struct other *other)
{
	char bytes[2];

	assert_int_equal(pipe(other->go), 0);
	assert_int_equal(pipe(other->ready), 0);
	assert_int_equal(pthread_create(&other->thread, NULL, sleep_until_told, other), 0);
	assert_int_equal(read(other->ready[0], bytes, 1), 1);
	assert_int_equal(read(other->ready[0], bytes, 1), 1);
}

static void end(struct other *other)
{
	assert_int_equal(write(other->go[1], "", 1), 1);
	pthread_join(other->thread, NULL);
	for (int i = 0; i < 2; i++) {
		close(other->go[i]);
		close(other->ready[i]);
	}
}

static void test_every_thread_is_seen_with_what_it_did(void **state)
{
	struct own *own = *state;
	struct other other;
	struct record_thread *t;

	begin(&other);
	assert_int_equal(follow_look(&own->follow, 100), 0);
	assert_int_equal(own->follow.n_alive, 2);
	assert_int_equal(own->follow.n_hot, 2);
	t = find(own, (uint32_t)other.tid);
	assert_non_null(t);
	assert_string_equal(t->name, "an (odd) name");
	assert_true(t->now.voluntary >= 10);
	assert_int_equal(t->base.voluntary, 0);
	assert_true(t->flags & RECORD_HOT);
	assert_false(t->flags & (RECORD_MAIN | RECORD_ENDED));
	t = find(own, (uint32_t)getpid());
	assert_true(t->flags & RECORD_MAIN);
	/* What it had before does not count. */
	assert_memory_equal(&t->base, &t->now, sizeof(t->base));
	end(&other);
	assert_int_equal(follow_look(&own->follow, 200), 0);
	assert_int_equal(own->follow.n_alive, 1);
	t = find(own, (uint32_t)other.tid);
	assert_true(t->flags & RECORD_ENDED);
	assert_int_equal(t->last_ns, 100);
}

static void test_the_grace_counts_nothing(void **state)
{
	struct own *own = *state;
	struct other other;
	struct record_thread *t;

	own->follow.count_from = 150;
	begin(&other);
	follow_look(&own->follow, 100);
	t = find(own, (uint32_t)other.tid);
	assert_true(t->base.voluntary >= 10);
	follow_look(&own->follow, 200);
	assert_true(t->base.voluntary >= 10);
	assert_true(t->now.voluntary >= t->base.voluntary);
	end(&other);
}

static void test_the_thread_that_follows_is_no_thread_of_the_program(void **state)
{
	struct own *own = *state;
	struct other other;

	begin(&other);
	own->follow.self = other.tid;
	follow_look(&own->follow, 100);
	assert_int_equal(own->follow.n_alive, 1);
	assert_int_equal(own->follow.n_hot, 1);
	assert_true(find(own, (uint32_t)other.tid)->flags & RECORD_PROBE);
	end(&other);
}

static void test_a_full_table_gives_up_those_that_have_ended_and_keeps_their_sum(void **state)
{
	struct own *own = *state;

	for (uint32_t i = 0; i < RECORD_THREADS; i++)
		own->threads[i] = (struct record_thread){
			.tid = 10000000 + i,
			.flags = RECORD_ENDED | (i % 2 ? RECORD_HOT : 0),
			.n_looks = 1,
			.base = { .involuntary = 1 },
			.now = { .involuntary = 3 },
		};
	follow_look(&own->follow, 100);
	assert_non_null(find(own, (uint32_t)getpid()));
	assert_int_equal(own->follow.n_omitted, 0);
	assert_true(own->folded.n >= RECORD_THREADS / 4);
	assert_int_equal(own->folded.counts.involuntary, 2 * own->folded.n);
	/* Those that were never on the workload's CPUs go first. */
	assert_int_equal(own->folded.n_hot, 0);
}

static void test_a_table_full_of_living_threads_says_what_it_omits(void **state)
{
	struct own *own = *state;

	for (uint32_t i = 0; i < RECORD_THREADS; i++)
		own->threads[i] = (struct record_thread){ .tid = 10000000 + i };
	follow_look(&own->follow, 100);
	assert_null(find(own, (uint32_t)getpid()));
	assert_int_equal(own->follow.n_omitted, 1);
	assert_int_equal(own->folded.n, 0);
}

/* flags: of the place that another thread with this number has left. */
static struct record_thread *leave_place(struct own *own, const struct other *other, uint32_t flags)
{
	own->threads[5] = (struct record_thread){ .tid = (uint32_t)other->tid,
		                                  .start = 1,
		                                  .flags = flags,
		                                  .n_looks = 3,
		                                  .now = { .involuntary = 7 } };
	return &own->threads[5];
}

static void test_a_number_that_is_used_again_has_another_place(void **state)
{
	struct own *own = *state;
	struct other other;
	struct record_thread *left, *t;

	begin(&other);
	left = leave_place(own, &other, RECORD_ENDED | RECORD_HOT);
	/* As the new one does itself, before or after it was seen. */
	t = follow_claim(own->threads, (uint32_t)other.tid, 0);
	assert_ptr_not_equal(t, left);
	follow_look(&own->follow, 100);
	assert_ptr_equal(follow_claim(own->threads, (uint32_t)other.tid, 0), t);
	assert_ptr_equal(follow_claim(own->threads, (uint32_t)other.tid, t->start), t);
	assert_false(t->flags & RECORD_ENDED);
	assert_int_equal(t->n_looks, 1);
	assert_int_equal(left->now.involuntary, 7);
	assert_int_equal(own->folded.n, 0);
	end(&other);
}

static void test_a_thread_that_has_told_its_end_stays_so_while_it_is_listed(void **state)
{
	struct own *own = *state;
	struct other other;
	struct record_thread *t;

	begin(&other);
	t = follow_claim(own->threads, (uint32_t)other.tid, 0);
	record_flag(t, RECORD_ENDED);
	t->now.voluntary = 4711;
	follow_look(&own->follow, 100);
	assert_int_equal(t->now.voluntary, 4711);
	t->tid = 0;
	assert_null(find(own, (uint32_t)other.tid));
	end(&other);
}

static void test_a_place_whose_thread_ended_unnoticed_is_the_next_ones(void **state)
{
	struct own *own = *state;
	struct other other;
	struct record_thread *left;

	begin(&other);
	left = leave_place(own, &other, RECORD_HOT);
	follow_look(&own->follow, 100);
	assert_ptr_equal(find(own, (uint32_t)other.tid), left);
	assert_false(left->flags & RECORD_ENDED);
	assert_int_equal(left->n_looks, 1);
	assert_int_equal(own->folded.n, 1);
	assert_int_equal(own->folded.hot_counts.involuntary, 7);
	end(&other);
}

static void test_a_process_that_is_not_there_is_told(void **state)
{
	struct follow follow = { .pid = 99999999 };

	(void)state;
	assert_int_equal(follow_open(&follow), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_thread_is_seen_with_what_it_did, setup,
		                                teardown),
		cmocka_unit_test_setup_teardown(test_the_grace_counts_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_the_thread_that_follows_is_no_thread_of_the_program, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_full_table_gives_up_those_that_have_ended_and_keeps_their_sum, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_table_full_of_living_threads_says_what_it_omits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_number_that_is_used_again_has_another_place,
		                                setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_thread_that_has_told_its_end_stays_so_while_it_is_listed, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_a_place_whose_thread_ended_unnoticed_is_the_next_ones, setup,
			teardown),
		cmocka_unit_test(test_a_process_that_is_not_there_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
