# OpenSSL's assembly keeps the stack pointer of before in rax while it calls helpers that leave rax alone. The rule is
# given for the caller, too; the walker takes it only with proof.
	leaq (%rsp), %rax
	pushq %rbx             # = rsp+8
	pushq %rbp
	andq %rdi, %r15
	subq %r15, %rsp
	nop                    # = rax+8; sp = none
	call other             # caller = rax+8
	movq -16(%rax), %rbp   # = rax+8
	movq -8(%rax), %rbx
	leaq (%rax), %rsp
	ret                    # = rsp+8
	.org 0x100
other:
