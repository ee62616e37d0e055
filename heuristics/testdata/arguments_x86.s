# The address of a variable is pushed as an argument, in a frame of variable size. It is no saved stack pointer, and the
# function that gets it may write to its place (libstdc++'s num_put::_M_insert_float).
	pushq %rbp
	movq %rsp, %rbp
	pushq %rbx
	subq $0x48, %rsp
	subq %rdi, %rsp
	leaq -0x34(%rbp), %rcx
	pushq %rcx             # = rbp+16; sp = none
	pushq -0x40(%rbp)
	call other             # = rbp+16; sp = none; caller = rbp+16
	popq %rcx
	popq %rsi
	nop                    # = rbp+16; sp = none
	movq -8(%rbp), %rbx
	leave
	ret
	.org 0x100
other:
