// A program that runs code which it generated, so that prywalk reads its perf map.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
#if defined(__x86_64__)
	static const unsigned char loop[] = {0xeb, 0xfe}; // jmp .
#else
	static const unsigned char loop[] = {0x00, 0x00, 0x00, 0x14}; // b .
#endif
	void *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, loop, sizeof loop);
	__builtin___clear_cache((char *)code, (char *)code + sizeof loop);
	alarm(600);
	puts("ready");
	fflush(stdout);
	((void (*)(void))code)();
	return 0;
}
