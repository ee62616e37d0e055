/* vfork: a child that still has its parent's memory. It says "ready" and the child's number, and ends with its standard
 * input; after an x it calls exec. */
#define _GNU_SOURCE
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	if (vfork() == 0) {
		char line[32], c;
		int n = snprintf(line, sizeof line, "ready\n%d\n", getpid());
		if (write(1, line, n) == n)
			while (read(0, &c, 1) > 0)
				if (c == 'x')
					execl("/bin/cat", "cat", (char *)0);
		_exit(0);
	}
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
