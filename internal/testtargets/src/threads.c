// A program whose threads do what a test asks for: threads MODE [N].
// It says "ready" when all are there, and ends after ten minutes at the latest.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static int pipes[2];
static volatile long there;

// The test says "go on" by SIGUSR1, to the children too.
static volatile int *told;

static void tell(int sig) { *told = sig; }

// burn_here computes for so much processor time of the thread, however many others want the processor;
// for ever if ms is negative, until the test says so if it is 0.
__attribute__((noinline)) void burn_here(long ms) {
	struct timespec a, b;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do {
		for (int i = 0; i < 20000; i++)
			sink += i * sink + 1;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	} while (ms < 0 || (ms == 0 && !*told) || (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

__attribute__((noinline)) void burn_there(long ms) {
	burn_here(ms);
	sink++;
}

__attribute__((noinline)) void sleep_here(void) {
	char c;
	while (read(pipes[0], &c, 1) != 0)
		sink++;
}

static void nap(long us) {
	struct timespec t = {us / 1000000, us % 1000000 * 1000};
	nanosleep(&t, NULL);
}

static void named(const char *kind, long n) {
	char name[16];
	snprintf(name, sizeof name, "%.8s-%ld", kind, n);
	pthread_setname_np(pthread_self(), name);
	__sync_fetch_and_add(&there, 1);
}

static void *sleeper(void *n) {
	named("sleeper", (long)n);
	sleep_here();
	return NULL;
}

static void *burner(void *n) {
	named("burner", (long)n);
	burn_here(-1);
	return NULL;
}

static void *waker(void *n) {
	for (named("waker", (long)n); sink != 1;)
		nap(1000);
	return NULL;
}

// It sleeps for long and then computes for a while.
static void *burster(void *n) {
	for (named("burster", (long)n);;) {
		nap(700000 + 50000 * (long)n);
		burn_here(60);
	}
	return NULL;
}

// Its name comes late, and then it sleeps for good.
static void *late(void *n) {
	nap(30000);
	named("late", (long)n);
	sleep_here();
	return NULL;
}

// Threads that follow one another under the same number, each until the test says so. One that got another number, as
// another program was faster, ends at once.
static volatile int number, wanted;

static void *same(void *n) {
	if (wanted != 0 && wanted != gettid())
		return n;
	number = gettid();
	wanted = -1;
	if ((long)n % 2)
		burn_there(0);
	else
		burn_here(0);
	return n;
}

// next_is makes the kernel give that number to whoever is started next, mostly.
static int next_is(int n) {
	FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");
	return f != NULL && (n == 0 || fprintf(f, "%d", n - 1) > 0) && fclose(f) == 0;
}

// heirs starts children one after the other with the same number.
static long heirs(long n) {
	long same = 0;
	for (pid_t last = 0, p; n > 0 && next_is(last); n--, same += p == last, last = p) {
		if ((p = fork()) == 0) {
			burn_here(300);
			_exit(0);
		}
		waitpid(p, NULL, 0);
	}
	return same;
}

// follow starts a thread with the number of the last one; 0 if that is not possible, and then with another.
static int follow(long n) {
	int last = number;
	wanted = last;
	for (int tries = 0; wanted != -1; tries++) {
		pthread_t t;
		if (tries == 1000)
			wanted = 0;
		if (!next_is(last) || pthread_create(&t, NULL, same, (void *)n) != 0)
			return 0;
		pthread_join(t, NULL);
	}
	*told = 0;
	return last == 0 || last == number;
}

// Its name changes while it computes.
static void *renamed(void *n) {
	named("first", 0);
	burn_here(0);
	named("second", 0);
	burn_there(-1);
	return n;
}

// deep calls itself that many times, then computes or sleeps.
__attribute__((noinline)) long deep(long n, int sleeps) {
	volatile char room[200];
	room[0] = (char)n;
	if (n > 1)
		return deep(n - 1, sleeps) + room[0];
	__sync_fetch_and_add(&there, 1);
	if (sleeps)
		sleep_here();
	else
		burn_here(-1);
	return room[0];
}

static void *deep_sleeper(void *n) {
	pthread_setname_np(pthread_self(), "deep-s-0");
	return (void *)deep((long)n, 1);
}

static void *deep_burner(void *n) {
	pthread_setname_np(pthread_self(), "deep-b-0");
	return (void *)deep((long)n, 0);
}

static volatile long alive;

static void *brief(void *n) {
	burn_here(1);
	__sync_fetch_and_sub(&alive, 1);
	return n;
}

static void start(void *(*f)(void *), long n) {
	for (long i = 0; i < n; i++) {
		pthread_t t;
		pthread_attr_t a;
		pthread_attr_init(&a);
		pthread_attr_setstacksize(&a, 256 << 10);
		if (pthread_create(&t, &a, f, (void *)i) != 0)
			exit(9);
		pthread_detach(t);
	}
}

// start_deep starts a thread of each kind with room for deep stacks.
static void start_deep(long n) {
	void *(*kinds[])(void *) = {deep_sleeper, deep_burner};
	for (int i = 0; i < 2; i++) {
		pthread_t t;
		pthread_attr_t a;
		pthread_attr_init(&a);
		pthread_attr_setstacksize(&a, 7 << 20);
		if (pthread_create(&t, &a, kinds[i], (void *)n) != 0)
			exit(9);
	}
}

static void *runs_on(void *n) {
	burn_here(-1);
	return n;
}

// Children compute until their parent is gone, a grandchild until its parent's parent is.
static int cloned(void *name) {
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	burn_here(-1);
	return 0;
}

static void orphan(pid_t first) {
	alarm(600); // it is not inherited
	prctl(PR_SET_NAME, "by-child");
	while (kill(first, 0) == 0)
		burn_here(20);
	_exit(0);
}

// family starts a child in each way that there is.
static void family(void) {
	static char stack[256 << 10] __attribute__((aligned(16)));
	pid_t p;
	char *spawned[] = {"/proc/self/exe", "burnas", "-1", "by-spawn", NULL};
	char *after[] = {"/proc/self/exe", "burnas", "-1", "by-vfork", NULL};
	if (fork() == 0)
		_exit(cloned("by-fork"));
	if (clone(cloned, stack + sizeof stack, SIGCHLD, "by-clone") < 0)
		exit(9);
	if (posix_spawn(&p, "/proc/self/exe", NULL, NULL, spawned, environ) != 0)
		exit(9);
	if (vfork() == 0) {
		execv(after[0], after);
		_exit(9);
	}
	pid_t first = getpid();
	if (fork() == 0) { // and a grandchild, whose parent ends when the test says so
		if (fork() == 0)
			orphan(first);
		while (!*told && getppid() == first)
			nap(1000);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

// How many threads say that they are there.
static long expected(const char *mode, long n) {
	if (!strcmp(mode, "mixed"))
		return n + 1;
	if (!strcmp(mode, "deep"))
		return 2;
	if (!strcmp(mode, "bursts"))
		return n + 3;
	return !strcmp(mode, "sleepers") || !strcmp(mode, "burners") || !strcmp(mode, "wakers") ? n : 0;
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 1;
	alarm(600);
	told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return 9;
	signal(SIGUSR1, tell);
	if (pipe(pipes) != 0)
		return 9;
	if (!strcmp(mode, "sleepers"))
		start(sleeper, n);
	if (!strcmp(mode, "burners")) {
		if (n > 50) // they leave the rest of the machine its part
			nice(19);
		start(burner, n);
	}
	if (!strcmp(mode, "deep"))
		start_deep(n);
	if (!strcmp(mode, "wakers"))
		start(waker, n);
	if (!strcmp(mode, "mixed"))
		start(burner, 1), start(sleeper, n);
	if (!strcmp(mode, "bursts"))
		start(burster, 3), start(sleeper, n);
	for (long want = expected(mode, n); there < want;)
		nap(1000);
	if (strcmp(mode, "burnas")) {
		nap(50000);
		puts("ready");
		fflush(stdout);
	}
	if (!strcmp(mode, "late"))
		nap(500000), start(late, n);
	if (!strcmp(mode, "churn"))
		for (;; nap(500)) // on a busy machine they do not pile up
			if (alive < 8)
				__sync_fetch_and_add(&alive, 1), start(brief, 1);
	if (!strcmp(mode, "exec")) { // to a program of another name
		burn_here(0);
		execl(argv[2], "after", "burners", "1", NULL);
		return 9;
	}
	if (!strcmp(mode, "reuse")) {
		long same = 0;
		for (long i = 0; i < n; i++)
			same += follow(i);
		printf("%ld\n", same);
		fflush(stdout);
	}
	if (!strcmp(mode, "heirs")) {
		printf("%ld\n", heirs(n));
		fflush(stdout);
	}
	if (!strcmp(mode, "family"))
		family();
	if (!strcmp(mode, "burnas")) { // threads burnas MILLISECONDS NAME
		prctl(PR_SET_NAME, argv[3]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		burn_here(n);
		return 0;
	}
	if (!strcmp(mode, "renames")) { // the first thread too
		start(renamed, 1);
		burn_here(0);
		prctl(PR_SET_NAME, "other");
		burn_there(-1);
	}
	if (!strcmp(mode, "main"))
		burn_here(-1);
	if (!strcmp(mode, "ends"))
		burn_here(0);
	if (!strcmp(mode, "leaderless")) {
		start(runs_on, 1);
		pthread_exit(NULL);
	}
	if (!strcmp(mode, "forks"))
		for (;;) {
			pid_t p = fork();
			if (p == 0) {
				burn_here(n);
				_exit(0);
			}
			waitpid(p, NULL, 0);
		}
	if (!strcmp(mode, "vforks") && vfork() == 0) { // until its child is killed it does not stop
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (!strcmp(mode, "parent")) { // a child that has run for long already
		pid_t parent = getpid(), p = fork();
		if (p == 0) {
			while (getppid() != 1 && getppid() == parent)
				burn_here(20);
			_exit(0);
		}
		burn_here(n);
		puts("older");
		fflush(stdout);
		for (;;)
			pause();
	}
	if (strcmp(mode, "ends"))
		for (;;)
			pause();
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
