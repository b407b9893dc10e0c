/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "journal.h"

#include "process.h"
#include "state.h"
#include "utc.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#define FORMAT_VERSION 1
#define SHOWN_MAX      1024 /* bytes of a command or of profile names */

static void free_json(json_t **json)
{
	json_decref(*json);
}
#define _cleanup_json_ _cleanup_(free_json)

static void free_record(struct journal_record *record)
{
	free(record->name);
	free(record->path);
	free(record->found);
	free(record->wanted);
	free(record->left);
}

void journal_free(struct journal *j)
{
	for (size_t i = 0; i < j->n_records; i++)
		free_record(&j->records[i]);
	free(j->records);
	free(j->path);
	free(j->run_id);
	free(j->boot_id);
	free(j->command);
	free(j->profiles);
	free(j->started);
	cpumask_free(&j->cpus);
	if (j->fd >= 0)
		close(j->fd);
	*j = (struct journal)JOURNAL_INIT;
}

char *run_id_make(struct error *err)
{
	struct process self;

	if (process_self(&self, err))
		return NULL;
	return xasprintf("%d-%llu", self.pid, self.start_time);
}

static bool has_control(const char *text, const char *allowed)
{
	for (; *text; text++)
		if (((unsigned char)*text < 0x20 || *text == 0x7f) && !strchr(allowed, *text))
			return true;
	return false;
}

/* Is it absolute and free of ".."? */
static bool is_straight(const char *path)
{
	if (path[0] != '/' || strlen(path) >= PATH_MAX || has_control(path, ""))
		return false;
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += strspn(part, "/");
		if (!strncmp(part, "..", 2) && (!part[2] || part[2] == '/'))
			return false;
	}
	return true;
}

static bool is_value(const char *value)
{
	return !value || !has_control(value, "\t");
}

/* What is wrong with a record, or NULL. Holds for what is written as for what is read. */
static const char *record_fault(const struct journal_record *record)
{
	if (has_control(record->name, ""))
		return "the name has control characters";
	if (!is_straight(record->path))
		return "the path is not absolute and without \"..\"";
	if (!is_value(record->found) || !is_value(record->wanted) || !is_value(record->left))
		return "a value has more than one line";
	return NULL;
}

static struct journal_record *add_record(struct journal *j)
{
	j->records = xgrow(j->records, j->n_records + 1, &j->room, sizeof(*j->records));
	memset(&j->records[j->n_records], 0, sizeof(*j->records));
	return &j->records[j->n_records++];
}

static struct journal_record *find_record(struct journal *j, json_int_t seq)
{
	size_t low = 0, high = j->n_records;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (j->records[middle].seq == seq)
			return &j->records[middle];
		if (j->records[middle].seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static void drop_record(struct journal *j, struct journal_record *record)
{
	size_t after = j->n_records - (size_t)(record - j->records) - 1;

	free_record(record);
	memmove(record, record + 1, after * sizeof(*record));
	j->n_records--;
}

/* Text for people as a JSON string: one line, and valid UTF-8 whatever the arguments were. */
static char *presentable(const char *text)
{
	char *line = xstrndup(text, SHOWN_MAX);
	_cleanup_json_ json_t *json = json_string(line);

	for (char *p = line; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f || (!json && *p & 0x80))
			*p = '?';
	return line;
}

static char *command_line(char **argv)
{
	_cleanup_free_ char *text = xstrdup("");

	for (size_t i = 0; argv && argv[i] && strlen(text) < SHOWN_MAX; i++)
		xappend(&text, "%s%s", i ? " " : "", argv[i]);
	return presentable(text);
}

static json_t *pack_header(const struct journal *j)
{
	_cleanup_free_ char *cpus = cpumask_list(&j->cpus);

	return json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:s, s:s*, s:s, s:s}", "chisol_journal",
	                 FORMAT_VERSION, "run_id", j->run_id, "boot_id", j->boot_id, "pid",
	                 (json_int_t)j->pid, "start_time", (json_int_t)j->start_time, "order",
	                 (json_int_t)j->order, "command", j->command, "profiles", j->profiles,
	                 "cpus", cpus, "started", j->started);
}

static json_t *pack_record(const struct journal_record *record)
{
	return json_pack("{s:I, s:s, s:s, s:s, s:s*, s:s}", "seq", (json_int_t)record->seq, "type",
	                 record->type->name, "name", record->name, "path", record->path, "found",
	                 record->found, "wanted", record->wanted);
}

/* Returns 0 or -errno. json may be NULL: something was not UTF-8. */
static int print_line(FILE *out, json_t *json)
{
	if (!json)
		return -EILSEQ;
	if (json_dumpf(json, out, JSON_COMPACT) || putc('\n', out) == EOF)
		return -ENOMEM;
	return 0;
}

static int record_knobs(struct journal *j, const struct plan *plan, FILE *out, struct error *err)
{
	for (size_t i = 0; i < plan->n_knobs; i++) {
		const struct knob *knob = plan->knobs[i];
		_cleanup_json_ json_t *json = NULL;
		struct journal_record *record;
		const char *fault;

		if (!knob_is_planned(knob))
			continue;
		record = add_record(j);
		*record = (struct journal_record){
			.seq = knob->seq,
			.type = knob->type,
			.name = xstrdup(knob->name),
			.path = xstrdup(knob->path),
			.found = knob->found ? xstrdup(knob->found) : NULL,
			.wanted = xstrdup(knob->wanted),
		};
		json = pack_record(record);
		fault = record_fault(record);
		if (!fault && print_line(out, json))
			fault = "it is not UTF-8";
		if (fault)
			return error_set(err, EINVAL,
			                 "cannot record %s (%s) in the journal: %s; nothing was "
			                 "changed",
			                 knob->name, knob->path, fault);
	}
	return 0;
}

static int write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		size -= (size_t)n;
	}
	return 0;
}

/* A crash leaves either no journal or a whole one. */
static int put_file(struct journal *j, int dir, const char *name, const char *text, size_t size,
                    struct error *err)
{
	_cleanup_free_ char *temporary = xasprintf("%s.tmp", j->run_id);
	_cleanup_close_ int fd =
		openat(dir, temporary,
	               O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* The lock goes with the process, however it ends, and no child has it: it tells everybody
	 * that the run is live, also those who see no /proc, or another PID namespace's. */
	struct flock live = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int rc = fd < 0 || fcntl(fd, F_SETLK, &live) ? -errno : write_all(fd, text, size);

	/* Its name need not be on disk: what a power cut takes from the directory, it takes from
	 * the kernel as well, and a journal of another boot is not replayed. */
	if (!rc && (fsync(fd) || renameat(dir, temporary, dir, name)))
		rc = -errno;
	if (rc) {
		unlinkat(dir, temporary, 0);
		return error_errno(err, -rc, "cannot write the journal %s; nothing was changed",
		                   j->path);
	}
	j->fd = take_fd(&fd);
	j->size = size;
	return 0;
}

int journal_create(struct journal *j, const struct system *sys, const struct request *req,
                   const struct plan *plan, const char *run_id, unsigned long long order,
                   struct error *err)
{
	_cleanup_free_ char *name = xasprintf("%s.journal", run_id), *text = NULL,
			    *path = state_dir(&sys->root);
	_cleanup_fclose_ FILE *out = NULL;
	_cleanup_json_ json_t *header = NULL;
	_cleanup_close_ int dir = state_open(&sys->root, err);
	struct process self;
	size_t size = 0;
	int rc;

	if (dir < 0)
		return dir;
	if (!*sys->machine.boot_id)
		return error_set(err, ENOENT,
		                 "cannot write the journal: /proc/sys/kernel/random/boot_id, which "
		                 "says until when it holds, cannot be read; nothing was changed");
	rc = process_self(&self, err);
	if (rc)
		return rc;
	*j = (struct journal){
		.path = xasprintf("%s/%s", path, name),
		.fd = -1,
		.run_id = xstrdup(run_id),
		.boot_id = xstrdup(sys->machine.boot_id),
		.pid = self.pid,
		.start_time = self.start_time,
		.order = order,
		.command = command_line(req->argv),
		.profiles = req->profile.names ? presentable(req->profile.names) : NULL,
		.started = utc_text(time(NULL)),
	};
	if (req->cpus.claimed)
		cpumask_copy(&j->cpus, &req->cpus.workload);
	out = open_memstream(&text, &size);
	header = pack_header(j);
	if (!out || print_line(out, header))
		return error_set(err, EINVAL, "cannot write the journal %s: its header", j->path);
	rc = record_knobs(j, plan, out, err);
	if (rc)
		return rc;
	if (fflush(out))
		return error_errno(err, errno, "cannot write the journal %s", j->path);
	return put_file(j, dir, name, text, size, err);
}

int journal_open(struct journal *j, const struct system *sys, struct error *err)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char last = '\n';

	if (j->fd >= 0)
		return 0;
	fd = sysroot_openat(&sys->root, j->path, O_RDWR | O_APPEND | O_NOFOLLOW, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return error_errno(err, errno, "cannot look at %s", j->path);
	if (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1)
		return error_errno(err, errno, "cannot read %s", j->path);
	/* What a crash cut short must not become the beginning of the next line. */
	if (last != '\n' && ftruncate(fd, (off_t)j->size))
		return error_errno(err, errno, "cannot mend %s", j->path);
	j->fd = take_fd(&fd);
	return 0;
}

static int append(struct journal *j, json_t *json, struct error *err)
{
	_cleanup_free_ char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	_cleanup_free_ char *line = text ? xasprintf("%s\n", text) : NULL;
	struct stat st;
	int rc;

	if (!line)
		return error_set(err, EILSEQ, "cannot amend %s: a value is not UTF-8", j->path);
	if (fstat(j->fd, &st))
		return error_errno(err, errno, "cannot amend %s", j->path);
	rc = write_all(j->fd, line, strlen(line));
	if (!rc)
		return 0;
	error_errno(err, -rc, "cannot amend %s", j->path);
	if (ftruncate(j->fd, st.st_size))
		error_append(err, "; and its end is torn");
	return rc;
}

static int amend(struct journal *j, unsigned int seq, const char *field, const char *value,
                 struct error *err)
{
	_cleanup_json_ json_t *json = json_pack("{s:I, s:s, s:s*}", "amend", (json_int_t)seq,
	                                        "field", field, "value", value);

	if (!is_value(value))
		return error_set(err, EINVAL, "cannot amend %s: a value has more than one line",
		                 j->path);
	return append(j, json, err);
}

int journal_amend_found(struct journal *j, unsigned int seq, const char *found, struct error *err)
{
	struct journal_record *record = find_record(j, seq);

	if (record)
		xreplace(&record->found, found);
	return amend(j, seq, "found", found, err);
}

/* What was begun, and what the journal says since of how it ended. */
static void set_begun(struct journal *j, unsigned int seq)
{
	j->in_flight = true;
	j->in_flight_seq = seq;
}

static void set_left(struct journal *j, struct journal_record *record, const char *left)
{
	xreplace(&record->left, left);
	if (j->in_flight_seq == record->seq)
		j->in_flight = false;
}

int journal_amend_left(struct journal *j, unsigned int seq, const char *left, struct error *err)
{
	struct journal_record *record = find_record(j, seq);

	if (record)
		set_left(j, record, left);
	return amend(j, seq, "left", left, err);
}

int journal_note_begun(struct journal *j, unsigned int seq, struct error *err)
{
	_cleanup_json_ json_t *json = json_pack("{s:I}", "writing", (json_int_t)seq);

	set_begun(j, seq);
	return append(j, json, err);
}

int journal_note_ended(struct journal *j, struct error *err)
{
	_cleanup_json_ json_t *json = json_pack("{s:n}", "writing");

	j->in_flight = false;
	return append(j, json, err);
}

int journal_note_restored(struct journal *j, unsigned int seq, struct error *err)
{
	_cleanup_json_ json_t *json = json_pack("{s:I}", "restored", (json_int_t)seq);
	struct journal_record *record = find_record(j, seq);

	if (record)
		drop_record(j, record);
	return append(j, json, err);
}

int journal_sync(struct journal *j, struct error *err)
{
	return fsync(j->fd) ? error_errno(err, errno, "cannot write %s to disk", j->path) : 0;
}

int journal_note_command(struct journal *j, pid_t pid, struct error *err)
{
	_cleanup_json_ json_t *json = json_pack("{s:I}", "command_pid", (json_int_t)pid);

	j->command_pid = pid;
	return append(j, json, err);
}

static int parse_header(struct journal *j, json_t *json, const char **fault)
{
	const char *run_id, *boot_id, *command, *profiles = NULL, *cpus, *started;
	const char *name = strrchr(j->path, '/') ? strrchr(j->path, '/') + 1 : j->path;
	json_int_t version, pid, start_time, order;
	json_error_t error;

	*fault = "the header is not one";
	if (json_unpack_ex(json, &error, JSON_STRICT,
	                   "{s:I, s:s, s:s, s:I, s:I, s:I, s:s, s?s, s:s, s:s}", "chisol_journal",
	                   &version, "run_id", &run_id, "boot_id", &boot_id, "pid", &pid,
	                   "start_time", &start_time, "order", &order, "command", &command,
	                   "profiles", &profiles, "cpus", &cpus, "started", &started))
		return -EINVAL;
	*fault = "it is of another version of chisol";
	if (version != FORMAT_VERSION)
		return -EINVAL;
	*fault = "a number in the header is out of range";
	if (pid <= 0 || pid > INT_MAX || start_time < 0 || order < 1)
		return -EINVAL;
	*fault = "the header has control characters";
	if (has_control(run_id, "") || has_control(boot_id, "") || has_control(command, "") ||
	    has_control(profiles ? profiles : "", "") || has_control(started, ""))
		return -EINVAL;
	*fault = "it is another run's";
	if (strncmp(name, run_id, strlen(run_id)) || strcmp(name + strlen(run_id), ".journal"))
		return -EINVAL;
	*fault = "the CPUs are no list of CPUs";
	if (cpumask_parse_list(&j->cpus, cpus))
		return -EINVAL;
	j->run_id = xstrdup(run_id);
	j->boot_id = xstrdup(boot_id);
	j->pid = (pid_t)pid;
	j->start_time = (unsigned long long)start_time;
	j->order = (unsigned long long)order;
	j->command = xstrdup(command);
	j->profiles = profiles ? xstrdup(profiles) : NULL;
	j->started = xstrdup(started);
	return 0;
}

static int parse_record(struct journal *j, json_t *json, const char **fault)
{
	const char *type, *name, *path, *found = NULL, *wanted;
	struct journal_record *record;
	json_error_t error;
	json_int_t seq;

	*fault = "the record is not one";
	if (json_unpack_ex(json, &error, JSON_STRICT, "{s:I, s:s, s:s, s:s, s?s, s:s}", "seq", &seq,
	                   "type", &type, "name", &name, "path", &path, "found", &found, "wanted",
	                   &wanted))
		return -EINVAL;
	*fault = "the records are out of order";
	if (seq < 0 || seq > UINT_MAX || (j->n_records && seq <= j->records[j->n_records - 1].seq))
		return -EINVAL;
	*fault = "the type of setting is unknown to this version of chisol";
	if (!knob_type_by_name(type))
		return -EINVAL;
	record = add_record(j);
	*record = (struct journal_record){
		.seq = (unsigned int)seq,
		.type = knob_type_by_name(type),
		.name = xstrdup(name),
		.path = xstrdup(path),
		.found = found ? xstrdup(found) : NULL,
		.wanted = xstrdup(wanted),
	};
	*fault = record_fault(record);
	return *fault ? -EINVAL : 0;
}

static int parse_amendment(struct journal *j, json_t *json, const char **fault)
{
	const char *field, *value = NULL;
	struct journal_record *record;
	json_error_t error;
	json_int_t seq;

	*fault = "the amendment is not one";
	if (json_unpack_ex(json, &error, JSON_STRICT, "{s:I, s:s, s?s}", "amend", &seq, "field",
	                   &field, "value", &value))
		return -EINVAL;
	*fault = "the amendment is of no record";
	record = find_record(j, seq);
	if (!record)
		return -EINVAL;
	if (!strcmp(field, "found"))
		xreplace(&record->found, value);
	else if (!strcmp(field, "left"))
		set_left(j, record, value);
	else
		return -EINVAL;
	*fault = record_fault(record);
	return *fault ? -EINVAL : 0;
}

static int parse_writing(struct journal *j, json_t *json, const char **fault)
{
	json_error_t error;
	json_int_t seq;

	j->in_flight = false;
	if (!json_unpack_ex(json, &error, JSON_STRICT, "{s:n}", "writing"))
		return 0;
	*fault = "the write is of no record";
	if (json_unpack_ex(json, &error, JSON_STRICT, "{s:I}", "writing", &seq) ||
	    !find_record(j, seq))
		return -EINVAL;
	set_begun(j, (unsigned int)seq);
	return 0;
}

static int parse_restored(struct journal *j, json_t *json, const char **fault)
{
	struct journal_record *record;
	json_error_t error;
	json_int_t seq;

	*fault = "what is restored is no record";
	if (json_unpack_ex(json, &error, JSON_STRICT, "{s:I}", "restored", &seq))
		return -EINVAL;
	record = find_record(j, seq);
	if (!record)
		return -EINVAL;
	drop_record(j, record);
	return 0;
}

static int parse_command(struct journal *j, json_t *json, const char **fault)
{
	json_error_t error;
	json_int_t pid;

	*fault = "the command's process number is not one";
	if (json_unpack_ex(json, &error, JSON_STRICT, "{s:I}", "command_pid", &pid) || pid <= 0 ||
	    pid > INT_MAX)
		return -EINVAL;
	j->command_pid = (pid_t)pid;
	return 0;
}

static int parse_line(struct journal *j, const char *text, size_t size, const char **fault)
{
	json_error_t error;
	_cleanup_json_ json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);

	*fault = "it is not a line of JSON";
	if (!json_is_object(json))
		return -EINVAL;
	if (!j->run_id)
		return parse_header(j, json, fault);
	if (json_object_get(json, "amend"))
		return parse_amendment(j, json, fault);
	if (json_object_get(json, "writing"))
		return parse_writing(j, json, fault);
	if (json_object_get(json, "restored"))
		return parse_restored(j, json, fault);
	if (json_object_get(json, "command_pid"))
		return parse_command(j, json, fault);
	return parse_record(j, json, fault);
}

int journal_parse(struct journal *j, const char *path, const char *text, size_t size,
                  struct error *err)
{
	const char *end;
	unsigned int line = 1;

	*j = (struct journal){ .fd = -1, .path = xstrdup(path) };
	for (; (end = memchr(text + j->size, '\n', size - j->size)); line++) {
		size_t length = (size_t)(end - text) - j->size;
		const char *fault;

		if (parse_line(j, text + j->size, length, &fault)) {
			journal_free(j);
			return error_set(err, EINVAL, "%s:%u: cannot be read as a journal: %s",
			                 path, line, fault);
		}
		j->size += length + 1;
	}
	if (!j->run_id) {
		journal_free(j);
		return error_set(err, EINVAL, "%s:1: cannot be read as a journal: it is empty",
		                 path);
	}
	return 0;
}

int journal_load(struct journal *j, const struct system *sys, const char *path, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int rc = sysroot_read_limit(&sys->root, path, JOURNAL_MAX_SIZE, &text, err);

	return rc ? rc : journal_parse(j, path, text, strlen(text), err);
}

int journal_reload(struct journal *j, const struct journal *own, const struct system *sys,
                   struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int rc;

	if (own->fd < 0)
		return journal_load(j, sys, own->path, err);
	if (lseek(own->fd, 0, SEEK_SET) < 0)
		return error_errno(err, errno, "cannot read %s", own->path);
	rc = read_whole(own->fd, JOURNAL_MAX_SIZE, &text, &size);
	return rc ? error_errno(err, -rc, "cannot read %s", own->path)
	          : journal_parse(j, own->path, text, size, err);
}
