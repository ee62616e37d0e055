# A function with a frame of variable size jumps to its .cold part, whose name is not known: that is no tail call, with the
# caller's return address on top (libstdc++'s __throw_out_of_range_fmt).
	pushq %rbp
	movq %rsp, %rbp
	subq %rdi, %rsp
	movq %rsp, %rdi        # = rbp+16; sp = none
	call other             # = rbp+16; sp = none; caller = rbp+16
	movq %rsp, %rsi        # = rbp+16; sp = none
	jmp nextfunc           # = rbp+16; sp = none
	.org 0x60
nextfunc:
	call other
	.org 0x80
other:
