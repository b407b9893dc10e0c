/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command's user, groups and capabilities (credentials(7), capabilities(7)).
 *
 * HOME, USER, LOGNAME and SHELL stay as they are, as under setpriv(1).
 */
#include "facility.h"
#include "text.h"

#include <cap-ng.h>
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sys/prctl.h>

enum cap_set {
	CAP_SET_INHERITABLE,
	CAP_SET_PERMITTED,
	CAP_SET_EFFECTIVE,
	CAP_SET_BOUNDING,
	CAP_SET_AMBIENT,
	N_CAP_SETS
};

/* The lines of proc_pid_status(5). */
static const char *const cap_set_lines[N_CAP_SETS] = { "CapInh:", "CapPrm:", "CapEff:", "CapBnd:",
	                                               "CapAmb:" };

struct identity {
	bool has_user;                       /* false: only no_new_privs is asked for */
	unsigned long long uids[4], gids[4]; /* real, effective, saved, file system */
	gid_t *groups;                       /* sorted */
	size_t n_groups;
	unsigned long long caps[N_CAP_SETS];
	bool no_new_privs;
};

static void identity_free(struct identity *id)
{
	free(id->groups);
	id->groups = NULL;
}
#define _cleanup_identity_ _cleanup_(identity_free)

static void free_data(void *data)
{
	if (data)
		identity_free(data);
	free(data);
}

/* Identities as text: what is wanted and what the kernel says are compared, and reported, as such.
 */
static void add_ids(char **text, const char *name, const unsigned long long ids[4])
{
	xappend(text, "%s=%llu", name, ids[0]);
	if (ids[1] != ids[0] || ids[2] != ids[0] || ids[3] != ids[0])
		xappend(text, "/%llu/%llu/%llu", ids[1], ids[2], ids[3]);
}

static void add_caps(char **text, unsigned long long caps)
{
	const char *separator = "";

	for (unsigned int cap = 0; cap < 64; cap++) {
		const char *name = capng_capability_to_name(cap);

		if (!(caps >> cap & 1))
			continue;
		if (name)
			xappend(text, "%s%s", separator, name);
		else
			xappend(text, "%s%u", separator, cap);
		separator = ",";
	}
	if (!caps)
		xappend(text, "none");
}

static char *identity_text(const struct identity *id)
{
	bool caps_agree = true;
	char *text = NULL;

	if (id->has_user) {
		add_ids(&text, "uid", id->uids);
		add_ids(&text, " gid", id->gids);
		xappend(&text, " groups=%s", id->n_groups ? "" : "none");
		for (size_t i = 0; i < id->n_groups; i++)
			xappend(&text, "%s%u", i ? "," : "", (unsigned int)id->groups[i]);
		for (int set = 1; set < N_CAP_SETS; set++)
			caps_agree = caps_agree && id->caps[set] == id->caps[0];
		for (int set = 0; set < (caps_agree ? 1 : N_CAP_SETS); set++) {
			xappend(&text, " %s", caps_agree ? "caps=" : cap_set_lines[set]);
			add_caps(&text, id->caps[set]);
		}
	}
	if (!id->has_user || id->no_new_privs)
		xappend(&text, "%sno_new_privs=%d", text ? " " : "", id->no_new_privs);
	return text;
}

static int by_number(const void *a, const void *b)
{
	gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;

	return x < y ? -1 : x > y;
}

/* Reads the next number of a line; false at its end. */
static bool next_number(const char **at, int base, unsigned long long *value)
{
	char *end;

	*at += strspn(*at, " \t");
	if (!isxdigit((unsigned char)**at))
		return false;
	errno = 0;
	*value = strtoull(*at, &end, base);
	if (errno || end == *at)
		return false;
	*at = end;
	return true;
}

static const char *find_line(const char *text, const char *key)
{
	const char *line = text;

	while (line && strncmp(line, key, strlen(key)) != 0) {
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return line ? line + strlen(key) : NULL;
}

static bool read_numbers(const char *text, const char *key, int base, unsigned long long *values,
                         size_t n)
{
	const char *at = find_line(text, key);

	for (size_t i = 0; i < n; i++) {
		if (!at || !next_number(&at, base, &values[i]))
			return false;
	}
	return true;
}

static bool read_groups(struct identity *id, const char *text)
{
	const char *at = find_line(text, "Groups:");
	unsigned long long group;
	size_t room = 0;

	while (at && next_number(&at, 10, &group)) {
		id->groups = xgrow(id->groups, id->n_groups + 1, &room, sizeof(*id->groups));
		id->groups[id->n_groups++] = (gid_t)group;
	}
	if (id->n_groups)
		qsort(id->groups, id->n_groups, sizeof(*id->groups), by_number);
	return at && at[strspn(at, " \t")] == '\n';
}

static int read_identity(struct identity *id, const struct system *sys, bool has_user,
                         struct error *err)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long no_new_privs = 0;
	int rc = sysroot_read(&sys->root, "/proc/self/status", &text, err);
	bool whole;

	if (rc)
		return rc;
	whole = read_numbers(text, "NoNewPrivs:", 10, &no_new_privs, 1) &&
	        read_numbers(text, "Uid:", 10, id->uids, 4) &&
	        read_numbers(text, "Gid:", 10, id->gids, 4) && read_groups(id, text);
	for (int set = 0; set < N_CAP_SETS; set++)
		whole = whole && read_numbers(text, cap_set_lines[set], 16, &id->caps[set], 1);
	if (!whole)
		return error_set(err, EINVAL,
		                 "cannot read /proc/self/status: not as in proc_pid_status(5)");
	id->has_user = has_user;
	id->no_new_privs = no_new_privs;
	return 0;
}

/* (uid_t)-1 and (gid_t)-1 mean "leave it" to the kernel. */
static bool parse_id(const char *text, unsigned int *id)
{
	unsigned long long value;

	if (!text_unsigned(text, &value) || value >= UINT_MAX)
		return false;
	*id = (unsigned int)value;
	return true;
}

/* passwd and group look-ups tell "no such entry" by several errnos, getpwnam(3). */
static bool is_no_entry(int error)
{
	return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

/* The passwd entry of a name or else a number; without one, *passwd is NULL. */
static int find_user(const char *text, uid_t *uid, const struct passwd **passwd, struct error *err)
{
	bool is_number = parse_id(text, uid);
	_cleanup_free_ char *shown = text_quote(text);

	errno = 0;
	*passwd = getpwnam(text);
	if (!*passwd && is_number && is_no_entry(errno)) {
		errno = 0;
		*passwd = getpwuid(*uid);
	}
	if (*passwd) {
		*uid = (*passwd)->pw_uid;
		return 0;
	}
	if (!is_no_entry(errno))
		return error_errno(err, errno, "cannot look up user %s", shown);
	return is_number ? 0 : error_set(err, ENOENT, "user %s does not exist", shown);
}

static int find_group(const char *text, gid_t *gid, struct error *err)
{
	_cleanup_free_ char *shown = text_quote(text);
	const struct group *group;

	errno = 0;
	group = getgrnam(text);
	if (group) {
		*gid = group->gr_gid;
		return 0;
	}
	if (!is_no_entry(errno))
		return error_errno(err, errno, "cannot look up group %s", shown);
	return parse_id(text, gid) ? 0 : error_set(err, ENOENT, "group %s does not exist", shown);
}

/* The groups that initgroups(3) would give. */
static void find_groups(struct identity *id, const char *name, gid_t gid)
{
	int n = 32, room = 0;

	do {
		room = n;
		free(id->groups);
		id->groups = xcalloc((size_t)room, sizeof(*id->groups));
	} while (getgrouplist(name, gid, id->groups, &n) < 0 && n > room);
	id->n_groups = (size_t)(n < room ? n : room);
	qsort(id->groups, id->n_groups, sizeof(*id->groups), by_number);
}

/* sudo(8) leaves the caller's numbers in the environment. The user must exist and have the group:
 * a number out of an environment that something has garbled is not believed. */
static int find_caller(const struct passwd **passwd, gid_t *gid, struct error *err)
{
	const char *uid_text = getenv("SUDO_UID"), *gid_text = getenv("SUDO_GID");
	struct identity id = { 0 };
	bool has_group = false;
	uid_t uid;

	if (!uid_text || !gid_text)
		return error_set(err, EINVAL,
		                 "--user @caller is the user who called sudo, but there is no %s "
		                 "in the environment",
		                 uid_text ? "SUDO_GID" : "SUDO_UID");
	if (!parse_id(uid_text, &uid) || !parse_id(gid_text, gid))
		return error_set(err, EINVAL,
		                 "--user @caller: SUDO_UID or SUDO_GID in the environment is not "
		                 "a number");
	errno = 0;
	*passwd = getpwuid(uid);
	if (!*passwd)
		return error_set(err, ENOENT, "--user @caller: user %u (SUDO_UID) does not exist",
		                 uid);
	find_groups(&id, (*passwd)->pw_name, (*passwd)->pw_gid);
	for (size_t i = 0; i < id.n_groups; i++)
		has_group = has_group || id.groups[i] == *gid;
	identity_free(&id);
	if (!has_group)
		return error_set(err, EINVAL,
		                 "--user @caller: user %s is not in group %u (SUDO_GID)",
		                 (*passwd)->pw_name, *gid);
	return 0;
}

/* USER[:GROUP] or @caller[:GROUP]. */
static int resolve_user(struct identity *id, const char *text, struct error *err)
{
	const char *colon = strchr(text, ':');
	_cleanup_free_ char *user = xstrndup(text, colon ? (size_t)(colon - text) : strlen(text));
	const struct passwd *passwd = NULL;
	bool caller = !strcmp(user, "@caller");
	gid_t gid = 0;
	uid_t uid = 0;
	int rc;

	if (!*user || (colon && !colon[1])) {
		_cleanup_free_ char *shown = text_quote(text);

		return error_set(err, EINVAL, "%s is not USER or USER:GROUP", shown);
	}
	rc = caller ? find_caller(&passwd, &gid, err) : find_user(user, &uid, &passwd, err);
	if (rc)
		return rc;
	if (!passwd && !colon)
		return error_set(err, ENOENT,
		                 "user %u has no entry in the password database, so a group is "
		                 "needed: %u:GROUP",
		                 uid, uid);
	if (passwd)
		uid = passwd->pw_uid;
	if (passwd && !caller)
		gid = passwd->pw_gid;
	if (colon) {
		/* getpwuid(3)'s entry stays: this looks in another database. */
		rc = find_group(colon + 1, &gid, err);
		if (rc)
			return rc;
	}
	if (passwd)
		find_groups(id, passwd->pw_name, gid);
	for (int i = 0; i < 4; i++) {
		id->uids[i] = uid;
		id->gids[i] = gid;
	}
	return 0;
}

/* With or without "cap_", in any case. */
static int parse_cap(const char *text, unsigned long long *caps, struct error *err)
{
	const char *name = strncasecmp(text, "cap_", 4) ? text : text + 4;
	struct nearest nearest = { .word = name };
	_cleanup_free_ char *shown = NULL;
	int cap = *name ? capng_name_to_capability(name) : -1;

	if (cap >= 0 && cap < 64 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0) {
		*caps |= 1ULL << cap;
		return 0;
	}
	shown = text_quote(text);
	if (cap >= 0)
		return error_set(err, EINVAL, "capability %s does not exist in this kernel", shown);
	for (unsigned int i = 0; i < 64; i++) {
		const char *known = capng_capability_to_name(i);

		if (known)
			nearest_try(&nearest, known);
	}
	error_set(err, EINVAL, "%s is not a capability", shown);
	return nearest_word(&nearest)
	               ? error_append(err, "; did you mean \"%s\"?", nearest_word(&nearest))
	               : -EINVAL;
}

static int parse_caps(const char *text, unsigned long long *caps, struct error *err)
{
	int rc = 0;

	for (const char *at = text; !rc; at++) {
		size_t n = strcspn(at, ",");
		_cleanup_free_ char *word = text_trim(at, n);

		rc = parse_cap(word, caps, err);
		at += n;
		if (!*at)
			break;
	}
	return rc;
}

static int missing(struct error *err, const char *cap, const char *what)
{
	error_set(err, EPERM, "cannot change the user: chisol lacks the capability cap_%s%s", cap,
	          what);
	if (err)
		err->reason = REASON_NOT_PERMITTED;
	return -EPERM;
}

/* What is missing is told before anything is changed. */
static int check_permitted(const struct system *sys, const struct task_setting *t,
                           struct error *err)
{
	static const unsigned int needed[] = { CAP_SETUID, CAP_SETGID, CAP_SETPCAP };
	_cleanup_identity_ struct identity now = { 0 };
	const struct identity *id = t->data;
	int rc;

	if (!id->has_user)
		return 0;
	rc = read_identity(&now, sys, true, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		if (!(now.caps[CAP_SET_EFFECTIVE] >> needed[i] & 1))
			return missing(err, capng_capability_to_name(needed[i]), "");
	}
	for (unsigned int cap = 0; cap < 64; cap++) {
		if (id->caps[0] >> cap & ~(now.caps[CAP_SET_PERMITTED] >> cap) & 1)
			return missing(err, capng_capability_to_name(cap),
			               " that the command is to keep");
	}
	return 0;
}

static void choose_caps(capng_type_t sets, unsigned long long caps)
{
	for (unsigned int cap = 0; cap < 64; cap++) {
		if (caps >> cap & 1)
			capng_update(CAPNG_ADD, sets, cap);
	}
}

/*
 * The order: groups and the bounding set while root may still change them; then ids and
 * capabilities together; ambient last, since a change of ids clears it. libcap-ng's answers are
 * only the first word (0.8.3 returns success for a bounding set that it left full, and leaves
 * PR_SET_KEEPCAPS on after a failure): what counts is what is read back.
 */
static int change_user(const struct identity *id, struct error *err)
{
	int rc;

	if (setgroups(id->n_groups, id->groups))
		return error_errno(err, errno, "cannot set the supplementary groups");
	if (capng_get_caps_process())
		return error_set(err, EIO, "cannot read chisol's own capabilities");
	capng_clear(CAPNG_SELECT_BOUNDS);
	choose_caps(CAPNG_BOUNDING_SET, id->caps[0]);
	rc = capng_apply(CAPNG_SELECT_BOUNDS);
	if (rc)
		return error_set(err, EPERM, "cannot reduce the capability bounding set (%d)", rc);

	capng_clear(CAPNG_SELECT_ALL);
	choose_caps(CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE | CAPNG_BOUNDING_SET,
	            id->caps[0]);
	errno = 0;
	rc = capng_change_id((int)id->uids[0], (int)id->gids[0], CAPNG_CLEAR_AMBIENT);
	if (rc)
		return error_errno(err, errno ? errno : EPERM,
		                   "cannot become user %llu, group %llu (libcap-ng: %d)",
		                   id->uids[0], id->gids[0], rc);
	if (!id->caps[0])
		return 0;
	choose_caps(CAPNG_AMBIENT, id->caps[0]);
	rc = capng_apply(CAPNG_SELECT_AMBIENT);
	return rc ? error_set(err, EPERM, "cannot make capabilities ambient (%d)", rc) : 0;
}

static int set_identity(const struct system *sys, const struct task_setting *t, struct error *err)
{
	const struct identity *id = t->data;
	int rc = check_permitted(sys, t, err);

	if (!rc && id->has_user)
		rc = change_user(id, err);
	if (!rc && id->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		rc = error_errno(err, errno, "cannot set no_new_privs");
	if (!rc && id->has_user && prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0) != 0)
		rc = error_set(err, EPERM, "PR_SET_KEEPCAPS is on after the change of user");
	return rc;
}

static int apply(const struct system *sys, struct task_setting *t, struct error *err)
{
	_cleanup_error_ struct error why = ERROR_INIT;
	_cleanup_identity_ struct identity now = { 0 };
	const struct identity *id = t->data;
	int rc = set_identity(sys, t, &why);

	if (!rc)
		rc = read_identity(&now, sys, id->has_user, &why);
	if (rc) {
		task_judge(t, KNOB_REFUSED, why.reason ? why.reason : REASON_IO_ERROR, "%s",
		           why.text);
		return error_move(err, &why);
	}
	/* Inherited, if not asked for. */
	now.no_new_privs = now.no_new_privs && (id->no_new_privs || !id->has_user);
	free(t->granted);
	t->granted = identity_text(&now);
	if (!strcmp(t->granted, t->wanted)) {
		task_judge(t, KNOB_GRANTED, REASON_GRANTED, NULL);
		return 0;
	}
	task_judge(t, KNOB_REFUSED, REASON_READ_BACK_DIFFERS, "/proc/self/status says %s",
	           t->granted);
	error_set(err, EPERM, "cannot change the user: wanted %s, but /proc/self/status says %s",
	          t->wanted, t->granted);
	if (err)
		err->reason = REASON_READ_BACK_DIFFERS;
	return -EPERM;
}

static const struct task_op op_user = {
	.stage = TASK_STAGE_PRIVILEGES,
	.apply = apply,
	.permitted = check_permitted,
	.free_data = free_data,
};

static int plan_user(struct plan *plan, const struct system *sys, const struct request *req,
                     const char *run_id, struct error *err)
{
	struct identity *id = NULL;
	struct task_setting *t;
	_cleanup_free_ char *wanted = NULL;
	unsigned long long caps = 0;
	int rc = 0;

	(void)sys;
	(void)run_id;
	if (!policy_asked(req->user.policy))
		return 0;
	if (req->user.keep_caps && !req->user.user)
		return error_set(err, EINVAL,
		                 "--keep-caps needs --user: without a change of user the command "
		                 "keeps every capability");
	if (!req->user.user && !req->user.no_new_privs)
		return 0;
	id = xcalloc(1, sizeof(*id));
	id->has_user = req->user.user;
	id->no_new_privs = req->user.no_new_privs;
	if (req->user.user)
		rc = resolve_user(id, req->user.user, err);
	if (!rc && req->user.keep_caps)
		rc = parse_caps(req->user.keep_caps, &caps, err);
	if (rc) {
		free_data(id);
		return rc;
	}
	for (int set = 0; set < N_CAP_SETS; set++)
		id->caps[set] = caps;
	wanted = identity_text(id);
	/* Half-dropped privileges are no state to run in, whatever the policy says. */
	t = plan_add_task(plan, &facility_user, &op_user, POLICY_REQUIRE, "user.identity", wanted,
	                  "what the command may do");
	t->data = id;
	return 0;
}

const struct facility facility_user = {
	.name = "user",
	.title = "user and capabilities",
	.plan = plan_user,
};
