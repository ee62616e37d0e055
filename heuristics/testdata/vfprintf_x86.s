# One path allocates a buffer of a size that is not known, the other none, and both lead to the same end. With the
# frame pointer all is known there; with the stack pointer alone, nothing (four addresses of glibc's vfprintf).
	pushq %rbp
	movq %rsp, %rbp
	pushq %rbx
	subq $0x28, %rsp
	testq %rdi, %rdi       # = rbp+16; sp = rsp+64
	jne allocate
	movl $0, -24(%rbp)     # = rbp+16; sp = rsp+64
end:
	movq -8(%rbp), %rbx    # = rbp+16; sp = none
	leave                  # = rbp+16; sp = none
	ret                    # = rsp+8; sp = rsp+8
allocate:
	subq %rdi, %rsp        # = rbp+16; sp = rsp+64
	movb $0, (%rsp)        # = rbp+16; sp = none
	jmp end
