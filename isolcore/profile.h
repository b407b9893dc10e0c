/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles: INI files that say what to ask for. inih splits the lines; a reader of our own stands
 * before it and refuses, with file and line, all that inih would cut, join or pass over in silence.
 * The format is described in chisol.conf(5):
 *
 *   [section]
 *   key = value        # a comment, here and on lines of its own
 *   key = a list,
 *         goes on
 *
 * A line goes on in the next one only where it ends with a comma and that one begins with a blank.
 * There are no quotes, and "=" only. A comment begins with # or ; at the start of a line or after a
 * blank. A key may stand once in a file; a later file, and then --set, override it. All errors of a
 * file are told at once, a line each.
 *
 * Profiles are read with the privileges of the caller of chisol and are hostile input all the same.
 */
#ifndef ISOLCORE_PROFILE_H
#define ISOLCORE_PROFILE_H

#include "request.h"

#define PROFILE_SIZE_MAX (1u << 20) /* bytes in a file */

/*
 * Reads a profile into the request, over what is there. A name with a slash or with .conf at its
 * end is a file; any other is looked up as NAME.conf in, one after the other:
 *   the directories of $CHISOL_PROFILE_PATH (separated by colons),
 *   $XDG_CONFIG_HOME/chisol or ~/.config/chisol,
 *   /etc/chisol (CHISOL_SYSCONF_DIR),
 *   conf/ beside the directory of the program (a source tree),
 *   the directory that chisol was installed with (CHISOL_CONF_DIR).
 * The first two belong to the caller: they are left out when chisol runs with privileges that its
 * caller does not have in full, that is, with file capabilities or the set-user-ID bit, or as root
 * under sudo, doas or pkexec. Otherwise a rule that lets somebody run "chisol -p NAME" as root
 * would let him say what NAME means. The one beside the program is left out in the first two cases.
 * -ENOENT: not found; the sentence lists where it was looked for and what there is.
 */
int profile_load(struct request *req, const char *name, struct error *err);

/* Reads the text of a profile; name is for messages. */
int profile_parse(struct request *req, const char *name, const char *text, size_t len,
                  struct error *err);

/* --set: "SECTION.KEY=VALUE". */
int profile_set(struct request *req, const char *assignment, struct error *err);

#endif
