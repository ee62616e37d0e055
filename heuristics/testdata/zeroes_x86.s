# A function that uses rbp for a zero is not the first of a stack.
	pushq %rbp             # = rsp+8
	xorl %ebp, %ebp        # = rsp+16
	call *%rbx             # caller = rsp+16
	popq %rbp              # = rsp+16
	ret                    # = rsp+8
