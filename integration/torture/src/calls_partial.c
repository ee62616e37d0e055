// Calls that give a short count if they are interrupted: those that wait between two parts of their work, and those
// that check for signals while they work.
#include "calls.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <termios.h>

enum { BIG = 200000, HUGE_ = 1 << 20 };
static char scrap[HUGE_];

static void pair(struct call *c, int type) {
	int fd[2];
	must(socketpair(AF_UNIX, type, 0, fd));
	c->a = fd[0], c->b = fd[1];
}

static void stream(struct call *c) { pair(c, SOCK_STREAM); }
static void datagrams(struct call *c) { pair(c, SOCK_DGRAM); }

static void big_pipe(struct call *c) {
	int fd[2];
	must(pipe(fd));
	c->a = fd[1], c->b = fd[0];
	fcntl(c->b, F_SETFL, O_NONBLOCK);
}

static void take(struct call *c) { if (read(c->b, scrap, 1 << 16) < 0) errno = 0; }
static void drain(struct call *c) { recv(c->b, scrap, 1 << 16, MSG_DONTWAIT); }
static void put(struct call *c) { send(c->b, scrap, 100, MSG_DONTWAIT); }

static enum outcome do_write(struct call *c) { return judge(c, write(c->a, scrap, BIG), BIG); }
static enum outcome do_send(struct call *c) { return judge(c, send(c->a, scrap, HUGE_, 0), HUGE_); }
static enum outcome do_waitall(struct call *c) { return judge(c, recv(c->a, scrap, 500, MSG_WAITALL), 500); }

static enum outcome do_recvmmsg(struct call *c) {
	struct iovec v[4];
	struct mmsghdr m[4];
	memset(m, 0, sizeof m);
	for (int i = 0; i < 4; i++) {
		v[i] = (struct iovec){scrap + i * 100, 100};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &v[i], .msg_iovlen = 1};
	}
	int r = recvmmsg(c->a, m, 4, 0, 0);
	// After a short count the kernel keeps ERESTARTSYS as the socket's error, and the next call gives that.
	if (r < 0 && errno == 512) return SHORT;
	return judge(c, r, 4);
}

static void file(struct call *c) {
	c->x = must(memfd_create("torture", 0));
	must(ftruncate(c->x, HUGE_));
}

static void file_to_socket(struct call *c) { stream(c), file(c); }

static enum outcome do_sendfile(struct call *c) {
	off_t at = 0;
	return judge(c, sendfile(c->a, c->x, &at, BIG), BIG);
}

// A terminal that gives ten characters at once.
static void raw_terminal(struct call *c) {
	struct termios m;
	c->b = must(posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK));
	must(grantpt(c->b)), must(unlockpt(c->b));
	c->a = must(open(ptsname(c->b), O_RDWR | O_NOCTTY));
	must(tcgetattr(c->a, &m));
	cfmakeraw(&m);
	m.c_cc[VMIN] = 10, m.c_cc[VTIME] = 0;
	must(tcsetattr(c->a, TCSANOW, &m));
}

static void type_(struct call *c) { if (write(c->b, "abc", 3) < 0) errno = 0; }

static enum outcome do_read_raw(struct call *c) { return judge(c, read(c->a, scrap, 10), 10); }

struct call partial_calls[] = {
	{"write/pipe,200000", do_write, take, big_pipe},
	{"send/1M", do_send, drain, stream},
	{"recv/WAITALL", do_waitall, put, stream},
	{"recvmmsg/4", do_recvmmsg, put, datagrams},
	{"read/tty,VMIN=10", do_read_raw, type_, raw_terminal},
	{"sendfile/socket,200000", do_sendfile, drain, file_to_socket},
	{0},
};

static void urandom(struct call *c) { c->a = must(open("/dev/urandom", O_RDONLY)); }
static void zero(struct call *c) { c->a = must(open("/dev/zero", O_RDONLY)); }

static enum outcome do_getrandom(struct call *c) { return judge(c, getrandom(scrap, HUGE_, 0), HUGE_); }
static enum outcome do_read(struct call *c) { return judge(c, read(c->a, scrap, HUGE_), HUGE_); }

static enum outcome do_fallocate(struct call *c) {
	long r = fallocate(c->x, 0, 0, 32 * HUGE_);
	enum outcome o = judge(c, r, 0);
	must(ftruncate(c->x, 0));
	return o;
}

static enum outcome do_copy(struct call *c) {
	loff_t in = 0, out = 0;
	return judge(c, copy_file_range(c->x, &in, c->a, &out, HUGE_, 0), HUGE_);
}

static void two_files(struct call *c) { file(c), c->a = must(memfd_create("copy", 0)); }

struct call running_calls[] = {
	{"getrandom/1M", do_getrandom, 0, 0},
	{"read/urandom,1M", do_read, 0, urandom},
	{"read/zero,1M", do_read, 0, zero},
	{"fallocate/tmpfs,32M", do_fallocate, 0, file},
	{"copy_file_range/1M", do_copy, 0, two_files},
	{0},
};

// SPDX-License-Identifier: Apache-2.0
