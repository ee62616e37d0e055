// SPDX-License-Identifier: Apache-2.0

// A first thread that switches to 32-bit code, an endless loop, by a far return (x86-64).
#include <stdio.h>
#include <sys/mman.h>

int main(void) {
	unsigned char *page = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (page == MAP_FAILED) return 1;
	page[0] = 0xeb, page[1] = 0xfe;
	puts("ready");
	fflush(stdout);
	__asm__ volatile("mov %1, %%rsp\n\tpush $0x23\n\tpush %0\n\tlretq"
		:: "r"((unsigned long)page), "r"((unsigned long)page + 8192) : "memory");
	return 0;
}
