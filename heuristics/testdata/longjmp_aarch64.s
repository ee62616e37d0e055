// longjmp of arm64 first writes over its return address, then over the stack pointer: from the former on nobody is the
// caller, and what comes next is the frame that it goes to. Its stack pointer is known when the register has it.
	ldp x19, x20, [x0]      // = sp+0 leaf
	ldp x29, x4, [x0, #80]  // = sp+0
	ldr x3, [x2]            // = sp+0
	eor x30, x4, x3         // = sp+0
	ldp d8, d9, [x0, #112]  // = sp+0 to x30; sp = sp+0 to x30
	ldr x4, [x0, #104]      // = sp+0 to x30
	eor x5, x4, x3          // = sp+0 to x30
	mov sp, x5              // = sp+0 to x30
	cmp x1, #0              // = sp+0 to x30; sp = sp+0 to x30
	mov x0, #1
	csel x0, x1, x0, ne     // = sp+0 to x30
	br x30                  // = sp+0 to x30; sp = sp+0 to x30
