# A jump by register is no departure where the stack pointer is the function's own, be it moved by an unknown amount.
	pushq %rbp
	movq %rsp, %rbp
	subq %rdi, %rsp
	andq $-64, %rsp
	leaq table(%rip), %rax
	movslq (%rax,%rsi,4), %rcx
	addq %rax, %rcx        # = rbp+16
	jmp *%rcx              # = rbp+16; sp = none
one:
	call elsewhere         # = rbp+16
	leave
	ret                    # = rsp+8
table:
	.long one-table
