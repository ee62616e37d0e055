# swapcontext ends in a return, but on another stack, to an address that comes out of the context: neither is the
# caller's. From the load of the stack pointer on, the frame that comes next is that of the context.
	movq %rbx, 0x80(%rdi)  # = rsp+8
	leaq 8(%rsp), %rcx
	movq %rcx, 0xa0(%rdi)  # = rsp+8; sp = rsp+8
	syscall
	cmpq $-4095, %rax      # = rsp+8
	jae failed
	movq %rsi, %rdx
	movq 0xa0(%rdx), %rsp  # = rsp+8; sp = rsp+8
	movq 0x80(%rdx), %rbx  # = rsp+0 to [rdx+168]
	movq 0xa8(%rdx), %rcx
	pushq %rcx             # = rsp+0 to rcx
	xorl %eax, %eax
	ret
failed:
	movl $-1, %eax         # = rsp+8
	ret
