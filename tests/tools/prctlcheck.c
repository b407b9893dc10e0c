/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prctlcheck: prints what a task isolation call on a kernel without the interface would have
 * turned on in this process. "-1": the kernel does not have the call. */
#include <stdio.h>
#include <sys/prctl.h>

#ifndef PR_GET_MDWE
#define PR_GET_MDWE 66 /* Linux 6.3 */
#endif
#ifndef PR_GET_MEMORY_MERGE
#define PR_GET_MEMORY_MERGE 68 /* Linux 6.4 */
#endif

int main(void)
{
	printf("MEMORY_MERGE=%d MDWE=%d\n", prctl(PR_GET_MEMORY_MERGE, 0, 0, 0, 0),
	       prctl(PR_GET_MDWE, 0, 0, 0, 0));
	return 0;
}
