// A function of Go whose stack is too small calls morestack, which finds the return address in x3. Nothing gives that
// back: the walker believes what the innermost frame has there if it proves itself.
	ldr x16, [x28, #16]
	cmp sp, x16             // = sp+0 leaf
	b.ls 1f                 // = sp+0 leaf
	str x30, [sp, #-32]!    // = sp+0 leaf
	ldr x30, [sp], #32      // = sp+32
	ret                     // = sp+0 leaf
1:	mov x3, x30             // = sp+0 leaf
	bl morestack            // = sp+0 leaf; caller = sp+0 to x3
