/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which file a command means. For looking at it and for messages: execvp(3) finds it by itself. */
#ifndef CHISOL_COMMAND_H
#define CHISOL_COMMAND_H

/* The first file that execvp(3) would try that faccessat(2) grants mode for; NULL: there is none.
 * The caller frees it. */
char *command_find(const char *name, int mode);
/* The interpreter that the first line of a script names; NULL if it is none. */
char *command_interpreter(const char *file);

#endif
