# A part that was split off and never returns: its frame is that at the jump that leads there, not the one of a function
# that begins there, nor that of the calls before the frame was complete.
	testq %rdi, %rdi
	je part
	call other             # caller = rsp+8
	pushq %rbx
	pushq %rbp
	subq $0x28, %rsp
	testq %rsi, %rsi       # = rsp+64
	jne deep
	addq $0x28, %rsp
	popq %rbp
	popq %rbx
	ret                    # = rsp+8
	.org 0x60
other:
	nop
part:
	call other             # = rsp+8; sp = rsp+8; caller = rsp+8
	call other             # = rsp+8; sp = rsp+8; caller = rsp+8
deep:
	movl $1, %edi          # = rsp+64; sp = rsp+64
	call other             # = rsp+64; sp = rsp+64; caller = rsp+64
