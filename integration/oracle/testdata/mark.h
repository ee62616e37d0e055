/* A mark: a breakpoint instruction that the tracer knows by a magic number; the name is that of the section
   that begins. An empty name: what follows is run freely. */
#define MAGIC 0x656c6361726fL

#if defined(__x86_64__)
#define MARK(name) __asm__ volatile("int3" : : "a"(name), "c"(MAGIC) : "memory")
#elif defined(__aarch64__)
#define MARK(name)                                                            \
	do {                                                                  \
		register const char *mark_name __asm__("x0") = (name);        \
		register long mark_magic __asm__("x1") = MAGIC;               \
		__asm__ volatile("brk #0" : : "r"(mark_name), "r"(mark_magic) : "memory"); \
	} while (0)
#endif
