// A program for a container of its own: part of it is in a library that exists only
// there, and part is made at run time, with names in /tmp/perf-PID.map.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void burn_inside(long ms);

static void burn(void) { burn_inside(600000); }

static void *sleeper(void *arg) {
	for (;;)
		pause();
	return arg;
}

int main(void) {
#ifdef __aarch64__
	// stp x29, x30, [sp, -16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], 16; ret
	static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#else
	// push rbp; mov rbp, rsp; call rdi; pop rbp; ret
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#endif
	char path[64];
	pthread_t t;
	void (*made)(void (*)(void)) = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return 9;
	alarm(600);
	memcpy((void *)made, code, sizeof code);
	__builtin___clear_cache((char *)made, (char *)made + sizeof code);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	FILE *f = fopen(path, "w");
	if (f == NULL || fprintf(f, "%lx %zx made_inside\n", (long)made, sizeof code) < 0 || fclose(f) != 0)
		return 9;
	if (pthread_create(&t, NULL, sleeper, NULL) != 0)
		return 9;
	printf("ready\n");
	fflush(stdout);
	made(burn);
	return 0;
}
