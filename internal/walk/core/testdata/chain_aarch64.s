// A chain of calls whose frames a test lays out by hand: start, outer, middle, leaf.
// outer has no frame pointer, middle signs its return address.
	.text
	.globl	_start
	.type	_start, %function
_start:
	.cfi_startproc
	.cfi_undefined x30
	bl	outer
in_start:
	brk	0
	.cfi_endproc
	.size	_start, .-_start

	.type	outer, %function
outer:
	.cfi_startproc
	sub	sp, sp, 64
	.cfi_def_cfa_offset 64
	str	x30, [sp, 8]
	.cfi_offset x30, -56
	bl	middle
in_outer:
	ldr	x30, [sp, 8]
	add	sp, sp, 64
	ret
	.cfi_endproc
	.size	outer, .-outer

	.type	middle, %function
middle:
	.cfi_startproc
	hint	25	// paciasp
	.cfi_negate_ra_state
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	mov	x29, sp
	bl	leaf
in_middle:
	ldp	x29, x30, [sp], 32
	hint	29	// autiasp
	ret
	.cfi_endproc
	.size	middle, .-middle

	.type	leaf, %function
leaf:
	.cfi_startproc
	stp	x29, x30, [sp, -48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	mov	x29, sp
	str	x19, [sp, 16]
	.cfi_offset x19, -32
in_leaf:
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 48
	ret
	.cfi_endproc
	.size	leaf, .-leaf
