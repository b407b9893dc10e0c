/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ring.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define RECORD_MAX 65535u /* perf_event_header.size has 16 bits */

static int open_event(struct perf_event_attr *attr, unsigned int cpu, int leader)
{
	attr->size = sizeof(*attr);
	attr->sample_type = RING_SAMPLE_TYPE;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->watermark = 1;
	attr->wakeup_watermark = UINT32_MAX;
	return (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

static size_t round_up(size_t size, size_t page)
{
	size_t rounded = page;

	while (rounded < size && rounded < SIZE_MAX / 2)
		rounded *= 2;
	return rounded;
}

int ring_open(struct ring *ring, unsigned int cpu, size_t size, struct error *err)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .disabled = 1, .task = 1
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map;

	*ring = (struct ring){ .fd = -1, .cpu = cpu, .size = round_up(size, page) };
	ring->fd = open_event(&attr, cpu, -1);
	if (ring->fd < 0)
		return error_errno(err, errno, "cannot open perf events on CPU %u%s", cpu,
		                   errno == EACCES || errno == EPERM
		                           ? ", which takes root or CAP_PERFMON"
		                           : "");
	map = mmap(NULL, page + ring->size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (map == MAP_FAILED) {
		error_errno(err, errno,
		            "cannot map %zu KiB for the events of CPU %u (see probe.ring and "
		            "/proc/sys/kernel/perf_event_mlock_kb)",
		            ring->size / 1024, cpu);
		close(take_fd(&ring->fd));
		return -err->err;
	}
	ring->page = map;
	ring->record = xcalloc(1, RECORD_MAX + 1);
	return 0;
}

int ring_add(const struct ring *ring, uint64_t tracepoint)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT,
		                        .config = tracepoint,
		                        .sample_period = 1 };
	int fd = open_event(&attr, ring->cpu, ring->fd);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

int ring_hold(unsigned int cpu, uint64_t tracepoint)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT,
		                        .config = tracepoint,
		                        .disabled = 1 };
	int fd = open_event(&attr, cpu, -1);

	return fd < 0 ? -errno : fd;
}

int ring_enable(const struct ring *ring)
{
	return ioctl(ring->fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
}

void ring_close(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + ring->size);
	if (ring->fd >= 0)
		close(ring->fd);
	free(ring->record);
	*ring = (struct ring)RING_INIT;
}

static const unsigned char *data_of(const struct ring *ring)
{
	return (const unsigned char *)ring->page + sysconf(_SC_PAGESIZE);
}

static void copy_out(const struct ring *ring, uint64_t at, void *to, size_t size)
{
	size_t begin = at & (ring->size - 1);
	size_t first = size < ring->size - begin ? size : ring->size - begin;

	memcpy(to, data_of(ring) + begin, first);
	memcpy((char *)to + first, data_of(ring), size - first);
}

/* The layouts are those of perf_event_open(2); a sample_id at the end is the time alone. */
static bool parse(struct ring_record *out, const unsigned char *record, uint16_t size)
{
	struct perf_event_header header;
	const unsigned char *body = record + sizeof(header);
	size_t left = size - sizeof(header);
	uint64_t words[4];

	memcpy(&header, record, sizeof(header));
	*out = (struct ring_record){ .type = header.type };
	if (header.type == PERF_RECORD_SAMPLE) {
		if (left < sizeof(uint64_t) + sizeof(uint32_t))
			return false;
		memcpy(&out->time, body, sizeof(out->time));
		memcpy(&out->size, body + sizeof(out->time), sizeof(out->size));
		out->data = body + sizeof(out->time) + sizeof(out->size);
		return out->size <= left - sizeof(out->time) - sizeof(out->size);
	}
	if (left < sizeof(uint64_t))
		return false;
	memcpy(&out->time, record + size - sizeof(uint64_t), sizeof(uint64_t));
	if (left < 2 * sizeof(uint64_t))
		return true;
	memcpy(words, body, left < sizeof(words) ? left : sizeof(words));
	if (header.type == PERF_RECORD_LOST)
		out->lost = words[1];
	if (header.type == PERF_RECORD_FORK) {
		memcpy(&out->pid, body, sizeof(out->pid));
		memcpy(&out->ppid, body + 4, sizeof(out->ppid));
		memcpy(&out->tid, body + 8, sizeof(out->tid));
		memcpy(&out->ptid, body + 12, sizeof(out->ptid));
	}
	return true;
}

void ring_read(struct ring *ring, uint64_t *cursor, uint64_t horizon, ring_fn *fn, void *ctx)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

	while (*cursor < head) {
		struct perf_event_header header;
		struct ring_record record;

		copy_out(ring, *cursor, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - *cursor)
			return; /* not a record: leave it, and find the ring full */
		copy_out(ring, *cursor, ring->record, header.size);
		if (parse(&record, ring->record, header.size)) {
			if (record.time >= horizon)
				return;
			fn(ctx, ring, &record);
		}
		*cursor += header.size;
	}
}

void ring_consume(struct ring *ring, uint64_t cursor)
{
	ring->tail = cursor;
	__atomic_store_n(&ring->page->data_tail, cursor, __ATOMIC_RELEASE);
}

bool ring_is_full(const struct ring *ring)
{
	uint64_t used = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE) - ring->tail;

	return used + 512 > ring->size;
}
