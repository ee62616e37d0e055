// A virtual machine that computes until it halts: KVM_RUN gives EINTR when a signal is pending for its thread
// (virt/kvm/kvm_main.c).
#include "torture.h"
#include "gives_up.h"

#ifdef __x86_64__
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static int vcpu = -1;
static struct kvm_run *run;

static int prepare(const char *dir) {
	// Real mode at 0: mov ecx, 20000; dec ecx; jnz; hlt; and from the beginning.
	static const unsigned char code[] = {0x66, 0xb9, 0x20, 0x4e, 0, 0, 0x66, 0x49, 0x75, 0xfc, 0xf4, 0xeb, 0xf3};
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm = -1;
	struct kvm_sregs s;
	struct kvm_regs r = {.rflags = 2};
	if (kvm < 0 || (vm = ioctl(kvm, KVM_CREATE_VM, 0)) < 0) return -1;
	void *memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct kvm_userspace_memory_region m = {.memory_size = 4096, .userspace_addr = (long)memory};
	memcpy(memory, code, sizeof code);
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &m) < 0 || (vcpu = ioctl(vm, KVM_CREATE_VCPU, 0)) < 0) return -1;
	run = mmap(0, ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	if (ioctl(vcpu, KVM_GET_SREGS, &s) < 0) return -1;
	s.cs.base = s.cs.selector = 0;
	if (ioctl(vcpu, KVM_SET_SREGS, &s) < 0 || ioctl(vcpu, KVM_SET_REGS, &r) < 0) return -1;
	return 0;
}

static void make(void) {
	int ended = ioctl(vcpu, KVM_RUN, 0), err = errno;
	if (ended == 0 && run->exit_reason != KVM_EXIT_HLT) other++;
	outcome(ended, err, 0);
}
#else
static int prepare(const char *dir) { return errno = ENOSYS, -1; }
static void make(void) {}
#endif

const struct call kvm = {"kvm", prepare, make, 0, 0};

// SPDX-License-Identifier: Apache-2.0
