# V8's handler of TestEqualStrict: no frame, registers of a convention of its own, and a jump to the next handler. What is on
# top of the stack is the return address all the time.
	movq %rbp, %rdx               # = rsp+8; sp = rsp+8
	movsbq 1(%r12,%r9), %rdi      # = rsp+8
	movq (%rdx,%rdi,8), %rdi
	cmpq %rax, %rdi
	je same
	movq 0x238(%r13), %r8         # = rsp+8
	int3
same:
	movq 0x1a8(%r13), %rax        # = rsp+8
	leaq 3(%r9), %r9
	movzbl (%r9,%r12), %edi
	movq (%r15,%rdi,8), %rcx      # = rsp+8
	movq %rdx, %r12
	jmp *%rcx                     # = rsp+8; sp = rsp+8
