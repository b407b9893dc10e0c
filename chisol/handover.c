/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "handover.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>

enum word_kind {
	WORD_SETTING,
	WORD_READY,
	WORD_FAILURE
};

#define NO_TEXT   UINT32_MAX
#define NO_REASON UINT32_MAX

/* Followed by the two texts. */
struct word {
	uint32_t kind;
	uint32_t subject; /* the setting's place in the plan, or the errno */
	uint32_t outcome; /* the setting's state, or the exit status */
	uint32_t reason;  /* the place in reason_table */
	uint32_t text_length[2];
};

void handover_free(struct handover *h)
{
	free(h->bytes);
	*h = (struct handover)HANDOVER_INIT;
}

static void append(struct handover *h, const void *bytes, size_t n)
{
	if (!n)
		return;
	h->bytes = xgrow(h->bytes, h->n + n, &h->room, 1);
	memcpy(h->bytes + h->n, bytes, n);
	h->n += n;
}

static uint32_t reason_number(const char *reason)
{
	const struct reason_row *row = reason_find(reason);

	return row ? (uint32_t)(row - reason_table) : NO_REASON;
}

static const char *reason_of(uint32_t number)
{
	return number < n_reasons ? reason_table[number].code : NULL;
}

static void add_word(struct handover *h, struct word word, const char *first, const char *second)
{
	const char *texts[] = { first, second };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		word.text_length[i] = texts[i] ? (uint32_t)strlen(texts[i]) : NO_TEXT;
	append(h, &word, sizeof(word));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i])
			append(h, texts[i], strlen(texts[i]));
	}
}

void handover_add_settings(struct handover *h, const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_tasks; i++) {
		const struct task_setting *t = plan->tasks[i];

		add_word(h,
		         (struct word){ .kind = WORD_SETTING,
		                        .subject = (uint32_t)i,
		                        .outcome = t->state,
		                        .reason = reason_number(t->reason) },
		         t->detail, t->granted);
	}
}

void handover_add_ready(struct handover *h)
{
	add_word(h, (struct word){ .kind = WORD_READY, .reason = NO_REASON }, NULL, NULL);
}

void handover_add_failure(struct handover *h, int exit_status, const struct error *err)
{
	add_word(h,
	         (struct word){ .kind = WORD_FAILURE,
	                        .subject = (uint32_t)err->err,
	                        .outcome = (uint32_t)exit_status,
	                        .reason = reason_number(err->reason) },
	         err->text, NULL);
}

int handover_send(struct handover *h, int fd)
{
	size_t sent = 0;

	while (sent < h->n) {
		ssize_t n = send(fd, h->bytes + sent, h->n - sent, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			sent += (size_t)n;
	}
	h->n = 0;
	return 0;
}

int handover_receive(struct handover *h, int fd)
{
	ssize_t n;

	h->bytes = xgrow(h->bytes, h->n + 4096, &h->room, 1);
	n = recv(fd, h->bytes + h->n, h->room - h->n, MSG_DONTWAIT);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 1 : -errno;
	h->n += (size_t)n;
	return n > 0;
}

/* Takes one word and copies of its texts off the front; false if there is no whole one. */
static bool next_word(const struct handover *h, size_t *at, struct word *word, char *texts[2])
{
	size_t pos = *at;

	if (h->n - pos < sizeof(*word))
		return false;
	memcpy(word, h->bytes + pos, sizeof(*word));
	pos += sizeof(*word);
	for (int i = 0; i < 2; i++) {
		size_t length = word->text_length[i];

		if (length == NO_TEXT)
			continue;
		if (h->n - pos < length)
			return false;
		texts[i] = xstrndup(h->bytes + pos, length);
		pos += length;
	}
	*at = pos;
	return true;
}

enum handover_end handover_merge(const struct handover *h, struct plan *plan, int *exit_status,
                                 struct error *err)
{
	enum handover_end end = HANDOVER_CUT;
	size_t at = 0;

	for (;;) {
		char *texts[2] = { NULL, NULL };
		struct word word;
		bool whole = next_word(h, &at, &word, texts);

		if (whole && word.kind == WORD_SETTING && word.subject < plan->n_tasks &&
		    word.outcome <= KNOB_UNAVAILABLE) {
			struct task_setting *t = plan->tasks[word.subject];

			t->state = (enum knob_state)word.outcome;
			t->reason = reason_of(word.reason);
			xreplace(&t->detail, texts[0]);
			xreplace(&t->granted, texts[1]);
		} else if (whole && word.kind == WORD_READY) {
			end = HANDOVER_READY;
		} else if (whole && word.kind == WORD_FAILURE) {
			end = HANDOVER_FAILED;
			*exit_status = (int)word.outcome;
			error_set(err, (int)word.subject, "%s", texts[0] ? texts[0] : "");
			if (err)
				err->reason = reason_of(word.reason);
		}
		free(texts[0]);
		free(texts[1]);
		if (!whole)
			return end;
	}
}
