// setcontext of arm64: as longjmp, with a branch over some instructions on the way.
	mov x9, x0              // = sp+0 leaf
	svc #0
	cbz x0, 1f              // = sp+0 leaf
	mov x0, #-1
	ret                     // = sp+0 leaf
1:	mov x0, x9              // = sp+0 leaf
	ldp x28, x29, [x0, #408]
	ldr x30, [x0, #424]     // = sp+0
	ldr x2, [x0, #432]      // = sp+0 to [x0+440]
	mov sp, x2              // = sp+0 to [x0+440]
	add x2, x0, #0x1d0      // = sp+0 to [x0+440]
	ldr w1, [x2]
	cmp w1, w3
	b.ne 2f                 // = sp+0 to [x0+440]
	ldp q8, q9, [x3], #32   // = sp+0 to [x0+440]
	msr fpsr, x4
2:	ldr x16, [x0, #440]     // = sp+0 to [x0+440]
	ldp x0, x1, [x0, #184]  // = sp+0 to x16
	br x16                  // = sp+0 to x16
