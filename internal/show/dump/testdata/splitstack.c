/* Recurses on a stack that grows in pieces (-fsplit-stack), and sleeps at the end of it. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int sink;
static int use(volatile char *b) { return b[0]; }

__attribute__((noinline, noclone)) static int waits(int n)
{
	puts("ready");
	fflush(stdout);
	pause();
	return n + 1;
}

__attribute__((noinline, noclone)) static int grows(int n)
{
	char b[6000];
	memset(b, n, sizeof b);
	return n == 0 ? waits(use(b)) + use(b) : grows(n - 1) + use(b);
}

static void *thread(void *arg)
{
	sink = grows(*(int *)arg);
	return NULL;
}

int main(void)
{
	int n = 60;
	pthread_t t;
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	pthread_create(&t, &a, thread, &n);
	pthread_join(t, NULL);
	return sink;
}
