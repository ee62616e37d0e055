// A process with a thread that computes and one that sleeps.
#include <pthread.h>
#include <unistd.h>

static void *computes(void *arg) {
	for (volatile long i = 0;; i++)
		;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, NULL, computes, NULL);
	alarm(600);
	for (;;)
		pause();
}
