# functions.c by gcc 12.2 -O2 -fstack-clash-protection -fPIC, without alignment, which assemblers fill differently.
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
	movl	%ecx, %r12d
	pushq	%rbp
	.cfi_def_cfa_offset 48
	.cfi_offset 6, -48
	movl	%r9d, %ebp
	pushq	%rbx
	.cfi_def_cfa_offset 56
	.cfi_offset 3, -56
	movl	%edx, %ebx
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
	movl	%r12d, %edx
	movl	%ebx, %esi
	xorl	%eax, %eax
	movl	%r9d, 8(%rsp)
	movq	%rdi, (%rsp)
	call	sink@PLT
	movl	8(%rsp), %r9d
	movq	(%rsp), %rdi
	imull	%ebp, %eax
	addl	%r14d, %ebp
	addl	$1, %r14d
	addq	$4, %rdi
	addl	%r13d, %eax
	xorl	%ebp, %r13d
	addl	%eax, %r9d
	xorl	%r9d, %ebx
	addl	%ebx, %r12d
	subl	%r12d, %r15d
	cmpl	%r14d, 12(%rsp)
	jne	.L5
	addl	%r9d, %ebx
.L4:
	leal	(%rbx,%r12), %eax
	addq	$24, %rsp
	.cfi_def_cfa_offset 56
	addl	%r15d, %eax
	popq	%rbx
	.cfi_def_cfa_offset 48
	addl	%ebp, %eax
	popq	%rbp
	.cfi_def_cfa_offset 40
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
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r14
	.cfi_offset 14, -24
	movslq	%edi, %r14
	pushq	%r13
	leaq	23(%r14), %rax
	pushq	%r12
	movq	%rax, %rdx
	andq	$-4096, %rax
	.cfi_offset 13, -32
	.cfi_offset 12, -40
	movq	%r14, %r12
	pushq	%rbx
	.cfi_offset 3, -48
	andq	$-16, %rdx
	movq	%rsp, %rcx
	subq	%rax, %rcx
	cmpq	%rcx, %rsp
	je	.L10
.L20:
	subq	$4096, %rsp
	orq	$0, 4088(%rsp)
	cmpq	%rcx, %rsp
	jne	.L20
.L10:
	andl	$4095, %edx
	subq	%rdx, %rsp
	testq	%rdx, %rdx
	jne	.L21
.L11:
	leaq	15(%rsp), %r13
	movq	%r14, %rdx
	movl	$1, %esi
	andq	$-16, %r13
	movq	%r13, %rdi
	call	memset@PLT
	testl	%r12d, %r12d
	jle	.L12
	xorl	%ebx, %ebx
	jmp	.L14
.L22:
	addl	$1, %ebx
	cmpl	%ebx, %r12d
	je	.L12
.L14:
	xorl	%eax, %eax
	movl	%ebx, %esi
	movq	%r13, %rdi
	call	sink@PLT
	testl	%eax, %eax
	je	.L22
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
.L12:
	.cfi_restore_state
	movsbl	-1(%r13,%r14), %ebx
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
.L21:
	.cfi_restore_state
	orq	$0, -8(%rsp,%rdx)
	jmp	.L11
	.cfi_endproc
.LFE13:
	.size	variable, .-variable
large:
.LFB14:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	leaq	-69632(%rsp), %r11
	.cfi_def_cfa 11, 69648
.LPSRL0:
	subq	$4096, %rsp
	orq	$0, (%rsp)
	cmpq	%r11, %rsp
	jne	.LPSRL0
	.cfi_def_cfa_register 7
	subq	$368, %rsp
	.cfi_def_cfa_offset 70016
	movl	$70000, %edx
	movslq	%edi, %rbx
	movq	%rsp, %rdi
	movl	%ebx, %esi
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
	jle	.L26
	movq	%rdi, %r12
	movl	%esi, %r13d
	leaq	128(%rsp), %r14
	xorl	%ebx, %ebx
	jmp	.L27
.L29:
	movl	%ebx, %eax
	andl	$3, %eax
	salq	$5, %rax
	movdqa	128(%rsp,%rax), %xmm2
	movaps	%xmm2, 96(%rsp)
	movdqa	144(%rsp,%rax), %xmm3
	movaps	%xmm3, 112(%rsp)
.L27:
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
	jne	.L29
.L26:
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
	ja	.L31
	leaq	.L33(%rip), %rdx
	movl	%edi, %edi
	movslq	(%rdx,%rdi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
	.section	.rodata
	.align 4
	.align 4
.L33:
	.long	.L41-.L33
	.long	.L40-.L33
	.long	.L39-.L33
	.long	.L38-.L33
	.long	.L37-.L33
	.long	.L36-.L33
	.long	.L35-.L33
	.long	.L34-.L33
	.long	.L32-.L33
	.text
.L44:
	addl	$1, (%rbx)
.L36:
	xorl	%eax, %eax
	movq	%rbp, %rdi
	call	sink@PLT
	testl	%eax, %eax
	jne	.L44
.L31:
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
.L35:
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
.L32:
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
.L41:
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
.L40:
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
.L39:
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
.L38:
	.cfi_restore_state
	movl	(%rbx), %eax
	cmpl	%eax, (%rsi)
	jle	.L31
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
.L37:
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
.L34:
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
	je	.L51
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
	je	.L56
	imull	%eax, %ebp
	popq	%rbx
	.cfi_def_cfa_offset 24
	leal	0(%rbp,%r12), %eax
	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%r12
	.cfi_def_cfa_offset 8
	ret
.L51:
	.cfi_restore 3
	.cfi_restore 6
	.cfi_restore 12
	movl	$-1, %eax
	ret
.L56:
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
	je	.L66
	movaps	%xmm0, 80(%rsp)
	movaps	%xmm1, 96(%rsp)
	movaps	%xmm2, 112(%rsp)
	movaps	%xmm3, 128(%rsp)
	movaps	%xmm4, 144(%rsp)
	movaps	%xmm5, 160(%rsp)
	movaps	%xmm6, 176(%rsp)
	movaps	%xmm7, 192(%rsp)
.L66:
	leaq	240(%rsp), %rax
	movl	$8, 8(%rsp)
	xorl	%ebp, %ebp
	movq	%rax, 16(%rsp)
	leaq	32(%rsp), %rax
	movl	$48, 12(%rsp)
	movq	%rax, 24(%rsp)
	testl	%ebx, %ebx
	jne	.L64
	jmp	.L57
.L69:
	movl	%eax, %edx
	addl	$16, %eax
	addq	24(%rsp), %rdx
	movl	%eax, 12(%rsp)
	movl	8(%rsp), %eax
	movsd	(%rdx), %xmm0
	cmpl	$47, %eax
	ja	.L62
.L70:
	movl	%eax, %edx
	addl	$8, %eax
	addq	24(%rsp), %rdx
	movl	%eax, 8(%rsp)
.L63:
	movl	(%rdx), %esi
	xorl	%edi, %edi
	movl	$1, %eax
	call	sink@PLT
	addl	%eax, %ebp
	subl	$1, %ebx
	je	.L57
.L64:
	movl	12(%rsp), %eax
	cmpl	$175, %eax
	jbe	.L69
	movq	16(%rsp), %rdx
	leaq	8(%rdx), %rax
	movsd	(%rdx), %xmm0
	movq	%rax, 16(%rsp)
	movl	8(%rsp), %eax
	cmpl	$47, %eax
	jbe	.L70
.L62:
	movq	16(%rsp), %rdx
	leaq	8(%rdx), %rax
	movq	%rax, 16(%rsp)
	jmp	.L63
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
	je	.L74
	movl	$1, %esi
	xorl	%eax, %eax
	jmp	sink@PLT
.L74:
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
.L78:
	movq	%rbx, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	addl	(%rbx), %eax
	movl	%eax, (%rbx)
	movl	%eax, %esi
	jmp	.L78
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
	jle	.L87
	leal	-1(%rbx), %edi
	call	recursive.localalias
	leaq	4(%rbp), %rsi
	leal	-2(%rbx), %edi
	movl	%eax, %r12d
	call	recursive.localalias
	imull	0(%rbp,%rbx,4), %eax
	popq	%rbx
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
	addl	%r12d, %eax
	popq	%r12
	.cfi_def_cfa_offset 8
	ret
.L87:
	.cfi_restore_state
	popq	%rbx
	.cfi_def_cfa_offset 24
	movq	%rsi, %rdi
	popq	%rbp
	.cfi_def_cfa_offset 16
	xorl	%eax, %eax
	popq	%r12
	.cfi_def_cfa_offset 8
	jmp	sink@PLT
	.cfi_endproc
.LFE23:
	.size	recursive, .-recursive
	.set	recursive.localalias,recursive
