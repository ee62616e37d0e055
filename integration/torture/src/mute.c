// A program with a library on a FUSE file system that stops answering once the program runs: the server takes all
// requests and answers none. It is mounted over /tmp in a mount namespace of its own, so that the search for a perf
// map reaches it too. Arguments: optionally "answer", with which the server goes on answering; the library, which has
// a function spin.
#include "torture.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <signal.h>

enum { ROOT = FUSE_ROOT_ID, LIB = 2 };
static char *lib;
static size_t lib_size;
static int dev;
static struct shared { atomic_int begun, silent; volatile long n; } *shared;

static void reply(const struct fuse_in_header *in, int error, const void *data, size_t n) {
	struct fuse_out_header out = {.len = sizeof out + n, .error = error, .unique = in->unique};
	struct iovec v[] = {{&out, sizeof out}, {(void *)data, n}};
	if (writev(dev, v, 2) < 0 && errno != ENOENT) // ENOENT: who asked has given up
		perror("reply");
}

static struct fuse_attr attr(unsigned long node) {
	struct fuse_attr a = {.ino = node, .mode = S_IFDIR | 0755, .nlink = 1, .blksize = 4096};
	if (node == LIB)
		a.mode = S_IFREG | 0755, a.size = lib_size, a.blocks = lib_size / 512 + 1;
	return a;
}

static void answer(const struct fuse_in_header *in, const void *arg) {
	switch (in->opcode) {
	case FUSE_INIT: {
		struct fuse_init_out o = {.major = 7, .minor = 31, .max_write = 1 << 16, .max_readahead = 1 << 16};
		reply(in, 0, &o, sizeof o);
		shared->begun = 1;
		break;
	}
	case FUSE_LOOKUP: {
		struct fuse_entry_out o = {.nodeid = LIB, .attr = attr(LIB)};
		int there = in->nodeid == ROOT && strcmp(arg, "lib.so") == 0;
		reply(in, there ? 0 : -ENOENT, &o, there ? sizeof o : 0);
		break;
	}
	case FUSE_GETATTR: {
		struct fuse_attr_out o = {.attr = attr(in->nodeid)};
		reply(in, 0, &o, sizeof o);
		break;
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR: {
		struct fuse_open_out o = {0};
		reply(in, 0, &o, sizeof o);
		break;
	}
	case FUSE_READ: {
		const struct fuse_read_in *r = arg;
		size_t from = least(r->offset, lib_size);
		reply(in, 0, lib + from, least(r->size, lib_size - from));
		break;
	}
	case FUSE_STATFS: {
		struct fuse_statfs_out o = {.st.bsize = 4096, .st.namelen = 255};
		reply(in, 0, &o, sizeof o);
		break;
	}
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		reply(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; // these have no answer
	default:
		reply(in, -ENOSYS, NULL, 0);
	}
}

static void serve(void) {
	static char buf[1 << 18];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		long n = read(dev, buf, sizeof buf);
		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n < 0)
			_exit(0); // it was unmounted
		if (!shared->silent)
			answer((void *)buf, buf + sizeof(struct fuse_in_header));
	}
}

long progress(void) { return shared->n >> 16; }

static void *spinner(void *spin) {
	((void (*)(volatile long *))spin)(&shared->n);
	return NULL;
}

int main(int argc, char **argv) {
	struct stat st;
	char options[100];
	pthread_t thread;
	int fd = must(open(argv[argc - 1], O_RDONLY));
	must(fstat(fd, &st));
	lib = malloc(lib_size = st.st_size);
	must(read(fd, lib, lib_size) == (long)lib_size ? 0 : -1);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	dev = must(open("/dev/fuse", O_RDWR | O_CLOEXEC));
	must(unshare(CLONE_NEWNS));
	must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", dev);
	must(mount("mute", "/tmp", "fuse", 0, options));
	if (must(fork()) == 0)
		serve();
	close(dev);
	while (!shared->begun)
		usleep(1000);
	void *l = dlopen("/tmp/lib.so", RTLD_NOW);
	if (!l) {
		fprintf(stderr, "%s\n", dlerror());
		return 99;
	}
	must(-pthread_create(&thread, NULL, spinner, dlsym(l, "spin")));
	while (shared->n == 0)
		usleep(1000);
	shared->silent = argc == 2;
	serve_until_eof();
	done();
}

// SPDX-License-Identifier: Apache-2.0
