// A function that allocates a variable amount, and goes back to its frame record before it returns: no departure.
	stp x29, x30, [sp, #-48]!
	mov x29, sp
	stp x19, x20, [sp, #16]
	sub sp, sp, x0
	bl step                 // caller = x29+48
	mov sp, x29             // = x29+48
	ldp x19, x20, [sp, #16] // = x29+48
	ldp x29, x30, [sp], #48 // = x29+48
	ret                     // = sp+0 leaf
