// Calls on sockets, pipes and files.
#include "calls.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <pty.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <termios.h>

static char scrap[1 << 16];

// limit sets the time-out of a socket; a long one for the calls that are to be woken.
static void limit(struct call *c, int fd, int option) {
	int ms = c->ms < 0 ? 3600 * 1000 : c->ms;
	struct timeval t = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	must(setsockopt(fd, SOL_SOCKET, option, &t, sizeof t));
}

static void pair(struct call *c) {
	int fd[2];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	c->a = fd[0], c->b = fd[1];
}

static void limited_pair(struct call *c) {
	pair(c);
	limit(c, c->a, SO_RCVTIMEO);
	limit(c, c->a, SO_SNDTIMEO);
}

static void put(struct call *c) { send(c->b, "x", 1, MSG_DONTWAIT); }
static void drain(struct call *c) { while (recv(c->b, scrap, sizeof scrap, MSG_DONTWAIT) > 0) {} }

static enum outcome do_read(struct call *c) { return judge(c, read(c->a, scrap, 8), 1); }
static enum outcome do_recv(struct call *c) { return judge(c, recv(c->a, scrap, 1, 0), 1); }

static enum outcome do_recvmsg(struct call *c) {
	struct iovec v = {scrap, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	return judge(c, recvmsg(c->a, &m, 0), 1);
}

static enum outcome do_send(struct call *c) {
	while (send(c->a, scrap, 4096, MSG_DONTWAIT) > 0) {}
	return judge(c, send(c->a, scrap, 1, 0), 1);
}

static struct sockaddr_un place(struct call *c, socklen_t *n) {
	struct sockaddr_un u = {.sun_family = AF_UNIX};
	*n = offsetof(struct sockaddr_un, sun_path) + 1 +
		snprintf(u.sun_path + 1, 80, "torture-%d-%s", getpid(), c->name);
	return u;
}

static void listener(struct call *c) {
	socklen_t n;
	struct sockaddr_un u = place(c, &n);
	c->a = must(socket(AF_UNIX, SOCK_STREAM, 0));
	must(bind(c->a, (void *)&u, n));
	must(listen(c->a, 0));
}

static void limited_listener(struct call *c) { listener(c), limit(c, c->a, SO_RCVTIMEO); }

static void call_up(struct call *c) {
	socklen_t n;
	struct sockaddr_un u = place(c, &n);
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	connect(s, (void *)&u, n);
	close(s);
}

static enum outcome do_accept(struct call *c) {
	int fd = accept(c->a, 0, 0);
	if (fd >= 0) close(fd);
	return judge(c, fd, 0);
}

static void busy_listener(struct call *c) { listener(c), fcntl(c->a, F_SETFL, O_NONBLOCK); }

static void answer(struct call *c) {
	int fd;
	while ((fd = accept(c->a, 0, 0)) >= 0) close(fd);
}

// The backlog is filled first, so that the connect waits for the accept.
static enum outcome do_connect(struct call *c) {
	socklen_t n;
	struct sockaddr_un u = place(c, &n);
	int fill[4], s = must(socket(AF_UNIX, SOCK_STREAM, 0));
	for (int i = 0; i < 4; i++)
		connect(fill[i] = must(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)), (void *)&u, n);
	if (c->ms > 0) limit(c, s, SO_SNDTIMEO);
	enum outcome o = judge(c, connect(s, (void *)&u, n), 0);
	for (int i = 0; i < 4; i++) close(fill[i]);
	close(s);
	if (o == EXPIRED) answer(c);
	return o;
}

// A full TCP listener does not answer: the connect waits forever.
static void deaf(struct call *c) {
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof in;
	c->a = must(socket(AF_INET, SOCK_STREAM, 0));
	must(bind(c->a, (void *)&in, n));
	must(getsockname(c->a, (void *)&in, &n));
	must(listen(c->a, 0));
	c->x = in.sin_port;
	for (int i = 0; i < 3; i++) connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), (void *)&in, n);
}

static enum outcome do_tcp_connect(struct call *c) {
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = c->x};
	int s = must(socket(AF_INET, SOCK_STREAM, 0));
	limit(c, s, SO_SNDTIMEO);
	enum outcome o = judge(c, connect(s, (void *)&in, sizeof in), 0);
	close(s);
	return o;
}

static void pipes(struct call *c) {
	int fd[2];
	must(pipe(fd));
	c->a = fd[0], c->b = fd[1];
	fcntl(c->b, F_SETFL, O_NONBLOCK);
}

static void pipe_put(struct call *c) { if (write(c->b, "x", 1) < 0) errno = 0; }

// The caller writes to a full pipe (a), the waker reads (b).
static void full_pipe(struct call *c) {
	pipes(c);
	int w = c->b;
	c->b = c->a, c->a = w;
	while (write(c->a, scrap, 4096) > 0) {}
	fcntl(c->a, F_SETFL, 0);
	fcntl(c->b, F_SETFL, O_NONBLOCK);
}

static void pipe_take(struct call *c) { if (read(c->b, scrap, 4096) < 0) errno = 0; }
static enum outcome do_write(struct call *c) { return judge(c, write(c->a, scrap, 4096), 4096); }

// A FIFO by way of /proc: its path is unlinked at once, so that a killed target leaves nothing behind.
static void fifo(struct call *c) {
	char path[] = "/tmp/torture-fifo-XXXXXX", *by;
	if (!mktemp(path)) _exit(99);
	must(mkfifo(path, 0600));
	c->a = must(open(path, O_PATH));
	unlink(path);
	must(asprintf(&by, "/proc/self/fd/%d", c->a));
	c->p = by;
}

static enum outcome do_open(struct call *c) {
	int fd = open(c->p, O_RDONLY);
	if (fd >= 0) close(fd);
	return judge(c, fd, 0);
}

static void fifo_writer(struct call *c) {
	int fd = open(c->p, O_WRONLY | O_NONBLOCK);
	if (fd >= 0) close(fd);
}

static void counter(struct call *c) { c->a = c->b = must(eventfd(0, 0)); }
static void counter_put(struct call *c) { eventfd_write(c->b, 1); }

static void timer(struct call *c) {
	struct itimerspec t = {{0, 5000000}, {0, 5000000}};
	c->a = must(timerfd_create(CLOCK_MONOTONIC, 0));
	must(timerfd_settime(c->a, 0, &t, 0));
}

static void watched(struct call *c) {
	char path[] = "/tmp/torture-watch-XXXXXX";
	c->b = must(mkstemp(path));
	c->a = must(inotify_init1(0));
	must(inotify_add_watch(c->a, path, IN_ATTRIB));
	unlink(path);
}

static void touch(struct call *c) { fchmod(c->b, 0600); }
static enum outcome do_notify(struct call *c) { return judge(c, read(c->a, scrap, sizeof scrap), 1); }

static void signals(struct call *c) {
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGRTMIN + 2);
	c->a = must(signalfd(-1, &s, 0));
}

static void signal_put(struct call *c) { syscall(SYS_tgkill, getpid(), (int)c->tid, SIGRTMIN + 2); }
static enum outcome do_signalfd(struct call *c) { return judge(c, read(c->a, scrap, 128), 128); }

static void terminal(struct call *c) {
	struct termios t;
	must(openpty(&c->b, &c->a, 0, 0, 0));
	tcgetattr(c->a, &t);
	cfmakeraw(&t);
	tcsetattr(c->a, TCSANOW, &t);
	fcntl(c->b, F_SETFL, O_NONBLOCK);
}

// Two open files of one inode: the waker holds the lock (c->x) and lets the caller have it for a moment.
static void two_files(struct call *c) {
	char path[] = "/tmp/torture-lock-XXXXXX";
	c->a = must(mkstemp(path));
	c->b = must(open(path, O_RDWR));
	unlink(path);
}

// again waits until the waker has the lock.
static void again(struct call *c) {
	while (!*(volatile long *)&c->x) usleep(500);
}

static enum outcome do_flock(struct call *c) {
	again(c);
	long r = flock(c->a, LOCK_EX);
	if (r == 0) flock(c->a, LOCK_UN);
	return judge(c, r, 0);
}

static void flock_swap(struct call *c) {
	if (c->x) c->x = 0, flock(c->b, LOCK_UN);
	else c->x = flock(c->b, LOCK_EX | LOCK_NB) == 0;
}

static int record_lock(int fd, int how, int type) {
	struct flock l = {.l_type = type};
	return fcntl(fd, how, &l);
}

static enum outcome do_setlkw(struct call *c) {
	again(c);
	long r = record_lock(c->a, F_OFD_SETLKW, F_WRLCK);
	if (r == 0) record_lock(c->a, F_OFD_SETLK, F_UNLCK);
	return judge(c, r, 0);
}

static void setlk_swap(struct call *c) {
	if (c->x) c->x = 0, record_lock(c->b, F_OFD_SETLK, F_UNLCK);
	else c->x = record_lock(c->b, F_OFD_SETLK, F_WRLCK) == 0;
}

struct call socket_calls[] = {
	{"recv", do_recv, put, pair},
	{"recvmsg", do_recvmsg, put, pair},
	{"recv/RCVTIMEO", do_recv, put, limited_pair},
	{"recv/RCVTIMEO+t", do_recv, 0, limited_pair, 1},
	{"recvmsg/RCVTIMEO+t", do_recvmsg, 0, limited_pair, 1},
	{"read/RCVTIMEO", do_read, put, limited_pair},
	{"read/RCVTIMEO+t", do_read, 0, limited_pair, 1},
	{"send", do_send, drain, pair},
	{"send/SNDTIMEO", do_send, drain, limited_pair},
	{"send/SNDTIMEO+t", do_send, 0, limited_pair, 1},
	{"accept", do_accept, call_up, listener},
	{"accept/RCVTIMEO", do_accept, call_up, limited_listener},
	{"accept/RCVTIMEO+t", do_accept, 0, limited_listener, 1},
	{"connect", do_connect, answer, busy_listener},
	{"connect/SNDTIMEO+t", do_connect, 0, busy_listener, 1},
	{"connect/TCP,SNDTIMEO+t", do_tcp_connect, 0, deaf, 1},
	{"read/pipe", do_read, pipe_put, pipes},
	{"write/pipe", do_write, pipe_take, full_pipe},
	{"open/FIFO", do_open, fifo_writer, fifo},
	{"read/eventfd", do_read, counter_put, counter},
	{"read/timerfd", do_read, 0, timer},
	{"read/inotify", do_notify, touch, watched},
	{"read/signalfd", do_signalfd, signal_put, signals},
	{"read/tty", do_read, pipe_put, terminal},
	{"flock", do_flock, flock_swap, two_files},
	{"fcntl/SETLKW", do_setlkw, setlk_swap, two_files},
	{0},
};

// SPDX-License-Identifier: Apache-2.0
