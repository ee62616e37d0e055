// swapcontext of arm64 writes over its return address when it has saved it in the context, to which a register points.
// When the context is returned to, setcontext hands the address over in x1. What x22 holds is no return address of
// anybody's; where the true one is nothing tells after the call.
	stp xzr, x30, [x0, #184] // = sp+0 leaf
	adr x30, 3f              // = sp+0 leaf
	stp x28, x29, [x0, #408] // = sp+0 to [x0+192]
	str x30, [x0, #424]
	mov x21, x1              // = sp+0 to [x0+192]
	add x2, x0, #40
	mov x0, #0               // = sp+0 to [x0+192]
	svc #0                   // = sp+0 to [x2+152]
	cbnz x0, 2f              // = sp+0 to [x2+152]
	mov x22, x30
	mov x0, x21
	bl setcontext            // = sp+0 to [x2+152]; caller = none
	mov x30, x22
	ret
2:	b failed                 // = sp+0 to [x2+152]
3:	mov x30, x1              // = sp+0 to x1
	ret                      // = sp+0
