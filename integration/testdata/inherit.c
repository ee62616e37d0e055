// inherit print               prints what this process has inherited.
// inherit set COMMAND [ARG…]  runs a command that inherits a value for each of these that is not the usual one.
// inherit deathsig            asks for SIGKILL at its parent's end, prints its PID, and exits with 7 when its input ends.
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void file(const char *path) {
	char buf[65536];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof buf - 1);
	close(fd);
	printf("%s: ", path);
	for (ssize_t i = 0; i < n; i++)
		putchar(buf[i] ? buf[i] : ' ');
	printf("\n");
}

// status prints the fields that fork and exec pass on.
static void status(void) {
	static const char *wanted[] = {"Umask", "Uid", "Gid", "Groups", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "Cap",
		"NoNewPrivs", "Seccomp", "Speculation", "Cpus_allowed", "Mems_allowed", "THP_enabled", "x86_Thread"};
	char line[4096];
	FILE *f = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, f))
		for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i])))
				fputs(line, stdout);
	fclose(f);
}

static void descriptors(void) {
	DIR *d = opendir("/proc/self/fd");
	for (int fd = 0; fd < 1000; fd++) {
		char path[64], to[4096];
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		ssize_t n = readlink(path, to, sizeof to - 1);
		if (fd == dirfd(d) || n < 0)
			continue;
		while (n > 0 && (isdigit(to[n - 1]) || to[n - 1] == ']')) // numbers of pipes and terminals
			n--;
		printf("fd %d: %.*s flags %#o %#o\n", fd, (int)n, to, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD));
	}
	closedir(d);
}

static void option(const char *name, int op, int through) {
	int value = -1;
	int got = through ? prctl(op, &value) : prctl(op, 0, 0, 0, 0);
	printf("%s: %d %d\n", name, got, value);
}

static void print(char **argv) {
	char buf[4096];
	for (char **a = argv; *a; a++)
		printf("argument: %s\n", *a);
	for (char **e = environ; *e; e++)
		printf("environment: %s\n", *e);
	status();
	file("/proc/self/limits");
	file("/proc/self/oom_score_adj");
	file("/proc/self/coredump_filter");
	file("/proc/self/cgroup");
	file("/proc/self/attr/current");
	file("/proc/self/loginuid");
	file("/proc/self/sessionid");
	file("/proc/self/uid_map");
	file("/proc/self/timens_offsets");
	descriptors();
	printf("directory: %s\n", getcwd(buf, sizeof buf));
	ssize_t n = readlink("/proc/self/root", buf, sizeof buf);
	printf("root: %.*s\n", (int)n, buf);
	static const char *spaces[] = {"cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "user", "uts"};
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		char path[64];
		snprintf(path, sizeof path, "/proc/self/ns/%s", spaces[i]);
		n = readlink(path, buf, sizeof buf);
		printf("namespace: %.*s\n", (int)n, buf);
	}
	int tty = open("/dev/tty", O_RDWR);
	printf("terminal: %d, in its foreground: %d, leads its session: %d, its group: %d\n", tty >= 0,
		tcgetpgrp(tty) == getpgrp(), getsid(0) == getpid(), getpgrp() == getpid());
	printf("nice: %d, policy: %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
	printf("io priority: %ld\n", syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0));
	printf("personality: %#x\n", personality(0xffffffff));
	option("dumpable", PR_GET_DUMPABLE, 0);
	option("keepcaps", PR_GET_KEEPCAPS, 0);
	option("securebits", PR_GET_SECUREBITS, 0);
	option("timer slack", PR_GET_TIMERSLACK, 0);
	option("no new privileges", PR_GET_NO_NEW_PRIVS, 0);
	option("huge pages", PR_GET_THP_DISABLE, 0);
	option("machine checks", PR_MCE_KILL_GET, 0);
	option("io flusher", 58, 0);
	option("write or execute", 66, 0);
	option("parent's end", PR_GET_PDEATHSIG, 1);
	option("reaper", PR_GET_CHILD_SUBREAPER, 1);
	long key = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
	n = key < 0 ? 0 : syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, buf, sizeof buf);
	printf("session keyring: %d %.*s\n", key >= 0, n > 0 ? (int)n : 0, buf);
	struct itimerval timer;
	getitimer(ITIMER_REAL, &timer);
	printf("timer: %ld\n", (long)timer.it_value.tv_sec);
}

static void put(const char *path, const char *text) {
	int fd = open(path, O_WRONLY);
	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		perror(path);
	close(fd);
}

static void limit(int which, rlim_t soft) {
	struct rlimit l;
	getrlimit(which, &l);
	if (soft < l.rlim_max)
		l.rlim_cur = soft;
	setrlimit(which, &l);
}

// set changes what it can. What an ordinary user may not change stays, in both runs that are compared.
static void set(char **argv) {
	static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGCHLD, SIGUSR1, SIGTSTP, SIGTTOU, SIGABRT, SIGPROF,
		SIGCONT, SIGURG};
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGRTMIN + 3, SIG_IGN);
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	grantpt(master);
	unlockpt(master);
	char *name = ptsname(master);
	if (fork() > 0) { // it may lead a group already, and is then no session leader
		int st;
		signal(SIGCHLD, SIG_DFL);
		wait(&st);
		exit(WIFEXITED(st) ? WEXITSTATUS(st) : 99);
	}
	setsid();
	int tty = open(name, O_RDWR);
	ioctl(tty, TIOCSCTTY, 0);
	dup2(tty, 0);
	close(tty);
	pid_t child;
	if ((child = fork()) > 0) { // the command leads neither the session nor a group
		int st;
		signal(SIGCHLD, SIG_DFL);
		waitpid(child, &st, 0);
		exit(WIFEXITED(st) ? WEXITSTATUS(st) : 99);
	}
	int high = open("/dev/zero", O_RDONLY | O_APPEND);
	dup2(high, 4);
	dup2(high, 9);
	dup2(high, 3);
	if (high > 4)
		close(high);
	int p[2];
	if (pipe2(p, O_NONBLOCK) == 0)
		dup2(p[1], 17);
	umask(0137);
	limit(RLIMIT_NOFILE, 64);
	limit(RLIMIT_CORE, 4096);
	limit(RLIMIT_STACK, 4 << 20);
	limit(RLIMIT_CPU, 12345);
	if (chdir("/var") != 0)
		perror("/var");
	setpriority(PRIO_PROCESS, 0, 3);
	struct sched_param none = {0};
	sched_setscheduler(0, SCHED_BATCH, &none);
	cpu_set_t first;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof first, &first);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 6));
	prctl(PR_SET_TIMERSLACK, 77777);
	prctl(PR_SET_PDEATHSIG, SIGWINCH);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP);
	prctl(PR_CAPBSET_DROP, 25); // CAP_SYS_TIME
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	personality(ADDR_NO_RANDOMIZE);
	put("/proc/self/oom_score_adj", "123");
	put("/proc/self/coredump_filter", "0x11");
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, "inherit");
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigaddset(&blocked, SIGSEGV);
	sigaddset(&blocked, SIGPROF);
	sigaddset(&blocked, SIGALRM);
	sigaddset(&blocked, SIGRTMAX);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	static char *twice[] = {"A=1", "TWICE=first", "PATH=/usr/bin:/bin", "TWICE=second", "no equals sign", "=", "", "A_=2", NULL};
	execve(argv[0], argv, twice);
	perror(argv[0]);
	exit(98);
}

static int deathsig(void) {
	char c;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	printf("asked %d\n", getpid());
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 7;
}

int main(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "print"))
		print(argv);
	else if (argc > 2 && !strcmp(argv[1], "set"))
		set(argv + 2);
	else if (argc > 1 && !strcmp(argv[1], "deathsig"))
		return deathsig();
	return 0;
}
