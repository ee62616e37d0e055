# functions.c by gcc 12.2 -Os -fPIC, without alignment, which assemblers fill differently.
	.text
leaf:
.LFB6:
	.cfi_startproc
	imull	%esi, %edi
	leal	3(%rdi), %eax
	ret
	.cfi_endproc
.LFE6:
	.size	leaf, .-leaf
many_registers:
.LFB7:
	.cfi_startproc
	pushq	%r15
	.cfi_def_cfa_offset 16
	.cfi_offset 15, -16
	movl	%esi, %r10d
	movq	%rdi, %r15
	pushq	%r14
	.cfi_def_cfa_offset 24
	.cfi_offset 14, -24
	movl	%r8d, %r14d
	pushq	%r13
	.cfi_def_cfa_offset 32
	.cfi_offset 13, -32
	movl	%ecx, %r13d
	pushq	%r12
	.cfi_def_cfa_offset 40
	.cfi_offset 12, -40
	movl	%r9d, %r12d
	xorl	%r9d, %r9d
	pushq	%rbp
	.cfi_def_cfa_offset 48
	.cfi_offset 6, -48
	xorl	%ebp, %ebp
	pushq	%rbx
	.cfi_def_cfa_offset 56
	.cfi_offset 3, -56
	movl	%edx, %ebx
	subq	$24, %rsp
	.cfi_def_cfa_offset 80
.L3:
	cmpl	%r10d, %r9d
	jge	.L7
	movl	%r14d, %ecx
	movl	%r13d, %edx
	movl	%ebx, %esi
	movq	%r15, %rdi
	xorl	%eax, %eax
	movl	%r10d, 12(%rsp)
	addq	$4, %r15
	movl	%r9d, 8(%rsp)
	call	sink@PLT
	movl	8(%rsp), %r9d
	movl	12(%rsp), %r10d
	imull	%r12d, %eax
	addl	80(%rsp), %eax
	addl	%eax, %ebp
	addl	%r9d, %r12d
	incl	%r9d
	xorl	%r12d, 80(%rsp)
	xorl	%ebp, %ebx
	addl	%ebx, %r13d
	subl	%r13d, %r14d
	jmp	.L3
.L7:
	leal	(%rbx,%rbp), %eax
	addl	%r13d, %eax
	addl	%r14d, %eax
	addl	%r12d, %eax
	addl	80(%rsp), %eax
	addq	$24, %rsp
	.cfi_def_cfa_offset 56
	popq	%rbx
	.cfi_def_cfa_offset 48
	popq	%rbp
	.cfi_def_cfa_offset 40
	popq	%r12
	.cfi_def_cfa_offset 32
	popq	%r13
	.cfi_def_cfa_offset 24
	popq	%r14
	.cfi_def_cfa_offset 16
	popq	%r15
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE7:
	.size	many_registers, .-many_registers
variable:
.LFB8:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r14
	pushq	%r13
	.cfi_offset 14, -24
	.cfi_offset 13, -32
	movslq	%edi, %r13
	pushq	%r12
	leaq	23(%r13), %rax
	movq	%r13, %rcx
	movq	%r13, %r14
	pushq	%rbx
	.cfi_offset 12, -40
	.cfi_offset 3, -48
	andq	$-16, %rax
	xorl	%ebx, %ebx
	subq	%rax, %rsp
	movb	$1, %al
	leaq	15(%rsp), %r12
	andq	$-16, %r12
	movq	%r12, %rdi
	rep stosb
.L9:
	cmpl	%r14d, %ebx
	jge	.L13
	xorl	%eax, %eax
	movl	%ebx, %esi
	movq	%r12, %rdi
	call	sink@PLT
	testl	%eax, %eax
	jne	.L8
	incl	%ebx
	jmp	.L9
.L13:
	movsbl	-1(%r12,%r13), %ebx
.L8:
	leaq	-32(%rbp), %rsp
	movl	%ebx, %eax
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%rbp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE8:
	.size	variable, .-variable
large:
.LFB9:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	movslq	%edi, %rbx
	movl	$70000, %ecx
	movl	%ebx, %eax
	subq	$70000, %rsp
	.cfi_def_cfa_offset 70016
	movq	%rsp, %rdx
	movq	%rdx, %rdi
	rep stosb
	movq	%rdx, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movl	%eax, %edx
	movsbl	(%rsp,%rbx), %eax
	addq	$70000, %rsp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	addl	%edx, %eax
	ret
	.cfi_endproc
.LFE9:
	.size	large, .-large
aligned:
.LFB10:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r14
	pushq	%r13
	.cfi_offset 14, -24
	.cfi_offset 13, -32
	movl	%esi, %r13d
	pushq	%r12
	.cfi_offset 12, -40
	xorl	%r12d, %r12d
	pushq	%rbx
	.cfi_offset 3, -48
	movq	%rdi, %rbx
	andq	$-32, %rsp
	subq	$256, %rsp
	movaps	(%rdi), %xmm2
	movaps	16(%rdi), %xmm3
	movaps	32(%rdi), %xmm4
	movaps	48(%rdi), %xmm5
	leaq	128(%rsp), %r14
	movaps	64(%rdi), %xmm6
	movaps	80(%rdi), %xmm7
	movaps	%xmm2, 128(%rsp)
	movaps	%xmm3, 144(%rsp)
	movaps	96(%rdi), %xmm2
	movaps	112(%rdi), %xmm3
	movaps	%xmm4, 160(%rsp)
	movaps	%xmm5, 176(%rsp)
	movaps	%xmm6, 192(%rsp)
	movaps	%xmm7, 208(%rsp)
	movaps	%xmm2, 224(%rsp)
	movaps	%xmm3, 240(%rsp)
.L17:
	movl	%r12d, %esi
	cmpl	%r12d, %r13d
	jle	.L20
	movq	%r12, %rdx
	movq	%r12, %rax
	movq	%r14, %rdi
	incq	%r12
	salq	$5, %rdx
	andl	$3, %eax
	salq	$5, %rax
	addq	%rbx, %rdx
	movaps	144(%rsp,%rax), %xmm0
	movaps	128(%rsp,%rax), %xmm1
	addpd	16(%rdx), %xmm0
	addpd	(%rdx), %xmm1
	movaps	%xmm0, 144(%rsp,%rax)
	movaps	%xmm1, 128(%rsp,%rax)
	xorl	%eax, %eax
	call	sink@PLT
	jmp	.L17
.L20:
	movsd	128(%rsp), %xmm0
	addsd	168(%rsp), %xmm0
	addsd	208(%rsp), %xmm0
	addsd	248(%rsp), %xmm0
	leaq	-32(%rbp), %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%rbp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE10:
	.size	aligned, .-aligned
	.section	.rodata.str1.1,"aMS",@progbits,1
.LC0:
	.string	"seven"
	.text
table:
.LFB11:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rdx, %rbp
	pushq	%rbx
	.cfi_def_cfa_offset 24
	.cfi_offset 3, -24
	movq	%rsi, %rbx
	pushq	%r11
	.cfi_def_cfa_offset 32
	cmpl	$8, %edi
	ja	.L22
	leaq	.L24(%rip), %rdx
	movl	%edi, %edi
	movslq	(%rdx,%rdi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
	.section	.rodata
	.align 4
	.align 4
.L24:
	.long	.L32-.L24
	.long	.L31-.L24
	.long	.L30-.L24
	.long	.L29-.L24
	.long	.L28-.L24
	.long	.L27-.L24
	.long	.L26-.L24
	.long	.L25-.L24
	.long	.L23-.L24
	.text
.L32:
	movq	%rsi, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	addl	0(%rbp), %eax
	jmp	.L21
.L31:
	movq	%rbp, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	subl	(%rbx), %eax
	jmp	.L21
.L30:
	movl	0(%rbp), %eax
	movq	%rbx, %rdi
	movl	%eax, (%rsi)
	movq	%rbp, %rsi
	popq	%r10
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	xorl	%eax, %eax
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	jmp	sink@PLT
.L29:
	.cfi_restore_state
	movl	0(%rbp), %eax
	cmpl	%eax, (%rsi)
	jle	.L22
	popq	%r9
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	movq	%rbp, %rdi
	popq	%rbx
	.cfi_def_cfa_offset 16
	movl	$1, %edx
	xorl	%eax, %eax
	popq	%rbp
	.cfi_def_cfa_offset 8
	jmp	sink@PLT
.L28:
	.cfi_restore_state
	movq	%rsi, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movq	%rbp, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movl	(%rbx), %eax
	imull	0(%rbp), %eax
	jmp	.L21
.L27:
	xorl	%eax, %eax
	movq	%rbx, %rdi
	call	sink@PLT
	testl	%eax, %eax
	je	.L22
	incl	0(%rbp)
	jmp	.L27
.L26:
	movl	0(%rbp), %esi
	movl	(%rbx), %edi
	popq	%r8
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	jmp	leaf@PLT
.L25:
	.cfi_restore_state
	leaq	.LC0(%rip), %rdi
	call	fail@PLT
.L23:
	popq	%rcx
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	movq	%rbx, %rdi
	movl	$8, %esi
	popq	%rbx
	.cfi_def_cfa_offset 16
	xorl	%eax, %eax
	popq	%rbp
	.cfi_def_cfa_offset 8
	jmp	sink@PLT
.L22:
	.cfi_restore_state
	movl	$3, %edx
	movq	%rbp, %rsi
	movq	%rbx, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	incl	%eax
.L21:
	popq	%rdx
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE11:
	.size	table, .-table
	.section	.rodata.str1.1
.LC1:
	.string	"same"
	.text
early:
.LFB12:
	.cfi_startproc
	testq	%rdi, %rdi
	je	.L42
	pushq	%r12
	.cfi_def_cfa_offset 16
	.cfi_offset 12, -16
	xorl	%eax, %eax
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset 6, -24
	movq	%rdi, %rbp
	pushq	%rbx
	.cfi_def_cfa_offset 32
	.cfi_offset 3, -32
	call	sink@PLT
	leaq	4(%rbp), %rdi
	movl	%eax, %r12d
	xorl	%eax, %eax
	call	sink@PLT
	leaq	8(%rbp), %rdi
	movl	%eax, %ebx
	xorl	%eax, %eax
	call	sink@PLT
	cmpl	%ebx, %r12d
	jne	.L41
	leaq	.LC1(%rip), %rdi
	call	fail@PLT
.L41:
	imull	%eax, %ebx
	leal	(%rbx,%r12), %eax
	popq	%rbx
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%r12
	.cfi_def_cfa_offset 8
	ret
.L42:
	.cfi_restore 3
	.cfi_restore 6
	.cfi_restore 12
	orl	$-1, %eax
	ret
	.cfi_endproc
.LFE12:
	.size	early, .-early
arguments:
.LFB13:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	pushq	%rbx
	.cfi_def_cfa_offset 24
	.cfi_offset 3, -24
	movl	%edi, %ebx
	subq	$216, %rsp
	.cfi_def_cfa_offset 240
	movq	%rsi, 40(%rsp)
	movq	%rdx, 48(%rsp)
	movq	%rcx, 56(%rsp)
	movq	%r8, 64(%rsp)
	movq	%r9, 72(%rsp)
	testb	%al, %al
	je	.L55
	movaps	%xmm0, 80(%rsp)
	movaps	%xmm1, 96(%rsp)
	movaps	%xmm2, 112(%rsp)
	movaps	%xmm3, 128(%rsp)
	movaps	%xmm4, 144(%rsp)
	movaps	%xmm5, 160(%rsp)
	movaps	%xmm6, 176(%rsp)
	movaps	%xmm7, 192(%rsp)
.L55:
	leaq	240(%rsp), %rax
	movl	$8, 8(%rsp)
	xorl	%ebp, %ebp
	movq	%rax, 16(%rsp)
	leaq	32(%rsp), %rax
	movl	$48, 12(%rsp)
	movq	%rax, 24(%rsp)
.L49:
	testl	%ebx, %ebx
	je	.L57
	movl	12(%rsp), %edx
	cmpl	$175, %edx
	ja	.L50
	movl	%edx, %eax
	addl	$16, %edx
	addq	24(%rsp), %rax
	movl	%edx, 12(%rsp)
	jmp	.L51
.L50:
	movq	16(%rsp), %rax
	leaq	8(%rax), %rdx
	movq	%rdx, 16(%rsp)
.L51:
	movl	8(%rsp), %edx
	movsd	(%rax), %xmm0
	cmpl	$47, %edx
	ja	.L52
	movl	%edx, %eax
	addl	$8, %edx
	addq	24(%rsp), %rax
	movl	%edx, 8(%rsp)
	jmp	.L53
.L52:
	movq	16(%rsp), %rax
	leaq	8(%rax), %rdx
	movq	%rdx, 16(%rsp)
.L53:
	movl	(%rax), %esi
	xorl	%edi, %edi
	movb	$1, %al
	decl	%ebx
	call	sink@PLT
	addl	%eax, %ebp
	jmp	.L49
.L57:
	addq	$216, %rsp
	.cfi_def_cfa_offset 24
	movl	%ebp, %eax
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE13:
	.size	arguments, .-arguments
many_arguments:
.LFB14:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	movl	%edi, %eax
	movl	24(%rsp), %ebx
	pushq	%rdi
	.cfi_def_cfa_offset 24
	leal	(%rdx,%rcx), %edi
	pushq	%rdi
	.cfi_def_cfa_offset 32
	leal	(%rax,%rsi), %edi
	pushq	%rdi
	.cfi_def_cfa_offset 40
	pushq	%rbx
	.cfi_def_cfa_offset 48
	movl	48(%rsp), %edi
	pushq	%rdi
	.cfi_def_cfa_offset 56
	xorl	%edi, %edi
	pushq	%r9
	.cfi_def_cfa_offset 64
	movl	%r8d, %r9d
	movl	%ecx, %r8d
	movl	%edx, %ecx
	movl	%esi, %edx
	movl	%eax, %esi
	xorl	%eax, %eax
	call	sink@PLT
	addq	$48, %rsp
	.cfi_def_cfa_offset 16
	addl	%ebx, %eax
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE14:
	.size	many_arguments, .-many_arguments
tail:
.LFB15:
	.cfi_startproc
	cmpl	$0, (%rdi)
	je	.L61
	movl	$1, %esi
	xorl	%eax, %eax
	jmp	sink@PLT
.L61:
	subq	$16, %rsp
	.cfi_def_cfa_offset 24
	movl	$5, %r9d
	movl	$4, %r8d
	movl	$3, %ecx
	pushq	$6
	.cfi_def_cfa_offset 32
	movl	$2, %edx
	movl	$1, %esi
	call	many_registers@PLT
	addq	$24, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE15:
	.size	tail, .-tail
forever:
.LFB16:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	movq	%rdi, %rbx
.L65:
	movl	(%rbx), %esi
	movq	%rbx, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	addl	%eax, (%rbx)
	jmp	.L65
	.cfi_endproc
.LFE16:
	.size	forever, .-forever
	.section	.rodata.str1.1
.LC2:
	.string	"a"
.LC3:
	.string	"b"
	.text
never:
.LFB17:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	xorl	%eax, %eax
	movq	%rdi, 8(%rsp)
	call	sink@PLT
	movq	8(%rsp), %rdi
	xorl	%eax, %eax
	movl	$1, %esi
	call	sink@PLT
	leaq	.LC3(%rip), %rdi
	testl	%eax, %eax
	leaq	.LC2(%rip), %rax
	cmovne	%rax, %rdi
	call	fail@PLT
	.cfi_endproc
.LFE17:
	.size	never, .-never
recursive:
.LFB18:
	.cfi_startproc
	pushq	%r12
	.cfi_def_cfa_offset 16
	.cfi_offset 12, -16
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset 6, -24
	movq	%rsi, %rbp
	pushq	%rbx
	.cfi_def_cfa_offset 32
	.cfi_offset 3, -32
	movslq	%edi, %rbx
	cmpl	$1, %ebx
	jg	.L72
	popq	%rbx
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	movq	%rsi, %rdi
	popq	%rbp
	.cfi_def_cfa_offset 16
	xorl	%eax, %eax
	popq	%r12
	.cfi_def_cfa_offset 8
	jmp	sink@PLT
.L72:
	.cfi_restore_state
	leal	-1(%rbx), %edi
	call	recursive.localalias
	leaq	4(%rbp), %rsi
	leal	-2(%rbx), %edi
	movl	%eax, %r12d
	call	recursive.localalias
	imull	0(%rbp,%rbx,4), %eax
	popq	%rbx
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
	addl	%r12d, %eax
	popq	%r12
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE18:
	.size	recursive, .-recursive
	.set	recursive.localalias,recursive
