# glibc's __start_context, to which the first function of a stack that makecontext has prepared returns: it has no
# caller, at none of its instructions.
	movq %rbx, %rsp        # = root; sp = root
	movq (%rsp), %rdi      # = root
	testq %rdi, %rdi       # = root
	je 1f
	call setcontext        # = root; caller = root
	movq %rax, %rdi        # = root
1:	call exit              # caller = root
	hlt
