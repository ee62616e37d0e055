// A thread with a supervisor for its mkdir calls (seccomp user notification). The supervisor sees a restarted call
// twice and finds that the directory exists.
#include "torture.h"
#include "gives_up.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

static int listener = -1;
static char path[300];

// The supervisor takes some tens of microseconds for each.
static void *supervise(void *arg) {
	struct seccomp_notif *req = calloc(1, 4096);
	struct seccomp_notif_resp *resp = calloc(1, 4096);
	for (;;) {
		memset(req, 0, sizeof *req);
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, req) < 0) continue;
		int failed = mkdir(path, 0700);
		if (failed && errno == EEXIST) twice++;
		memset(resp, 0, sizeof *resp);
		resp->id = req->id, resp->error = failed ? -errno : 0;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, resp); // ENOENT: the call has been given up
	}
	return arg;
}

static int filter(void) {
	struct sock_filter code[] = {
		{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
		{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_mkdirat},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
		{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
	};
	struct sock_fprog prog = {sizeof code / sizeof *code, code};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

static int prepare(const char *dir) {
	pthread_t t;
	snprintf(path, sizeof path, "%s/made", dir);
	pthread_create(&t, 0, supervise, 0); // it has no filter
	return 0;
}

static void make(void) {
	if (listener < 0) listener = must(filter());
	rmdir(path);
	outcome(syscall(SYS_mkdirat, -100, path, 0700), errno, 0);
	for (volatile int n = 0; n < 2000; n++) {}
}

const struct call notify = {"notify", prepare, make, 0, 0};

// SPDX-License-Identifier: Apache-2.0
