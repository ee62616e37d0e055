# functions.c by gcc 12.2 -O3 -fPIC, without alignment, which assemblers fill differently.
	.text
leaf:
.LFB11:
	.cfi_startproc
	imull	%esi, %edi
	leal	3(%rdi), %eax
	ret
	.cfi_endproc
.LFE11:
	.size	leaf, .-leaf
many_registers:
.LFB12:
	.cfi_startproc
	pushq	%r15
	.cfi_def_cfa_offset 16
	.cfi_offset 15, -16
	movl	%r8d, %r15d
	pushq	%r14
	.cfi_def_cfa_offset 24
	.cfi_offset 14, -24
	pushq	%r13
	.cfi_def_cfa_offset 32
	.cfi_offset 13, -32
	pushq	%r12
	.cfi_def_cfa_offset 40
	.cfi_offset 12, -40
	movl	%r9d, %r12d
	pushq	%rbp
	.cfi_def_cfa_offset 48
	.cfi_offset 6, -48
	movl	%edx, %ebp
	pushq	%rbx
	.cfi_def_cfa_offset 56
	.cfi_offset 3, -56
	movl	%ecx, %ebx
	subq	$24, %rsp
	.cfi_def_cfa_offset 80
	movl	%esi, 12(%rsp)
	movl	80(%rsp), %r13d
	testl	%esi, %esi
	jle	.L4
	xorl	%r14d, %r14d
	xorl	%r9d, %r9d
.L5:
	movl	%r15d, %ecx
	movl	%ebx, %edx
	movl	%ebp, %esi
	xorl	%eax, %eax
	movl	%r9d, 8(%rsp)
	movq	%rdi, (%rsp)
	call	sink@PLT
	movl	8(%rsp), %r9d
	movq	(%rsp), %rdi
	imull	%r12d, %eax
	addl	%r14d, %r12d
	addl	$1, %r14d
	addq	$4, %rdi
	addl	%r13d, %eax
	xorl	%r12d, %r13d
	addl	%eax, %r9d
	xorl	%r9d, %ebp
	addl	%ebp, %ebx
	subl	%ebx, %r15d
	cmpl	%r14d, 12(%rsp)
	jne	.L5
	addl	%r9d, %ebp
.L4:
	leal	(%rbx,%rbp), %eax
	addq	$24, %rsp
	.cfi_def_cfa_offset 56
	addl	%r15d, %eax
	popq	%rbx
	.cfi_def_cfa_offset 48
	popq	%rbp
	.cfi_def_cfa_offset 40
	addl	%r12d, %eax
	popq	%r12
	.cfi_def_cfa_offset 32
	addl	%r13d, %eax
	popq	%r13
	.cfi_def_cfa_offset 24
	popq	%r14
	.cfi_def_cfa_offset 16
	popq	%r15
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE12:
	.size	many_registers, .-many_registers
variable:
.LFB13:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movl	$1, %esi
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r14
	.cfi_offset 14, -24
	movslq	%edi, %r14
	pushq	%r13
	leaq	23(%r14), %rax
	movq	%r14, %rdx
	pushq	%r12
	andq	$-16, %rax
	pushq	%rbx
	.cfi_offset 13, -32
	.cfi_offset 12, -40
	.cfi_offset 3, -48
	subq	%rax, %rsp
	leaq	15(%rsp), %r12
	andq	$-16, %r12
	movq	%r12, %rdi
	call	memset@PLT
	testl	%r14d, %r14d
	jle	.L9
	movq	%r14, %r13
	xorl	%ebx, %ebx
	jmp	.L11
.L14:
	addl	$1, %ebx
	cmpl	%ebx, %r13d
	je	.L9
.L11:
	xorl	%eax, %eax
	movl	%ebx, %esi
	movq	%r12, %rdi
	call	sink@PLT
	testl	%eax, %eax
	je	.L14
	leaq	-32(%rbp), %rsp
	movl	%ebx, %eax
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%rbp
	.cfi_remember_state
	.cfi_def_cfa 7, 8
	ret
.L9:
	.cfi_restore_state
	movsbl	-1(%r12,%r14), %ebx
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
.LFE13:
	.size	variable, .-variable
large:
.LFB14:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	movslq	%edi, %rbx
	movl	$70000, %edx
	movl	%ebx, %esi
	subq	$70000, %rsp
	.cfi_def_cfa_offset 70016
	movq	%rsp, %rdi
	call	memset@PLT
	movq	%rax, %rdi
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
.LFE14:
	.size	large, .-large
aligned:
.LFB15:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	andq	$-32, %rsp
	subq	$256, %rsp
	.cfi_offset 14, -24
	.cfi_offset 13, -32
	.cfi_offset 12, -40
	.cfi_offset 3, -48
	movdqa	(%rdi), %xmm1
	movaps	%xmm1, 96(%rsp)
	movdqa	16(%rdi), %xmm0
	movaps	%xmm1, 128(%rsp)
	movaps	%xmm0, 112(%rsp)
	movdqa	32(%rdi), %xmm4
	movdqa	48(%rdi), %xmm5
	movdqa	64(%rdi), %xmm6
	movdqa	80(%rdi), %xmm7
	movaps	%xmm0, 144(%rsp)
	movaps	%xmm4, 160(%rsp)
	movdqa	96(%rdi), %xmm4
	movaps	%xmm5, 176(%rsp)
	movdqa	112(%rdi), %xmm5
	movaps	%xmm6, 192(%rsp)
	movaps	%xmm7, 208(%rsp)
	movaps	%xmm4, 224(%rsp)
	movaps	%xmm5, 240(%rsp)
	testl	%esi, %esi
	jle	.L18
	movq	%rdi, %r12
	movl	%esi, %r13d
	leaq	128(%rsp), %r14
	xorl	%ebx, %ebx
	jmp	.L19
.L21:
	movl	%ebx, %eax
	andl	$3, %eax
	salq	$5, %rax
	movdqa	128(%rsp,%rax), %xmm2
	movaps	%xmm2, 96(%rsp)
	movdqa	144(%rsp,%rax), %xmm3
	movaps	%xmm3, 112(%rsp)
.L19:
	movapd	16(%r12), %xmm0
	movl	%ebx, %eax
	movl	%ebx, %esi
	movq	%r14, %rdi
	movapd	(%r12), %xmm1
	andl	$3, %eax
	addl	$1, %ebx
	addq	$32, %r12
	addpd	112(%rsp), %xmm0
	addpd	96(%rsp), %xmm1
	salq	$5, %rax
	movaps	%xmm1, 128(%rsp,%rax)
	movaps	%xmm0, 144(%rsp,%rax)
	xorl	%eax, %eax
	call	sink@PLT
	cmpl	%ebx, %r13d
	jne	.L21
.L18:
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
.LFE15:
	.size	aligned, .-aligned
	.section	.rodata.str1.1,"aMS",@progbits,1
.LC0:
	.string	"seven"
	.text
table:
.LFB16:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsi, %rbp
	pushq	%rbx
	.cfi_def_cfa_offset 24
	.cfi_offset 3, -24
	movq	%rdx, %rbx
	subq	$8, %rsp
	.cfi_def_cfa_offset 32
	cmpl	$8, %edi
	ja	.L23
	leaq	.L25(%rip), %rdx
	movl	%edi, %edi
	movslq	(%rdx,%rdi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
	.section	.rodata
	.align 4
	.align 4
.L25:
	.long	.L33-.L25
	.long	.L32-.L25
	.long	.L31-.L25
	.long	.L30-.L25
	.long	.L29-.L25
	.long	.L28-.L25
	.long	.L27-.L25
	.long	.L26-.L25
	.long	.L24-.L25
	.text
.L36:
	addl	$1, (%rbx)
.L28:
	xorl	%eax, %eax
	movq	%rbp, %rdi
	call	sink@PLT
	testl	%eax, %eax
	jne	.L36
.L23:
	movq	%rbx, %rsi
	movq	%rbp, %rdi
	movl	$3, %edx
	xorl	%eax, %eax
	call	sink@PLT
	addq	$8, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	addl	$1, %eax
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	ret
.L27:
	.cfi_restore_state
	movl	(%rbx), %esi
	movl	0(%rbp), %edi
	addq	$8, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	jmp	leaf@PLT
.L24:
	.cfi_restore_state
	addq	$8, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	movq	%rbp, %rdi
	movl	$8, %esi
	xorl	%eax, %eax
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	jmp	sink@PLT
.L33:
	.cfi_restore_state
	movq	%rsi, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	addl	(%rbx), %eax
	addq	$8, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	ret
.L32:
	.cfi_restore_state
	movq	%rbx, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	subl	0(%rbp), %eax
	addq	$8, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	ret
.L31:
	.cfi_restore_state
	movl	(%rbx), %eax
	movq	%rbp, %rdi
	movl	%eax, (%rsi)
	addq	$8, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	movq	%rbx, %rsi
	xorl	%eax, %eax
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	jmp	sink@PLT
.L30:
	.cfi_restore_state
	movl	(%rbx), %eax
	cmpl	%eax, (%rsi)
	jle	.L23
	addq	$8, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	movq	%rbx, %rdi
	movl	$1, %edx
	xorl	%eax, %eax
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	jmp	sink@PLT
.L29:
	.cfi_restore_state
	movq	%rsi, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movq	%rbx, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movl	0(%rbp), %eax
	imull	(%rbx), %eax
	addq	$8, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	ret
.L26:
	.cfi_restore_state
	leaq	.LC0(%rip), %rdi
	call	fail@PLT
	.cfi_endproc
.LFE16:
	.size	table, .-table
	.section	.rodata.str1.1
.LC1:
	.string	"same"
	.text
early:
.LFB17:
	.cfi_startproc
	testq	%rdi, %rdi
	je	.L43
	pushq	%r12
	.cfi_def_cfa_offset 16
	.cfi_offset 12, -16
	xorl	%eax, %eax
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset 6, -24
	pushq	%rbx
	.cfi_def_cfa_offset 32
	.cfi_offset 3, -32
	movq	%rdi, %rbx
	call	sink@PLT
	leaq	4(%rbx), %rdi
	movl	%eax, %r12d
	xorl	%eax, %eax
	call	sink@PLT
	leaq	8(%rbx), %rdi
	movl	%eax, %ebp
	xorl	%eax, %eax
	call	sink@PLT
	cmpl	%ebp, %r12d
	je	.L48
	imull	%eax, %ebp
	popq	%rbx
	.cfi_def_cfa_offset 24
	leal	0(%rbp,%r12), %eax
	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%r12
	.cfi_def_cfa_offset 8
	ret
.L43:
	.cfi_restore 3
	.cfi_restore 6
	.cfi_restore 12
	movl	$-1, %eax
	ret
.L48:
	.cfi_def_cfa_offset 32
	.cfi_offset 3, -32
	.cfi_offset 6, -24
	.cfi_offset 12, -16
	leaq	.LC1(%rip), %rdi
	call	fail@PLT
	.cfi_endproc
.LFE17:
	.size	early, .-early
arguments:
.LFB18:
	.cfi_startproc
	pushq	%r13
	.cfi_def_cfa_offset 16
	.cfi_offset 13, -16
	pushq	%r12
	.cfi_def_cfa_offset 24
	.cfi_offset 12, -24
	pushq	%rbp
	.cfi_def_cfa_offset 32
	.cfi_offset 6, -32
	movl	%edi, %ebp
	pushq	%rbx
	.cfi_def_cfa_offset 40
	.cfi_offset 3, -40
	subq	$216, %rsp
	.cfi_def_cfa_offset 256
	movq	%rsi, 40(%rsp)
	movq	%rdx, 48(%rsp)
	movq	%rcx, 56(%rsp)
	movq	%r8, 64(%rsp)
	movq	%r9, 72(%rsp)
	testb	%al, %al
	je	.L64
	movaps	%xmm0, 80(%rsp)
	movaps	%xmm1, 96(%rsp)
	movaps	%xmm2, 112(%rsp)
	movaps	%xmm3, 128(%rsp)
	movaps	%xmm4, 144(%rsp)
	movaps	%xmm5, 160(%rsp)
	movaps	%xmm6, 176(%rsp)
	movaps	%xmm7, 192(%rsp)
.L64:
	leaq	256(%rsp), %rax
	movl	$8, 8(%rsp)
	movq	%rax, 16(%rsp)
	leaq	32(%rsp), %rax
	movl	$48, 12(%rsp)
	movq	%rax, 24(%rsp)
	testl	%ebp, %ebp
	je	.L62
	movl	12(%rsp), %r13d
	movl	$8, %r12d
	subl	$2, %ebp
	xorl	%ebx, %ebx
	cmpl	$175, %r13d
	jbe	.L70
.L52:
	movq	16(%rsp), %rax
	leaq	8(%rax), %rdx
	movsd	(%rax), %xmm0
	movq	%rdx, 16(%rsp)
	cmpl	$47, %r12d
	ja	.L54
.L71:
	movl	%r12d, %eax
	addl	$8, %r12d
	addq	24(%rsp), %rax
	movl	%r12d, 8(%rsp)
.L55:
	movl	(%rax), %esi
	xorl	%edi, %edi
	movl	$1, %eax
	call	sink@PLT
	addl	%eax, %ebx
	cmpl	$-1, %ebp
	je	.L49
	leal	-1(%rbp), %eax
	cmpl	$175, %r13d
	ja	.L61
	movl	12(%rsp), %r13d
	movl	%eax, %ebp
	cmpl	$175, %r13d
	ja	.L52
.L70:
	movl	%r13d, %eax
	leal	16(%r13), %edx
	addq	24(%rsp), %rax
	movl	%edx, 12(%rsp)
	movsd	(%rax), %xmm0
	cmpl	$47, %r12d
	jbe	.L71
.L54:
	movq	16(%rsp), %rax
	leaq	8(%rax), %rdx
	movq	%rdx, 16(%rsp)
	jmp	.L55
.L72:
	movl	%r12d, %eax
	addl	$8, %r12d
	addq	24(%rsp), %rax
	movl	%r12d, 8(%rsp)
	movl	(%rax), %esi
.L69:
	xorl	%edi, %edi
	movl	$1, %eax
	call	sink@PLT
	addl	%eax, %ebx
	subl	$1, %ebp
	jb	.L49
.L61:
	movq	16(%rsp), %rax
	leaq	8(%rax), %rdx
	movsd	(%rax), %xmm0
	movq	%rdx, 16(%rsp)
	cmpl	$47, %r12d
	jbe	.L72
	leaq	16(%rax), %rdx
	movl	8(%rax), %esi
	movq	%rdx, 16(%rsp)
	jmp	.L69
.L62:
	xorl	%ebx, %ebx
.L49:
	addq	$216, %rsp
	.cfi_def_cfa_offset 40
	movl	%ebx, %eax
	popq	%rbx
	.cfi_def_cfa_offset 32
	popq	%rbp
	.cfi_def_cfa_offset 24
	popq	%r12
	.cfi_def_cfa_offset 16
	popq	%r13
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE18:
	.size	arguments, .-arguments
many_arguments:
.LFB19:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	movl	%edi, %eax
	movl	24(%rsp), %ebx
	leal	(%rdx,%rcx), %edi
	subq	$8, %rsp
	.cfi_def_cfa_offset 24
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
.LFE19:
	.size	many_arguments, .-many_arguments
tail:
.LFB20:
	.cfi_startproc
	movl	(%rdi), %eax
	testl	%eax, %eax
	je	.L76
	movl	$1, %esi
	xorl	%eax, %eax
	jmp	sink@PLT
.L76:
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
.LFE20:
	.size	tail, .-tail
forever:
.LFB21:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	movl	(%rdi), %esi
	movq	%rdi, %rbx
.L80:
	movq	%rbx, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	addl	(%rbx), %eax
	movl	%eax, (%rbx)
	movl	%eax, %esi
	jmp	.L80
	.cfi_endproc
.LFE21:
	.size	forever, .-forever
	.section	.rodata.str1.1
.LC2:
	.string	"a"
.LC3:
	.string	"b"
	.text
never:
.LFB22:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	xorl	%eax, %eax
	movq	%rdi, %rbx
	call	sink@PLT
	movq	%rbx, %rdi
	xorl	%eax, %eax
	movl	$1, %esi
	call	sink@PLT
	leaq	.LC3(%rip), %rdi
	testl	%eax, %eax
	leaq	.LC2(%rip), %rax
	cmovne	%rax, %rdi
	call	fail@PLT
	.cfi_endproc
.LFE22:
	.size	never, .-never
recursive:
.LFB23:
	.cfi_startproc
	pushq	%r15
	.cfi_def_cfa_offset 16
	.cfi_offset 15, -16
	pushq	%r14
	.cfi_def_cfa_offset 24
	.cfi_offset 14, -24
	pushq	%r13
	.cfi_def_cfa_offset 32
	.cfi_offset 13, -32
	pushq	%r12
	.cfi_def_cfa_offset 40
	.cfi_offset 12, -40
	pushq	%rbp
	.cfi_def_cfa_offset 48
	.cfi_offset 6, -48
	movq	%rsi, %rbp
	pushq	%rbx
	.cfi_def_cfa_offset 56
	.cfi_offset 3, -56
	movslq	%edi, %rbx
	subq	$104, %rsp
	.cfi_def_cfa_offset 160
	cmpl	$1, %ebx
	jle	.L128
	leal	-1(%rbx), %eax
	leaq	4(%rsi), %r13
	movl	%eax, 12(%rsp)
	cmpl	$2, %ebx
	je	.L129
	cmpl	$3, %ebx
	je	.L130
	leal	-3(%rbx), %eax
	cmpl	$4, %ebx
	je	.L131
	cltq
	leal	-4(%rbx), %edx
	movq	%rax, 88(%rsp)
	salq	$2, %rax
	movl	%edx, 40(%rsp)
	leaq	(%rsi,%rax), %r14
	movq	%rax, 32(%rsp)
	cmpl	$5, %ebx
	je	.L132
	leal	-5(%rbx), %eax
	leal	-6(%rbx), %r15d
	movl	%eax, %edi
	movl	%eax, 48(%rsp)
	call	recursive.localalias
	movq	%r13, %rsi
	movl	%r15d, %edi
	movl	%r15d, 16(%rsp)
	movl	%eax, %r12d
	movl	%r15d, 24(%rsp)
	call	recursive.localalias
	movq	32(%rsp), %rdx
	leaq	-4(%rdx), %rsi
	leaq	0(%rbp,%rsi), %rdx
	movq	%rsi, 56(%rsp)
	imull	(%rdx), %eax
	cmpl	$1, 48(%rsp)
	movq	%rdx, 72(%rsp)
	leal	(%rax,%r12), %ecx
	movl	%ecx, 64(%rsp)
	je	.L95
	movl	%r15d, %edi
	movq	%r13, %rsi
	leaq	8(%rbp), %r15
	call	recursive.localalias
	leal	-7(%rbx), %edi
	movq	%r15, %rsi
	movl	%eax, %r12d
	call	recursive.localalias
	movq	72(%rsp), %rdx
	movl	64(%rsp), %ecx
	imull	(%rdx), %eax
	addl	%eax, %r12d
	imull	(%r14), %r12d
	addl	%ecx, %r12d
.L118:
	movl	48(%rsp), %edi
	movq	%r13, %rsi
	call	recursive.localalias
	movl	24(%rsp), %edi
	movq	%r15, %rsi
	movl	%eax, %r14d
	call	recursive.localalias
	movq	32(%rsp), %rdx
	leaq	4(%rdx), %rcx
	movq	%rcx, 24(%rsp)
	movq	56(%rsp), %rcx
	imull	4(%rbp,%rcx), %eax
	addl	%r14d, %eax
	imull	4(%rbp,%rdx), %eax
	cmpl	$1, 48(%rsp)
	leal	(%rax,%r12), %edx
	movslq	40(%rsp), %rax
	movl	%edx, 56(%rsp)
	leaq	0(%r13,%rax,4), %r14
	je	.L133
	movl	16(%rsp), %edi
	movq	%r13, %rsi
	call	recursive.localalias
	leal	-7(%rbx), %ecx
	movq	%r15, %rsi
	movl	%ecx, %edi
	movl	%ecx, 64(%rsp)
	movl	%eax, %r12d
	call	recursive.localalias
	movslq	48(%rsp), %rcx
	movl	16(%rsp), %edi
	movq	%r15, %rsi
	imull	0(%r13,%rcx,4), %eax
	leaq	0(,%rcx,4), %rdx
	movq	%rcx, 80(%rsp)
	movq	%rdx, 72(%rsp)
	addl	%eax, %r12d
	call	recursive.localalias
	imull	(%r14), %eax
	leaq	12(%rbp), %rcx
	cmpl	$1, 16(%rsp)
	movq	%rcx, 48(%rsp)
	leal	(%rax,%r12), %r14d
	je	.L134
	movl	64(%rsp), %edi
	movq	%r15, %rsi
	call	recursive.localalias
	movq	48(%rsp), %rsi
	leal	-8(%rbx), %edi
	movl	%edi, 16(%rsp)
	movl	%eax, %r12d
	call	recursive.localalias
	movq	72(%rsp), %rdx
	movl	16(%rsp), %edi
	imull	-4(%r15,%rdx), %eax
	addl	%eax, %r12d
	cmpl	$1, 64(%rsp)
	je	.L100
	movq	48(%rsp), %rsi
	call	recursive.localalias
	leaq	16(%rbp), %rsi
	leal	-9(%rbx), %edi
	movl	%eax, 16(%rsp)
	call	recursive.localalias
	movq	48(%rsp), %rdx
	movq	72(%rsp), %rcx
	movl	16(%rsp), %esi
	imull	-8(%rdx,%rcx), %eax
	addl	%esi, %eax
.L102:
	movq	80(%rsp), %rdx
	imull	(%r15,%rdx,4), %eax
	addl	%r12d, %eax
.L99:
	movq	32(%rsp), %rdx
	imull	4(%rbp,%rdx), %eax
	movslq	12(%rsp), %rdx
	addl	%r14d, %eax
	imull	0(%rbp,%rdx,4), %eax
	movl	56(%rsp), %edx
	addl	%eax, %edx
	cmpl	$1, 40(%rsp)
	movl	%edx, 12(%rsp)
	je	.L135
	movslq	40(%rsp), %r14
	leal	-5(%rbx), %eax
	movl	%eax, 56(%rsp)
	leaq	0(,%r14,4), %rax
	movq	%rax, 32(%rsp)
	addq	%r13, %rax
	movq	%rax, 40(%rsp)
	cmpl	$6, %ebx
	je	.L136
	leal	-6(%rbx), %eax
	movq	%r13, %rsi
	movl	%eax, %edi
	movl	%eax, 16(%rsp)
	call	recursive.localalias
	movq	%r15, %rsi
	movl	%eax, %r12d
	leal	-7(%rbx), %eax
	movl	%eax, %edi
	movl	%eax, 64(%rsp)
	movl	%eax, 48(%rsp)
	call	recursive.localalias
	imull	0(%rbp,%r14,4), %eax
	movq	32(%rsp), %rcx
	leaq	-4(%rcx), %rsi
	addl	%eax, %r12d
	cmpl	$1, 16(%rsp)
	movq	%rsi, 80(%rsp)
	je	.L108
	movl	48(%rsp), %edi
	movq	%r15, %rsi
	leaq	12(%rbp), %r14
	call	recursive.localalias
	leal	-8(%rbx), %edi
	movq	%r14, %rsi
	movl	%eax, 72(%rsp)
	call	recursive.localalias
	movq	32(%rsp), %rcx
	movl	72(%rsp), %edx
	imull	-8(%r15,%rcx), %eax
	movq	40(%rsp), %rcx
	addl	%edx, %eax
	imull	(%rcx), %eax
	addl	%r12d, %eax
	movl	%eax, 72(%rsp)
.L117:
	movl	16(%rsp), %edi
	movq	%r15, %rsi
	call	recursive.localalias
	movl	64(%rsp), %edi
	movq	%r14, %rsi
	movl	%eax, 40(%rsp)
	call	recursive.localalias
	movq	80(%rsp), %rcx
	movq	88(%rsp), %rsi
	movl	40(%rsp), %edx
	movl	(%r15,%rcx), %r12d
	movl	72(%rsp), %ecx
	imull	%eax, %r12d
	movslq	56(%rsp), %rax
	addl	%edx, %r12d
	imull	0(%r13,%rsi,4), %r12d
	leaq	(%r15,%rax,4), %rsi
	movq	%rsi, 64(%rsp)
	addl	%ecx, %r12d
	cmpl	$1, 16(%rsp)
	je	.L137
	movl	48(%rsp), %edi
	movq	%r15, %rsi
	call	recursive.localalias
	movq	%r14, %rsi
	movl	%eax, %r13d
	leal	-8(%rbx), %eax
	movl	%eax, %edi
	movl	%eax, 40(%rsp)
	call	recursive.localalias
	movslq	16(%rsp), %rdx
	imull	(%r15,%rdx,4), %eax
	leaq	0(,%rdx,4), %rsi
	cmpl	$1, 48(%rsp)
	movq	%rsi, 56(%rsp)
	leal	(%rax,%r13), %ecx
	movl	%ecx, 80(%rsp)
	je	.L112
	movl	40(%rsp), %edi
	movq	%r14, %rsi
	call	recursive.localalias
	leaq	16(%rbp), %rcx
	leal	-9(%rbx), %r8d
	movq	%rcx, %rsi
	movl	%r8d, %edi
	movq	%rcx, 16(%rsp)
	movl	%eax, %r13d
	movl	%r8d, 72(%rsp)
	call	recursive.localalias
	movq	56(%rsp), %r9
	movl	40(%rsp), %edi
	movq	%r14, %rsi
	movq	64(%rsp), %r11
	movl	80(%rsp), %r10d
	imull	-4(%r14,%r9), %eax
	addl	%eax, %r13d
	imull	(%r11), %r13d
	addl	%r10d, %r13d
	call	recursive.localalias
	movq	16(%rsp), %rsi
	movl	72(%rsp), %edi
	movl	%eax, 64(%rsp)
	call	recursive.localalias
	movslq	48(%rsp), %rdx
	imull	(%r14,%rdx,4), %eax
	movl	64(%rsp), %edx
	addl	%eax, %edx
	cmpl	$1, 40(%rsp)
	movl	%edx, 48(%rsp)
	je	.L113
	movq	16(%rsp), %rsi
	movl	72(%rsp), %edi
	call	recursive.localalias
	leaq	20(%rbp), %rsi
	leal	-10(%rbx), %edi
	movl	%eax, 64(%rsp)
	call	recursive.localalias
	movq	16(%rsp), %rsi
	movslq	40(%rsp), %rdx
	imull	(%rsi,%rdx,4), %eax
	movl	64(%rsp), %esi
	addl	%esi, %eax
.L116:
	movq	56(%rsp), %rcx
	movl	48(%rsp), %edx
	imull	(%r14,%rcx), %eax
	addl	%edx, %eax
.L115:
	movq	32(%rsp), %rdx
	imull	(%r15,%rdx), %eax
	addl	%r13d, %eax
.L111:
	movq	24(%rsp), %rcx
	imull	4(%rbp,%rcx), %eax
	addl	%r12d, %eax
	jmp	.L105
.L129:
	movq	%rsi, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movl	%eax, 12(%rsp)
.L89:
	movq	%r13, %rdi
	xorl	%eax, %eax
	call	sink@PLT
.L105:
	imull	0(%rbp,%rbx,4), %eax
	movl	12(%rsp), %ecx
	addq	$104, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 56
	popq	%rbx
	.cfi_def_cfa_offset 48
	popq	%rbp
	.cfi_def_cfa_offset 40
	popq	%r12
	.cfi_def_cfa_offset 32
	popq	%r13
	.cfi_def_cfa_offset 24
	addl	%ecx, %eax
	popq	%r14
	.cfi_def_cfa_offset 16
	popq	%r15
	.cfi_def_cfa_offset 8
	ret
.L128:
	.cfi_restore_state
	addq	$104, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 56
	movq	%rsi, %rdi
	xorl	%eax, %eax
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
	jmp	sink@PLT
.L131:
	.cfi_restore_state
	movq	%rsi, %rdi
	xorl	%eax, %eax
	leaq	8(%rbp), %r15
	call	sink@PLT
	movq	%r13, %rdi
	movl	%eax, %r12d
	xorl	%eax, %eax
	call	sink@PLT
	imull	8(%rbp), %eax
	movq	%r13, %rdi
	addl	%eax, %r12d
	xorl	%eax, %eax
	call	sink@PLT
	imull	12(%rbp), %eax
	movq	%r13, %rdi
	addl	%r12d, %eax
	movl	%eax, 12(%rsp)
	xorl	%eax, %eax
	call	sink@PLT
	movq	$8, 24(%rsp)
	movl	%eax, %r12d
.L92:
	movq	%r15, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	jmp	.L111
.L130:
	movq	%rsi, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movq	%r13, %rdi
	movl	%eax, %r12d
	xorl	%eax, %eax
	call	sink@PLT
	imull	8(%rbp), %eax
	addl	%r12d, %eax
	movl	%eax, 12(%rsp)
	jmp	.L89
.L136:
	movq	%r13, %rdi
	xorl	%eax, %eax
	leaq	12(%rbp), %r14
	call	sink@PLT
	movq	%r15, %rdi
	movl	%eax, %r12d
	xorl	%eax, %eax
	call	sink@PLT
	movq	40(%rsp), %rcx
	movq	%r15, %rdi
	imull	(%rcx), %eax
	addl	%eax, %r12d
	xorl	%eax, %eax
	call	sink@PLT
	imull	16(%rbp), %eax
	movq	%r15, %rdi
	addl	%eax, %r12d
	xorl	%eax, %eax
	call	sink@PLT
	movq	$8, 32(%rsp)
	movl	%eax, %r13d
.L107:
	movq	%r14, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	jmp	.L115
.L135:
	movq	%r13, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movq	%r15, %rdi
	movl	%eax, %r12d
	xorl	%eax, %eax
	call	sink@PLT
	imull	12(%rbp), %eax
	addl	%eax, %r12d
	jmp	.L92
.L132:
	movq	%rsi, %rdi
	xorl	%eax, %eax
	leaq	8(%rbp), %r15
	call	sink@PLT
	movq	%r13, %rdi
	movl	%eax, %r12d
	xorl	%eax, %eax
	call	sink@PLT
	imull	(%r14), %eax
	movq	%r13, %rdi
	addl	%eax, %r12d
	xorl	%eax, %eax
	call	sink@PLT
	imull	12(%rbp), %eax
	movq	%r13, %rdi
	addl	%r12d, %eax
	movl	%eax, 56(%rsp)
	xorl	%eax, %eax
	call	sink@PLT
	movq	$8, 32(%rsp)
	movq	$12, 24(%rsp)
	movl	%eax, %r14d
.L94:
	movq	%r15, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	jmp	.L99
.L133:
	movq	%r13, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movq	%r15, %rsi
	xorl	%edi, %edi
	movl	%eax, %r12d
	call	recursive.localalias
	imull	(%r14), %eax
	leal	(%rax,%r12), %r14d
	jmp	.L94
.L112:
	movq	%r14, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movq	64(%rsp), %rcx
	movl	80(%rsp), %r13d
	movq	%r14, %rdi
	imull	(%rcx), %eax
	addl	%eax, %r13d
	leaq	16(%rbp), %rax
	movq	%rax, 16(%rsp)
	xorl	%eax, %eax
	call	sink@PLT
	movq	$8, 56(%rsp)
	movl	%eax, 48(%rsp)
.L113:
	movq	16(%rsp), %rdi
	xorl	%eax, %eax
	call	sink@PLT
	jmp	.L116
.L137:
	movq	%r15, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movq	%r14, %rdi
	movl	%eax, %r13d
	xorl	%eax, %eax
	call	sink@PLT
	movq	64(%rsp), %rdx
	imull	(%rdx), %eax
	addl	%eax, %r13d
	jmp	.L107
.L134:
	movq	%r15, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movl	%eax, %r12d
.L100:
	movq	48(%rsp), %rdi
	xorl	%eax, %eax
	call	sink@PLT
	jmp	.L102
.L95:
	movq	%r13, %rdi
	xorl	%eax, %eax
	leaq	8(%rbp), %r15
	call	sink@PLT
	imull	(%r14), %eax
	movl	64(%rsp), %r12d
	movl	$0, 24(%rsp)
	addl	%eax, %r12d
	jmp	.L118
.L108:
	movq	%r15, %rdi
	xorl	%eax, %eax
	leaq	12(%rbp), %r14
	call	sink@PLT
	movq	40(%rsp), %rsi
	movl	$0, 64(%rsp)
	imull	(%rsi), %eax
	addl	%r12d, %eax
	movl	%eax, 72(%rsp)
	jmp	.L117
	.cfi_endproc
.LFE23:
	.size	recursive, .-recursive
	.set	recursive.localalias,recursive
