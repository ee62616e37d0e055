# The first function of a stack that was prepared by hand marks the outermost frame by a frame pointer of zero.
	endbr64                # = root
	xorl %ebp, %ebp        # = root; sp = root
	movq %r12, %rdi        # = root
	call *%rbx             # caller = root
	hlt
