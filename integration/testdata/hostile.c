// A program with hostile names: printable_test.go replaces evil_work_NN and evil_wait_NN by other bytes, and the
// first argument is the name of its threads.
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char *name;
static volatile unsigned long sum;

__attribute__((noinline)) void evil_work_NN(void) {
	for (unsigned long i = 0; i < 100000000UL; i++) sum += i ^ (sum >> 3);
}

__attribute__((noinline)) int evil_wait_NN(void) {
	return pause() + 1;
}

static void *worker(void *arg) {
	(void)arg;
	prctl(PR_SET_NAME, name);
	for (;;) evil_work_NN();
	return 0;
}

static void *sleeper(void *arg) {
	(void)arg;
	prctl(PR_SET_NAME, name);
	while (evil_wait_NN() == 0) {}
	return 0;
}

int main(int argc, char **argv) {
	name = argc > 1 ? argv[1] : "plain";
	prctl(PR_SET_NAME, name);
	pthread_t t;
	pthread_create(&t, 0, worker, 0);
	for (int i = 0; i < 2; i++) pthread_create(&t, 0, sleeper, 0);
	puts("ready");
	fflush(stdout);
	alarm(600);
	evil_wait_NN();
	return 0;
}
