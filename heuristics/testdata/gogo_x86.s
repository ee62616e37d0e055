# Go's gogo goes to another goroutine: from the load of its stack pointer on nobody is the caller, and what comes next is
# that goroutine's frame. Before that it uses rbx, which a function of the System V ABI could not have been given: nothing is
# claimed (Go's own convention is that of JIT code, where it is the caller's).
	movq (%rdx), %rcx      # = none
	movq %rdx, %fs:-8
	movq %rdx, %r14
	movq 0x38(%rbx), %rsp  # = none
	movq 0x50(%rbx), %rdx  # = rsp+0 to [rbx+64]; sp = rsp+0 to [rbx+64]
	movq 0x68(%rbx), %rbp  # = rsp+0 to [rbx+64]
	movq $0, 0x38(%rbx)    # = rsp+0 to [rbx+64]
	movq 0x40(%rbx), %rbx  # = rsp+0 to [rbx+64]
	jmp *%rbx              # = rsp+0 to rbx
