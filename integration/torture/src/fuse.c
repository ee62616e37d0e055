// A thread that reads and writes a file of a FUSE file system. Its server answers only when notified of an
// interruption (FUSE_INTERRUPT), with EINTR, as it may (Documentation/filesystems/fuse-io.rst of the kernel). Each
// restarted call is one more request: the target counts calls, the server requests.
#include "torture.h"
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

static struct shared { atomic_long reads, writes, interrupts; } *served; // by the server, a process of its own
static atomic_long calls[2], eintr, other;
static char dir[] = "/tmp/torture-fuse-XXXXXX", file[64];

long progress(void) { return least(calls[0], calls[1]); }

static void answer(int dev, unsigned long unique, int error, const void *data, unsigned n) {
	static char b[4096];
	struct fuse_out_header *h = (void *)b;
	*h = (struct fuse_out_header){.len = sizeof *h + n, .error = error, .unique = unique};
	memcpy(h + 1, data, n);
	if (write(dev, b, h->len) < 0) errno = 0; // the request has ended
}

static struct fuse_attr attributes(unsigned long node) {
	return (struct fuse_attr){.ino = node, .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0666, .nlink = 1, .size = 4096};
}

static void serve(int dev) {
	static char b[1 << 17];
	for (long n; (n = read(dev, b, sizeof b)) > 0 || errno == EINTR || errno == ENOENT;) {
		if (n <= 0) continue;
		struct fuse_in_header *h = (void *)b;
		switch (h->opcode) {
		case FUSE_INIT: {
			struct fuse_init_out o = {.major = 7, .minor = 31, .max_write = 65536};
			answer(dev, h->unique, 0, &o, sizeof o);
			break;
		}
		case FUSE_LOOKUP: {
			struct fuse_entry_out o = {.nodeid = 2, .attr = attributes(2)};
			answer(dev, h->unique, 0, &o, sizeof o);
			break;
		}
		case FUSE_GETATTR: {
			struct fuse_attr_out o = {.attr = attributes(h->nodeid)};
			answer(dev, h->unique, 0, &o, sizeof o);
			break;
		}
		case FUSE_OPEN: {
			struct fuse_open_out o = {.open_flags = FOPEN_DIRECT_IO};
			answer(dev, h->unique, 0, &o, sizeof o);
			break;
		}
		case FUSE_READ: served->reads++; break; // no answer
		case FUSE_WRITE: served->writes++; break;
		case FUSE_INTERRUPT:
			served->interrupts++;
			answer(dev, ((struct fuse_interrupt_in *)(h + 1))->unique, -EINTR, 0, 0);
			break;
		case FUSE_FORGET: case FUSE_BATCH_FORGET: break;
		default: answer(dev, h->unique, -ENOSYS, 0, 0);
		}
	}
	_exit(0);
}

static void *caller(void *arg) {
	int writes = arg != 0, fd = must(open(file, writes ? O_WRONLY : O_RDONLY));
	char b[16] = "";
	printf("thread %ld %s\n", syscall(SYS_gettid), writes ? "write" : "read");
	fflush(stdout);
	for (;;) {
		calls[writes]++;
		if ((writes ? write(fd, b, sizeof b) : read(fd, b, sizeof b)) < 0 && errno == EINTR) eintr++;
		else other++;
	}
	return 0;
}

int main(void) {
	char options[80];
	pthread_t t;
	must(unshare(CLONE_NEWNS)); // the mount ends with this process
	must(mount(0, "/", 0, MS_REC | MS_PRIVATE, 0));
	served = mmap(0, sizeof *served, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!mkdtemp(dir)) return 2;
	int dev = must(open("/dev/fuse", O_RDWR));
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", dev);
	must(mount("torture", dir, "fuse", 0, options));
	if (must(fork()) == 0) serve(dev);
	close(dev);
	snprintf(file, sizeof file, "%s/file", dir);
	for (long i = 0; i < 2; i++) must(-pthread_create(&t, 0, caller, (void *)i));
	while (served->reads == 0 || served->writes == 0) usleep(1000);
	serve_until_eof();
	print_count("reads", calls[0]), print_count("writes", calls[1]), print_count("eintr", eintr), print_count("other", other);
	print_count("served_reads", served->reads), print_count("served_writes", served->writes), print_count("interrupts", served->interrupts);
	umount2(dir, MNT_DETACH), rmdir(dir);
	done();
}

// SPDX-License-Identifier: Apache-2.0
