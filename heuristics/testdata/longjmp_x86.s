# longjmp goes to another frame by a jump. Up to the load of its stack pointer there is a caller; what is told of it
# is nothing, as the return address is not used any more, so that no path proves where it is but the function's start.
	movq 0x30(%rdi), %r8   # = rsp+8
	movq 0x8(%rdi), %r9
	movq 0x38(%rdi), %rdx
	rorq $0x11, %r8
	xorq %fs:0x30, %r8
	rorq $0x11, %r9
	xorq %fs:0x30, %r9
	movq (%rdi), %rbx
	movq 0x10(%rdi), %r12
	movl %esi, %eax        # = rsp+8
	movq %r8, %rsp         # = rsp+8
	movq %r9, %rbp         # = rsp+0 to rdx; sp = rsp+0 to rdx
	jmp *%rdx              # = rsp+0 to rdx
