/* nursery: has children without end, some in each tick. It says "ready" before, and ends with its standard input. */
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};

	puts("ready");
	fflush(stdout);
	while (poll(&in, 1, 4) == 0) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
	return 0;
}
