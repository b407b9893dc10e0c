/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "profile_keys.h"
#include "sysroot.h"
#include "text.h"

#define ERRORS_SHOWN 20
#define SUFFIX       ".conf"

struct reader {
	struct request *req;
	const char *name;
	const char *text; /* what is left */
	size_t len;
	unsigned int line;
	char *section;       /* that of the last [header]; NULL: none yet */
	bool section_usable; /* it is known, and its keys are to be read */
	unsigned int *lines; /* for each key, the line where it stands; 0: not yet */
	/* The key whose value may go on in the next line. */
	struct {
		FILE *stream; /* NULL: none */
		char *value;
		size_t len;
		unsigned int index;
		bool open; /* the line before ends with a comma */
	} last;
	unsigned int n_errors;
	char *errors; /* a line each */
};

static void complain(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void complain(struct reader *r, const char *fmt, ...)
{
	_cleanup_free_ char *what = NULL;
	va_list ap;

	if (++r->n_errors > ERRORS_SHOWN)
		return;
	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	xappend(&r->errors, "%s%s:%u: %s", r->errors ? "\n" : "", r->name, r->line, what);
}

/* inih must never see the trouble: a refused line is an empty one to it. */
static char *hand_over(char *to, const char *line, size_t len)
{
	memcpy(to, line, len);
	to[len] = '\n';
	to[len + 1] = '\0';
	return to;
}

/* Sentences, for the caller to free. */
static char *no_such_section(const char *section)
{
	struct nearest near = { .word = section };
	_cleanup_free_ char *shown = text_quote(section);

	for (const struct profile_section *s = profile_sections; s->name; s++)
		nearest_try(&near, s->name);
	if (nearest_word(&near))
		return xasprintf("there is no section %s; did you mean [%s]?", shown, near.best);
	return xasprintf("there is no section %s; chisol.conf(5) lists them", shown);
}

static char *unsupported_section(const char *section)
{
	return xasprintf("section [%s] is not supported by this version of chisol", section);
}

static char *no_such_key(const char *section, const char *name)
{
	struct nearest near = { .word = name };
	_cleanup_free_ char *shown = text_quote(name);

	for (unsigned int i = 0; i < n_profile_keys; i++)
		if (!strcmp(profile_keys[i].section, section))
			nearest_try(&near, profile_keys[i].name);
	if (nearest_word(&near))
		return xasprintf("there is no key %s in [%s]; did you mean \"%s\"?", shown, section,
		                 near.best);
	for (unsigned int i = 0; i < n_profile_keys; i++)
		if (!strcmp(profile_keys[i].name, name))
			return xasprintf("there is no key %s in [%s]; it belongs to [%s]", shown,
			                 section, profile_keys[i].section);
	return xasprintf("there is no key %s in [%s]; chisol.conf(5) lists them", shown, section);
}

/* NULL: it can be used. */
static char *section_trouble(const char *name)
{
	const struct profile_section *section = profile_section_find(name);

	if (!section)
		return no_such_section(name);
	return section->supported ? NULL : unsupported_section(name);
}

/* Checks a line that begins with "[". */
static bool section_line(struct reader *r, const char *line, size_t len)
{
	_cleanup_free_ char *name = NULL, *trouble = NULL;

	free(r->section);
	r->section = NULL;
	r->section_usable = false;
	if (line[len - 1] != ']') {
		const char *end = memchr(line, ']', len);

		complain(r, end ? "there is something after the \"]\" of a section"
		                : "a section is not closed: its \"]\" is missing");
		r->section = xstrdup("");
		return false;
	}
	name = xstrndup(line + 1, len - 2);
	r->section = xstrdup(name);
	if (!*name) {
		complain(r, "a section has no name");
		return false;
	}
	trouble = section_trouble(name);
	if (trouble)
		complain(r, "%s", trouble);
	r->section_usable = !trouble;
	return r->section_usable;
}

/* Checks a line that is to be "key = value". */
static bool key_line(struct reader *r, const char *line, size_t len)
{
	const char *equals = memchr(line, '=', len);
	size_t name_len = equals ? (size_t)(equals - line) : len;
	_cleanup_free_ char *name = text_trim(line, name_len);
	_cleanup_free_ char *shown = text_quote(name);

	if (!equals || memchr(line, ':', name_len)) {
		complain(r, "%s is neither \"[section]\" nor \"key = value\"", shown);
		return false;
	}
	if (!*name) {
		complain(r, "there is no key before the \"=\"");
		return false;
	}
	if (!r->section) {
		complain(r, "key %s stands before any [section]", shown);
		return false;
	}
	return r->section_usable; /* otherwise it has been complained about */
}

/* The length up to a comment: # or ; at the start or after a blank. */
static size_t without_comment(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((line[i] == '#' || line[i] == ';') &&
		    (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t'))
			return i;
	return len;
}

static bool plain_text(struct reader *r, const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f) {
			complain(r, "character \\x%02x at column %zu: a profile is plain text", c,
			         i + 1);
			return false;
		}
	}
	return true;
}

/* The value of the last key is whole. */
static void set_key(struct reader *r)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *origin = NULL;
	unsigned int line = r->line;

	if (!r->last.stream)
		return;
	xclose_memory(r->last.stream);
	r->last.stream = NULL;
	r->line = r->lines[r->last.index];
	origin = xasprintf("%s:%u", r->name, r->line);
	if (profile_key_set(r->req, r->last.index, r->last.value, GIVEN_PROFILE, origin, false,
	                    &err))
		complain(r, "%s", err.text);
	r->line = line;
	free(r->last.value);
	r->last.value = NULL;
}

/* Is it something that inih may see? It takes a line that begins with a blank for one more value of
 * the last key. */
static bool check_line(struct reader *r, const char *line, size_t len, size_t room)
{
	bool goes_on = *line == ' ' || *line == '\t', was_open = r->last.open;

	if (!goes_on)
		set_key(r);
	r->last.open = line[len - 1] == ',';
	if (len > room) {
		complain(r,
		         "the line has %zu characters; at most %zu are read, but a list may go on "
		         "in the next line: end this one with a comma, and begin that one with a "
		         "blank",
		         len, room);
		return false;
	}
	if (goes_on && !was_open)
		complain(r, "the line is indented, and the one before does not end with a comma: "
		            "begin it with its key or \"[section]\"");
	if (goes_on) /* of a key that was refused: nowhere */
		return was_open && r->last.stream;
	return *line == '[' ? section_line(r, line, len) : key_line(r, line, len);
}

/* The ini_reader: one line of the file at a time, or what stands for it. */
static char *read_line(char *to, int size, void *stream)
{
	struct reader *r = stream;
	const char *line = r->text, *end;
	size_t len, room = (size_t)size - 2; /* "\n" and NUL */

	if (!r->len)
		return NULL;
	end = memchr(line, '\n', r->len);
	len = end ? (size_t)(end - line) : r->len;
	r->text += len + (end ? 1 : 0);
	r->len -= len + (end ? 1 : 0);
	r->line++;

	if (r->line == 1 && len >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) {
		line += 3;
		len -= 3;
	}
	if (len && line[len - 1] == '\r')
		len--;
	if (!plain_text(r, line, len))
		return hand_over(to, line, 0);
	len = without_comment(line, len);
	while (len && (line[len - 1] == ' ' || line[len - 1] == '\t'))
		len--;
	if (!len || !check_line(r, line, len, room))
		len = 0;
	return hand_over(to, line, len);
}

/* The ini_handler. Returns 0 on an error, as inih wants it, though errors are counted here. */
static int take_key(void *user, const char *section, const char *name, const char *value)
{
	struct reader *r = user;
	int index = profile_key_index(section, name);

	if (index < 0) {
		_cleanup_free_ char *trouble = no_such_key(section, name);

		complain(r, "%s", trouble);
		return 0;
	}
	if (!r->last.stream && r->lines[index]) {
		complain(r, "%s is given twice in this file; line %u has it already", name,
		         r->lines[index]);
		return 0;
	}
	if (!r->last.stream) {
		r->lines[index] = r->line;
		r->last.index = (unsigned int)index;
		r->last.stream = xopen_memory(&r->last.value, &r->last.len);
	}
	fputs(value, r->last.stream);
	return 1;
}

int profile_parse(struct request *req, const char *name, const char *text, size_t len,
                  struct error *err)
{
	_cleanup_free_ unsigned int *lines = xcalloc(n_profile_keys, sizeof(*lines));
	struct reader r = { .req = req, .name = name, .text = text, .len = len, .lines = lines };
	int rc = ini_parse_stream(read_line, &r, take_key, &r);

	set_key(&r);
	if (!r.n_errors && rc)
		complain(&r, "inih cannot read the profile (%d)", rc);
	rc = 0;
	if (r.n_errors > ERRORS_SHOWN)
		rc = error_set(err, EINVAL, "%s\n%s: %u more errors", r.errors, name,
		               r.n_errors - ERRORS_SHOWN);
	else if (r.n_errors)
		rc = error_set(err, EINVAL, "%s", r.errors);
	free(r.errors);
	free(r.section);
	return rc;
}

/* Reads a file, which must be a regular one: others block, or never end. */
static int load_file(struct request *req, const char *path, const char *name, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t len = 0;
	int rc;

	if (fd < 0)
		return error_errno(err, errno, "cannot read the profile %s", path);
	if (fstat(fd, &st))
		return error_errno(err, errno, "cannot read the profile %s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL,
		                 "cannot read the profile %s: it is %s", path,
		                 S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
	rc = read_whole(fd, PROFILE_SIZE_MAX, &text, &len);
	if (rc == -EFBIG)
		return error_set(err, EFBIG,
		                 "cannot read the profile %s: it is larger than %u bytes", path,
		                 PROFILE_SIZE_MAX);
	if (rc)
		return error_errno(err, -rc, "cannot read the profile %s", path);
	rc = profile_parse(req, path, text, len, err);
	if (!rc)
		xappend(&req->profile.names, "%s%s", req->profile.names ? "," : "", name);
	return rc;
}

/* Does chisol run with privileges that its caller does not have in full? */
static bool privileges_are_lent(void)
{
	return getauxval(AT_SECURE) ||
	       (geteuid() == 0 &&
	        (getenv("SUDO_UID") || getenv("DOAS_USER") || getenv("PKEXEC_UID")));
}

static void add_callers_dirs(struct namelist *dirs)
{
	const char *path = getenv("CHISOL_PROFILE_PATH"), *config = getenv("XDG_CONFIG_HOME"),
		   *home = getenv("HOME");

	for (const char *p = path; p && *p; p += strspn(p, ":")) {
		size_t len = strcspn(p, ":");

		if (len)
			namelist_take(dirs, xstrndup(p, len));
		p += len;
	}
	if (config && *config == '/') /* the XDG base directory specification ignores others */
		namelist_take(dirs, xasprintf("%s/chisol", config));
	else if (home && *home == '/')
		namelist_take(dirs, xasprintf("%s/.config/chisol", home));
}

/* conf/ beside the directory of the program. */
static void add_source_dir(struct namelist *dirs)
{
	_cleanup_free_ char *exe = realpath("/proc/self/exe", NULL);
	_cleanup_free_ char *dir = NULL;

	for (int up = 0; exe && up < 2; up++) {
		char *slash = strrchr(exe, '/');

		if (!slash)
			return;
		*slash = '\0';
	}
	if (!exe)
		return;
	dir = xasprintf("%s/conf", exe);
	if (!access(dir, F_OK))
		namelist_take(dirs, take_ptr(&dir));
}

static void search_path(struct namelist *dirs)
{
	if (!privileges_are_lent())
		add_callers_dirs(dirs);
	namelist_take(dirs, xstrdup(CHISOL_SYSCONF_DIR));
	/* Whoever may run this very file by sudo is not given more by what lies beside it; but
	 * a hard link to a file with privileges of its own can lie anywhere. */
	if (!getauxval(AT_SECURE))
		add_source_dir(dirs);
	namelist_take(dirs, xstrdup(CHISOL_CONF_DIR));
}

static bool ends_in_suffix(const char *name)
{
	size_t len = strlen(name), n = strlen(SUFFIX);

	return len > n && !strcmp(name + len - n, SUFFIX);
}

/* The names of the profiles in a directory; nothing if it cannot be listed. */
static void add_profiles(struct namelist *found, const char *dir)
{
	_cleanup_namelist_ struct namelist files = NAMELIST_INIT;
	_cleanup_sysroot_ struct sysroot root = SYSROOT_INIT;

	if (sysroot_open(&root, dir, NULL) || sysroot_list(&root, ".", &files, NULL))
		return;
	for (size_t i = 0; i < files.n; i++) {
		const char *name = files.names[i];

		if (ends_in_suffix(name))
			namelist_take(found, xstrndup(name, strlen(name) - strlen(SUFFIX)));
	}
}

static char *join(const struct namelist *list)
{
	char *text = xstrdup(list->n ? list->names[0] : "none");

	for (size_t i = 1; i < list->n; i++)
		xappend(&text, ", %s", list->names[i]);
	return text;
}

static int not_found(const char *name, const struct namelist *dirs, struct error *err)
{
	_cleanup_namelist_ struct namelist found = NAMELIST_INIT;
	_cleanup_free_ char *dir_text = join(dirs), *found_text = NULL;
	_cleanup_free_ char *shown = text_quote(name);
	struct nearest near = { .word = name };

	for (size_t i = 0; i < dirs->n; i++)
		add_profiles(&found, dirs->names[i]);
	for (size_t i = 0; i < found.n; i++)
		nearest_try(&near, found.names[i]);
	found_text = join(&found);
	error_set(err, ENOENT, "there is no profile %s", shown);
	if (nearest_word(&near))
		error_append(err, "; did you mean \"%s\"?", near.best);
	else
		error_append(err, ".");
	error_append(err, " Looked in: %s. Profiles there: %s.", dir_text, found_text);
	if (privileges_are_lent())
		error_append(err, " ($CHISOL_PROFILE_PATH and ~/.config/chisol are not used under "
		                  "sudo or the like: give the file, as -p DIR/NAME.conf.)");
	return -ENOENT;
}

static bool is_file_name(const char *name)
{
	return strchr(name, '/') || ends_in_suffix(name);
}

int profile_load(struct request *req, const char *name, struct error *err)
{
	_cleanup_namelist_ struct namelist dirs = NAMELIST_INIT;

	if (!*name)
		return error_set(err, EINVAL, "the name of the profile is empty");
	if (is_file_name(name))
		return load_file(req, name, name, err);
	search_path(&dirs);
	for (size_t i = 0; i < dirs.n && strlen(name) < NAME_MAX - strlen(SUFFIX); i++) {
		_cleanup_error_ struct error why = ERROR_INIT;
		_cleanup_free_ char *path = xasprintf("%s/%s" SUFFIX, dirs.names[i], name);
		int rc = load_file(req, path, name, &why);
		/* A directory of somebody else, such as root's home, is as good as none; a
		 * profile that is there and cannot be read is not. */
		bool closed = rc == -EACCES && access(dirs.names[i], X_OK);

		if (rc != -ENOENT && rc != -ENOTDIR && !closed)
			return rc ? error_move(err, &why) : 0;
	}
	return not_found(name, &dirs, err);
}

int profile_set(struct request *req, const char *assignment, struct error *err)
{
	_cleanup_free_ char *shown = text_quote(assignment), *section = NULL, *value = NULL,
			    *trouble = NULL;
	const char *equals = strchr(assignment, '=');
	char *key;
	int index;

	section = text_trim(assignment, strcspn(assignment, "="));
	key = strchr(section, '.');
	if (!equals || !key)
		return error_set(err, EINVAL, "--set %s: it is written SECTION.KEY=VALUE", shown);
	*key++ = '\0';
	value = text_trim(equals + 1, strlen(equals + 1));
	for (const char *p = value; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return error_set(err, EINVAL, "--set %s: the value is not plain text",
			                 shown);
	trouble = section_trouble(section);
	index = profile_key_index(section, key);
	if (!trouble && index < 0)
		trouble = no_such_key(section, key);
	if (trouble)
		return error_set(err, EINVAL, "--set %s: %s", shown, trouble);
	if (profile_key_set(req, (unsigned int)index, value, GIVEN_SET, "--set", false, err))
		return error_prefix(err, "--set");
	return 0;
}
