// SPDX-License-Identifier: Apache-2.0
/*
 * Code with call frame information that leads from stack to stack, as OCaml 5's: main calls start, which calls body on
 * another stack; body calls level at depths from 0 to 3,000, which calls on_first, which calls work on the first stack.
 * Two stacks are used in turn. It ends after fifteen minutes.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile unsigned long sink;
void *first_sp;
void start(void (*body)(void), void *stack_end);
void on_first(void (*f)(void));

/* DW_CFA_def_cfa_expression: the word at rsp + 8, plus a constant */
__asm__(".text\n"
	".globl start\n.type start, @function\n"
	"start:\n"
	".cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"mov %rsp, first_sp(%rip)\n"
	"mov %rsp, -8(%rsi)\n"
	"lea -16(%rsi), %rsp\n"
	".cfi_remember_state\n"
	".cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 16\n"
	"call *%rdi\n"
	"mov 8(%rsp), %rsp\n"
	".cfi_restore_state\n"
	"pop %rbp\n"
	".cfi_def_cfa_offset 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size start, .-start\n"
	".globl on_first\n.type on_first, @function\n"
	"on_first:\n"
	".cfi_startproc\n"
	"mov first_sp(%rip), %rax\n"
	"sub $24, %rax\n"
	"mov %rsp, 8(%rax)\n"
	"mov %rax, %rsp\n"
	".cfi_remember_state\n"
	".cfi_escape 0x0f, 5, 0x77, 8, 0x06, 0x23, 8\n"
	"call *%rdi\n"
	"mov 8(%rsp), %rsp\n"
	".cfi_restore_state\n"
	"ret\n"
	".cfi_endproc\n"
	".size on_first, .-on_first\n");

__attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 1000000; i++)
		sink = sink * 31 + i;
}

__attribute__((noinline)) void level(int depth)
{
	if (depth)
		level(depth - 1);
	else
		on_first(work);
	__asm__ volatile("");
}

static unsigned rounds;

__attribute__((noinline)) void body(void)
{
	level(rounds++ * 7919 % 3001);
	__asm__ volatile("");
}

int main(void)
{
	size_t size = 1 << 20;
	char *stacks[2];

	for (int i = 0; i < 2; i++) {
		stacks[i] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (stacks[i] == MAP_FAILED)
			return 1;
	}
	alarm(900);
	puts("ready");
	fflush(stdout);
	for (int i = 0;; i = !i)
		start(body, stacks[i] + size);
}
