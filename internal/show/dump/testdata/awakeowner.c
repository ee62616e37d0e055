// Two threads lock each other out once standard input has a byte. Until then one of them, which owns the other's lock,
// computes.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static volatile int locked, blocks;

static void *computes(void *arg) {
	(void)arg;
	pthread_mutex_lock(&a);
	locked = 1;
	while (!blocks)
		;
	pthread_mutex_lock(&b);
	return NULL;
}

static void *waits(void *arg) {
	(void)arg;
	pthread_mutex_lock(&b);
	pthread_mutex_lock(&a);
	return NULL;
}

int main(void) {
	pthread_t t;
	char c;
	pthread_create(&t, NULL, computes, NULL);
	while (!locked)
		usleep(1000);
	pthread_create(&t, NULL, waits, NULL);
	puts("ready"), fflush(stdout);
	read(0, &c, 1);
	blocks = 1;
	pause();
}
