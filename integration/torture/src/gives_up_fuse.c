// A FUSE file system whose server abandons a request when the kernel reports an interruption (FUSE_INTERRUPT), as the
// protocol allows: the call then gives EINTR (fs/fuse/dev.c).
#include "torture.h"
#include "gives_up.h"
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>

static int dev;
static char mounted[256], path[300];

static void reply(uint64_t id, int error, void *body, size_t n) {
	struct fuse_out_header h = {sizeof h + n, error, id};
	struct iovec v[2] = {{&h, sizeof h}, {body, n}};
	writev(dev, v, error ? 1 : 2);
}

static void attributes(struct fuse_attr *a, uint64_t node) {
	a->ino = node, a->nlink = 1;
	a->mode = (node == 1 ? S_IFDIR : S_IFREG) | 0777;
}

// An answer takes 30 µs, in which the server polls for interruptions.
static int interrupted(uint64_t id) {
	struct pollfd p = {dev, POLLIN};
	struct timespec t = {0, 30000};
	char b[8192];
	if (ppoll(&p, 1, &t, 0) <= 0) return 0;
	struct fuse_in_header *h = (void *)b;
	if (read(dev, b, sizeof b) <= 0 || h->opcode != FUSE_INTERRUPT) return 0;
	return ((struct fuse_interrupt_in *)(h + 1))->unique == id;
}

static void answer(struct fuse_in_header *h) {
	struct fuse_entry_out e = {.nodeid = 2};
	struct fuse_attr_out a = {0};
	struct fuse_init_out i = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096};
	switch (h->opcode) {
	case FUSE_INIT: return reply(h->unique, 0, &i, sizeof i);
	case FUSE_INTERRUPT: case FUSE_FORGET: case FUSE_BATCH_FORGET: return;
	case FUSE_LOOKUP:
		if (!strncmp((char *)(h + 1), "new", 3)) return reply(h->unique, -ENOENT, 0, 0);
		attributes(&e.attr, 2);
		return reply(h->unique, 0, &e, sizeof e);
	case FUSE_GETATTR:
		if (h->nodeid != 1 && interrupted(h->unique)) return reply(h->unique, -EINTR, 0, 0);
		attributes(&a.attr, h->nodeid);
		return reply(h->unique, 0, &a, sizeof a);
	case FUSE_MKDIR:
		if (interrupted(h->unique)) return reply(h->unique, -EINTR, 0, 0);
		return reply(h->unique, -EPERM, 0, 0); // it has come that far
	}
	reply(h->unique, -ENOSYS, 0, 0);
}

// The server is a process of its own: were it a thread, the process could not end while a call waits for it.
static void serve(void) {
	static char b[1 << 17];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (read(dev, b, sizeof b) > 0) answer((void *)b);
		else if (errno != EINTR && errno != ENOENT) _exit(0);
	}
}

static int prepare(const char *dir) {
	char options[200];
	snprintf(mounted, sizeof mounted, "%s", dir);
	snprintf(path, sizeof path, "%s/file", dir);
	if ((dev = open("/dev/fuse", O_RDWR | O_CLOEXEC)) < 0) return -1;
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", dev);
	if (mount("none", dir, "fuse", 0, options) < 0) return -1;
	pid_t server = fork();
	if (server == 0) serve();
	close(dev);
	return server;
}

static void make_stat(void) {
	struct stat st;
	outcome(stat(path, &st), errno, 0);
	for (volatile int n = 0; n < 20000; n++) {}
}

static void make_mkdir(void) {
	char new[310];
	snprintf(new, sizeof new, "%s/new", mounted);
	int r = mkdir(new, 0700), err = errno;
	if (r < 0 && err == EPERM) r = 0;
	outcome(r, err, 0);
	for (volatile int n = 0; n < 20000; n++) {}
}

static void unmount(void) { umount2(mounted, MNT_DETACH); }

const struct call fuse_stat = {"fuse-stat", prepare, make_stat, unmount, 0};
const struct call fuse_mkdir = {"fuse-mkdir", prepare, make_mkdir, unmount, 0};

// SPDX-License-Identifier: Apache-2.0
