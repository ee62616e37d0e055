# GCC calls a function of the same unit without aligning the stack if it knows that it need not (SQLite's
# sqlite3VdbeIntegerAffinity). The return confirms what the start says.
	movsd (%rdi), %xmm0    # = rsp+8; sp = rsp+8
	call other             # = rsp+8; caller = rsp+8
	pxor %xmm1, %xmm1      # = rsp+8; sp = rsp+8
	ret
	.org 0x100
other:
