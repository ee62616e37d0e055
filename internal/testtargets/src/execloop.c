// SPDX-License-Identifier: Apache-2.0

// A program that calls exec of itself, over and over. It says "ready" at its start.
#include <unistd.h>

int main(int argc, char **argv) {
	if (argc == 1) {
		alarm(600);
		write(1, "ready\n", 6);
	}
	execl("/proc/self/exe", argv[0], "again", (char *)0);
	return 9;
}
