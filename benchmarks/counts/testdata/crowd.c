/* crowd BURNERS SLEEPERS: threads that compute, and threads that sleep in a read. It says "ready" when all are
 * there, and ends with its standard input. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long sink;
static volatile int there;
static int pipes[2];

__attribute__((noinline)) static void burn(void)
{
	for (;;)
		sink = sink * 5 + 1;
}

static void *burner(void *arg)
{
	__sync_fetch_and_add(&there, 1);
	burn();
	return arg;
}

static void *sleeper(void *arg)
{
	char c;

	__sync_fetch_and_add(&there, 1);
	while (read(pipes[0], &c, 1) != 0)
		sink++;
	return arg;
}

int main(int argc, char **argv)
{
	int burners, all, i;
	char c;

	if (argc != 3 || pipe(pipes) != 0)
		return 2;
	burners = atoi(argv[1]);
	all = burners + atoi(argv[2]);
	for (i = 0; i < all; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, i < burners ? burner : sleeper, NULL) != 0)
			return 2;
	}
	while (there < all)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	_exit(0);
}
