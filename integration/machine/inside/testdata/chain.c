// A program whose call chains are known. Its first thread is always somewhere in
//   main > f > g > spin > step
// and comes through every instruction of these functions. The others sleep for ever in
//   NAME_body > NAME_outer > NAME_inner > the C library's call
// for the calls nanosleep, read, epoll_wait and a condition variable. The frames between are of the
// kinds that unwinders meet: many saved registers, a large frame, a size known only at run time.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define OUTLINE __attribute__((noinline, noclone))
// A call before it in a function is no tail call.
#define STAY __asm__ volatile("" ::: "memory")

static volatile uint64_t sink;
static int ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

OUTLINE uint64_t step(uint64_t v) { return v * 6364136223846793005u + (v >> 7); }

OUTLINE uint64_t spin(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	uint64_t p = a, q = b, r = c, s = d, t = e;
	for (int i = 0; i < 40; i++) {
		p += step(q), q ^= step(r + p), r -= step(s), s += t, t ^= step(p);
		a += p ^ s, b -= q ^ t;
	}
	return p ^ q ^ r ^ s ^ t ^ a ^ b ^ c;
}

OUTLINE uint64_t g(uint64_t n)
{
	uint64_t room[n % 64 + 8]; // known only here
	for (uint64_t i = 0; i < n % 64 + 8; i++)
		room[i] = n + i;
	__asm__ volatile("" : : "r"(room) : "memory");
	uint64_t v = spin(n, n >> 3, n >> 5, n >> 7, room[3]);
	STAY;
	return v + room[n % 8];
}

OUTLINE uint64_t f(uint64_t n)
{
	uint64_t room[1200]; // more than one instruction can take off sp
	memset(room, (int)n, 64);
	__asm__ volatile("" : : "r"(room) : "memory");
	uint64_t v = g(n);
	STAY;
	return v + room[n % 8];
}

OUTLINE long nap_inner(long v)
{
	struct timespec t = {100000, 0};
	nanosleep(&t, NULL);
	STAY;
	return v;
}

OUTLINE long read_inner(long v)
{
	char c[40];
	v += read(ends[0], c, sizeof c);
	STAY;
	return v;
}

OUTLINE long epoll_inner(long v)
{
	struct epoll_event e;
	v += epoll_wait(epoll_create1(0), &e, 1, -1);
	STAY;
	return v;
}

OUTLINE long wait_inner(long v)
{
	pthread_mutex_lock(&lock);
	while (v != -1)
		pthread_cond_wait(&never, &lock);
	return pthread_mutex_unlock(&lock);
}

#define SLEEPER(name) \
	OUTLINE long name##_outer(long v, long w) { long r = name##_inner(v * w); STAY; return r * v + w; } \
	OUTLINE void *name##_body(void *arg) { sink += name##_outer((long)arg, 2); return arg; }

SLEEPER(nap)
SLEEPER(read)
SLEEPER(epoll)
SLEEPER(wait)

static void begin(const char *name, void *(*body)(void *))
{
	pthread_t t;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
#ifdef HIGH // stacks above 2^48 where page tables have five levels
	const size_t size = 1 << 20;
	void *stack = mmap((void *)(1ul << 50), size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || pthread_attr_setstack(&attr, stack, size) != 0)
		exit(1);
#endif
	if (pthread_create(&t, &attr, body, (void *)3) != 0)
		exit(1);
	pthread_setname_np(t, name);
}

int main(void)
{
	alarm(3600);
	if (pipe(ends) != 0)
		return 1;
	begin("nap", nap_body);
	begin("read", read_body);
	begin("epoll", epoll_body);
	begin("wait", wait_body);
	usleep(200000);
	puts("ready");
	fflush(stdout);
	for (uint64_t v = 88172645463325252u;;)
		v = f(v | 1);
}
