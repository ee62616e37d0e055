// Two threads wait for each other's mutex: ab_body > ab_inner and ba_body > ba_inner.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex_a = PTHREAD_MUTEX_INITIALIZER, mutex_b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

#define OUTLINE __attribute__((noinline, noclone))

OUTLINE int ab_inner(void) { int r = pthread_mutex_lock(&mutex_b); __asm__ volatile("" ::: "memory"); return r; }
OUTLINE int ba_inner(void) { int r = pthread_mutex_lock(&mutex_a); __asm__ volatile("" ::: "memory"); return r; }

OUTLINE void *ab_body(void *arg)
{
	pthread_mutex_lock(&mutex_a);
	pthread_barrier_wait(&both);
	return ab_inner() ? arg : NULL;
}

OUTLINE void *ba_body(void *arg)
{
	pthread_mutex_lock(&mutex_b);
	pthread_barrier_wait(&both);
	return ba_inner() ? arg : NULL;
}

int main(void)
{
	pthread_t t;
	alarm(3600);
	pthread_barrier_init(&both, NULL, 3);
	pthread_create(&t, NULL, ab_body, NULL);
	pthread_create(&t, NULL, ba_body, NULL);
	pthread_barrier_wait(&both);
	puts("ready");
	fflush(stdout);
	pause();
}
