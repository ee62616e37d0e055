// Calls that the kernel itself ends when a signal is pending: loading a BPF program, which the verifier checks for
// long (EAGAIN, kernel/bpf/verifier.c), and reserving huge pages (EINTR, fs/hugetlbfs/inode.c).
#include "torture.h"
#include "gives_up.h"
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>

enum { ROUNDS = 230000, TRIES = 5 };

// load loads "for (r1 = 0; r1 < ROUNDS; r1++);", which is checked round by round.
static long load(void) {
	struct bpf_insn prog[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = 1},
		{.code = BPF_JMP | BPF_JLT | BPF_K, .dst_reg = 1, .imm = ROUNDS, .off = -2},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insn_cnt = 5, .insns = (long)prog, .license = (long)"GPL"};
	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
}

// As libbpf does it: five attempts.
static void make_load(void) {
	long fd = -1;
	for (int i = 0; i < TRIES && (fd = load()) < 0 && errno == EAGAIN; i++) eagain++;
	outcome(fd, errno == EAGAIN ? ENODATA : errno, 0);
	if (fd >= 0) close(fd);
}

static int can_load(const char *dir) {
	long fd = load();
	if (fd >= 0) close(fd);
	return fd;
}

const struct call bpf_load = {"bpf", can_load, make_load, 0, 1};

enum { HUGE = 2 << 20, PAGES = 60 };
static char mounted[256];
static int huge;

static int mount_huge(const char *dir) {
	snprintf(mounted, sizeof mounted, "%s", dir);
	if (mount("none", dir, "hugetlbfs", 0, "pagesize=2M") < 0) return -1;
	char path[300];
	snprintf(path, sizeof path, "%s/file", dir);
	if ((huge = open(path, O_RDWR | O_CREAT, 0600)) >= 0 && fallocate(huge, 0, 0, (long)PAGES * HUGE) == 0) return 0;
	int err = errno;
	umount2(dir, MNT_DETACH);
	errno = err;
	return -1;
}

static void make_huge(void) {
	struct stat st;
	must(ftruncate(huge, 0));
	long r = fallocate(huge, 0, 0, (long)PAGES * HUGE);
	int err = errno;
	if (r == 0 && (fstat(huge, &st) || st.st_blocks != (long)PAGES * HUGE / 512)) other++;
	outcome(r, err, 0);
}

static void unmount(void) { umount2(mounted, MNT_DETACH); }

const struct call hugetlb = {"hugetlb", mount_huge, make_huge, unmount, 0};

// SPDX-License-Identifier: Apache-2.0
