// A program to look at. It prints "ready" and a line of facts, works until its
// standard input ends, then prints its counts.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char __executable_start, etext;

static volatile unsigned long work, eintr, wakeups, handled, sum, queued;
static volatile int tid, quit, reports;

static void *spin(void *arg) {
	tid = syscall(SYS_gettid);
	while (!quit) work++;
	return arg;
}

// With time-out 0 or 1 ms the thread enters the call all the time; with −1 it
// sleeps in it.
static const sigset_t *during; // signals blocked in the call

static void *poller(void *arg) {
	int ep = epoll_create1(0), timeout = *(int *)arg;
	struct epoll_event ev;
	tid = syscall(SYS_gettid);
	while (!quit) {
		if (epoll_pwait(ep, &ev, 1, timeout, during) < 0 && errno == EINTR) eintr++;
		else wakeups++;
	}
	return arg;
}

#ifdef __x86_64__
#include <sys/mman.h>
// Switches to 32-bit code, an endless loop, by a far return.
static void *compat(void *arg) {
	unsigned char *page = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (page == MAP_FAILED) return arg;
	page[0] = 0xeb, page[1] = 0xfe;
	tid = syscall(SYS_gettid);
	__asm__ volatile("mov %1, %%rsp\n\tpush $0x23\n\tpush %0\n\tlretq"
		:: "r"((unsigned long)page), "r"((unsigned long)page + 8192) : "memory");
	return arg;
}
#else
#define compat 0
#endif

// Calls exec from a thread that is not the first, once it is asked to report.
static void *execer(void *arg) {
	tid = syscall(SYS_gettid);
	while (!reports) work++;
	execl("/proc/self/exe", "target", "spin", (char *)0);
	return arg;
}

static void *worker(void *arg) { return arg; }

static void *pauser(void *arg) {
	for (;;) pause();
	return arg;
}

// Threads that are born and end all the time.
static void *churn(void *arg) {
	while (!quit) {
		pthread_t t;
		if (pthread_create(&t, 0, worker, 0) == 0) pthread_join(t, 0), wakeups++;
	}
	return arg;
}

static void count(int sig, siginfo_t *info, void *ctx) {
	(void)sig, (void)ctx;
	handled++;
	if (info->si_code == SI_QUEUE) queued++, sum += info->si_value.sival_int;
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "sleep";
	int arg = argc > 2 ? atoi(argv[2]) : 0;
	struct sigaction sa = {.sa_sigaction = count, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigaction(SIGUSR1, &sa, 0);
	sigaction(SIGRTMIN, &sa, 0);
	signal(SIGUSR2, SIG_IGN);
	signal(SIGTSTP, SIG_IGN), signal(SIGTTIN, SIG_IGN), signal(SIGTTOU, SIG_IGN);

	// Signals go to the other thread, the first one only waits for its input.
	sigset_t set, old, none;
	sigfillset(&set);
	sigemptyset(&none);
	if (strcmp(mode, "pwait") == 0) during = &none;
	pthread_sigmask(SIG_BLOCK, &set, &old);
	pthread_t t;
	void *(*body)(void *) = strcmp(mode, "spin") == 0 ? spin
		: strcmp(mode, "epoll") == 0 || strcmp(mode, "pwait") == 0 ? poller
		: strcmp(mode, "compat") == 0 ? compat
		: strcmp(mode, "exec") == 0 ? execer
		: strcmp(mode, "churn") == 0 ? churn : 0;
	pthread_sigmask(SIG_SETMASK, &old, 0);
	if (body) pthread_create(&t, 0, body, &arg);
	if (body == execer && arg) pthread_create(&t, 0, pauser, 0);
	pthread_sigmask(SIG_BLOCK, &set, 0);
	while (body && body != churn && !tid) usleep(100);
	printf("ready %d %d %p %p\n", getpid(), tid ? tid : getpid(), (void *)&__executable_start, (void *)&etext);
	fflush(stdout);
	char c;
	while (read(0, &c, 1) == 1) {
		printf("%lu %lu %lu %lu %lu\n", eintr, wakeups, handled, queued, sum);
		fflush(stdout);
		reports++;
	}
	return 7;
}
