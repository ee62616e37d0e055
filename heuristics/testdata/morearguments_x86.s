# V8's CallFunction makes room for arguments that are lacking, and moves the return address down with the others. Behind that
# no register tells where the stack was at the start; the jump to the function does.
	movq 0x17(%rdi), %rdx         # = rsp+8
	movq 0x190(%r13), %rdx        # = rsp+8
	subq %rax, %rbx
	jle go
	movq %rsp, %r8                # = rsp+8
	leaq 0(,%rbx,8), %r10
	subq %r10, %rsp
	leaq 1(%rax), %r9
	xorl %r11d, %r11d
move:
	movq (%r8,%r11,8), %r10
	movq %r10, (%rsp,%r11,8)
	incq %r11
	cmpq %r9, %r11
	jl move
	leaq (%rsp,%r9,8), %r8
	movq 0x190(%r13), %r10        # = rsp+8
fill:
	decq %rbx                     # = rsp+8
	movq %r10, (%r8,%rbx,8)       # = rsp+8
	jg fill                       # = rsp+8
go:
	movq 0x2f(%rdi), %rcx         # = rsp+8
	movq 0x27(%rcx), %rcx         # = rsp+8
	jmp *%rcx                     # = rsp+8
