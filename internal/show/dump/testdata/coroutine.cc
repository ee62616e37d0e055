// Sleeps in a coroutine of C++20, resumed by one that was resumed by a function, and below that in one that has a stack
// of its own, entered by a switch of stacks as Boost.Context makes it: without call frame information.
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

struct task {
	struct promise_type {
		task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::abort(); }
	};
	std::coroutine_handle<promise_type> h;
};

static volatile int sink;

__attribute__((noinline)) static void waits()
{
	std::puts("ready");
	std::fflush(stdout);
	pause();
	sink++;
}

static task inner(int n)
{
	sink = n;
	waits();
	sink++;
	co_return;
}

static task outer(int n)
{
	task t = inner(n + 1);
	t.h.resume();
	sink++;
	t.h.destroy();
	co_return;
}

__attribute__((noinline)) static void runs_coroutines()
{
	task t = outer(1);
	t.h.resume();
	sink++;
	t.h.destroy();
}

extern "C" {
void switch_to(void **from, void *to);
void begins(void);
static void *resumer, *fiber;

__attribute__((used)) void fiber_main()
{
	runs_coroutines();
	sink++;
	switch_to(&fiber, resumer);
	abort();
}
}

// switch_to saves what a callee keeps, changes stacks and goes on there; begins is where a new stack starts.
#if defined(__x86_64__)
__asm__(".text\n.type switch_to,@function\nswitch_to:\n push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
	" mov %rsp,(%rdi)\n mov %rsi,%rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n.size switch_to,.-switch_to\n"
	".type begins,@function\nbegins:\n xor %ebp,%ebp\n call fiber_main\n hlt\n.size begins,.-begins\n");
enum { SAVED = 7 };
#endif

__attribute__((noinline)) static void enters_fiber()
{
	static void *stack[1 << 16] __attribute__((aligned(16)));
	void **sp = stack + (sizeof stack / sizeof *stack) - 4;
	sp -= SAVED;
	sp[SAVED - 1] = (void *)begins;
	switch_to(&resumer, sp);
	sink++;
}

int main()
{
	enters_fiber();
	return sink;
}
