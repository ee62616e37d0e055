# functions.c by gcc 12.2 -O2 -fstack-protector-all -fPIC, without alignment, which assemblers fill differently.
	.text
leaf:
.LFB11:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	imull	%esi, %edi
	movq	%fs:40, %rax
	movq	%rax, 8(%rsp)
	xorl	%eax, %eax
	movq	8(%rsp), %rdx
	subq	%fs:40, %rdx
	jne	.L5
	leal	3(%rdi), %eax
	addq	$24, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 8
	ret
.L5:
	.cfi_restore_state
	call	__stack_chk_fail@PLT
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
	subq	$40, %rsp
	.cfi_def_cfa_offset 96
	movl	%esi, 12(%rsp)
	movl	96(%rsp), %r13d
	movq	%fs:40, %rax
	movq	%rax, 24(%rsp)
	xorl	%eax, %eax
	testl	%esi, %esi
	jle	.L7
	xorl	%r14d, %r14d
	xorl	%r9d, %r9d
.L8:
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
	jne	.L8
	addl	%r9d, %ebx
.L7:
	leal	(%rbx,%r12), %eax
	addl	%r15d, %eax
	addl	%ebp, %eax
	addl	%r13d, %eax
	movq	24(%rsp), %rdx
	subq	%fs:40, %rdx
	jne	.L12
	addq	$40, %rsp
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
	popq	%r14
	.cfi_def_cfa_offset 16
	popq	%r15
	.cfi_def_cfa_offset 8
	ret
.L12:
	.cfi_restore_state
	call	__stack_chk_fail@PLT
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
	movq	%r14, %rdx
	pushq	%r12
	pushq	%rbx
	subq	$16, %rsp
	.cfi_offset 13, -32
	.cfi_offset 12, -40
	.cfi_offset 3, -48
	movq	%fs:40, %rax
	movq	%rax, -40(%rbp)
	xorl	%eax, %eax
	leaq	23(%r14), %rax
	andq	$-16, %rax
	subq	%rax, %rsp
	leaq	15(%rsp), %r12
	andq	$-16, %r12
	movq	%r12, %rdi
	call	memset@PLT
	testl	%r14d, %r14d
	jle	.L14
	movq	%r14, %r13
	xorl	%ebx, %ebx
	jmp	.L16
.L20:
	addl	$1, %ebx
	cmpl	%ebx, %r13d
	je	.L14
.L16:
	xorl	%eax, %eax
	movl	%ebx, %esi
	movq	%r12, %rdi
	call	sink@PLT
	testl	%eax, %eax
	je	.L20
.L13:
	movq	-40(%rbp), %rax
	subq	%fs:40, %rax
	jne	.L21
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
.L14:
	.cfi_restore_state
	movsbl	-1(%r12,%r14), %ebx
	jmp	.L13
.L21:
	call	__stack_chk_fail@PLT
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
	subq	$70016, %rsp
	.cfi_def_cfa_offset 70032
	movq	%fs:40, %rax
	movq	%rax, 70008(%rsp)
	xorl	%eax, %eax
	movq	%rsp, %rdi
	call	memset@PLT
	movq	%rax, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movl	%eax, %edx
	movsbl	(%rsp,%rbx), %eax
	addl	%edx, %eax
	movq	70008(%rsp), %rdx
	subq	%fs:40, %rdx
	jne	.L25
	addq	$70016, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
.L25:
	.cfi_restore_state
	call	__stack_chk_fail@PLT
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
	subq	$288, %rsp
	.cfi_offset 14, -24
	.cfi_offset 13, -32
	.cfi_offset 12, -40
	.cfi_offset 3, -48
	movdqa	(%rdi), %xmm1
	movq	%fs:40, %rax
	movq	%rax, 280(%rsp)
	xorl	%eax, %eax
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
	jle	.L27
	movq	%rdi, %r12
	movl	%esi, %r13d
	leaq	128(%rsp), %r14
	xorl	%ebx, %ebx
	jmp	.L28
.L31:
	movl	%ebx, %eax
	andl	$3, %eax
	salq	$5, %rax
	movdqa	128(%rsp,%rax), %xmm2
	movaps	%xmm2, 96(%rsp)
	movdqa	144(%rsp,%rax), %xmm3
	movaps	%xmm3, 112(%rsp)
.L28:
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
	jne	.L31
.L27:
	movsd	128(%rsp), %xmm0
	addsd	168(%rsp), %xmm0
	addsd	208(%rsp), %xmm0
	addsd	248(%rsp), %xmm0
	movq	280(%rsp), %rax
	subq	%fs:40, %rax
	jne	.L32
	leaq	-32(%rbp), %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%rbp
	.cfi_remember_state
	.cfi_def_cfa 7, 8
	ret
.L32:
	.cfi_restore_state
	call	__stack_chk_fail@PLT
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
	subq	$24, %rsp
	.cfi_def_cfa_offset 48
	movq	%fs:40, %rax
	movq	%rax, 8(%rsp)
	xorl	%eax, %eax
	cmpl	$8, %edi
	ja	.L34
	leaq	.L36(%rip), %rdx
	movl	%edi, %edi
	movslq	(%rdx,%rdi,4), %rax
	addq	%rdx, %rax
	jmp	*%rax
	.section	.rodata
	.align 4
	.align 4
.L36:
	.long	.L44-.L36
	.long	.L43-.L36
	.long	.L42-.L36
	.long	.L41-.L36
	.long	.L40-.L36
	.long	.L39-.L36
	.long	.L38-.L36
	.long	.L37-.L36
	.long	.L35-.L36
	.text
.L49:
	addl	$1, (%rbx)
.L39:
	xorl	%eax, %eax
	movq	%rbp, %rdi
	call	sink@PLT
	testl	%eax, %eax
	jne	.L49
.L34:
	movl	$3, %edx
	movq	%rbx, %rsi
	movq	%rbp, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	addl	$1, %eax
.L33:
	movq	8(%rsp), %rdx
	subq	%fs:40, %rdx
	jne	.L57
	addq	$24, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	ret
.L38:
	.cfi_restore_state
	movq	8(%rsp), %rax
	subq	%fs:40, %rax
	jne	.L57
	movl	(%rbx), %esi
	movl	0(%rbp), %edi
	addq	$24, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	jmp	leaf@PLT
.L35:
	.cfi_restore_state
	movq	8(%rsp), %rax
	subq	%fs:40, %rax
	jne	.L57
	addq	$24, %rsp
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
.L44:
	.cfi_restore_state
	movq	%rsi, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	addl	(%rbx), %eax
	jmp	.L33
.L43:
	movq	%rbx, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	subl	0(%rbp), %eax
	jmp	.L33
.L42:
	movl	(%rbx), %eax
	movl	%eax, (%rsi)
	movq	8(%rsp), %rax
	subq	%fs:40, %rax
	jne	.L57
	addq	$24, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	movq	%rbx, %rsi
	movq	%rbp, %rdi
	xorl	%eax, %eax
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	jmp	sink@PLT
.L41:
	.cfi_restore_state
	movl	(%rbx), %eax
	cmpl	%eax, (%rsi)
	jle	.L34
	movq	8(%rsp), %rax
	subq	%fs:40, %rax
	jne	.L57
	addq	$24, %rsp
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
.L40:
	.cfi_restore_state
	movq	%rsi, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movq	%rbx, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	movl	0(%rbp), %eax
	imull	(%rbx), %eax
	jmp	.L33
.L37:
	leaq	.LC0(%rip), %rdi
	call	fail@PLT
.L57:
	call	__stack_chk_fail@PLT
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
	pushq	%r12
	.cfi_def_cfa_offset 16
	.cfi_offset 12, -16
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset 6, -24
	pushq	%rbx
	.cfi_def_cfa_offset 32
	.cfi_offset 3, -32
	subq	$16, %rsp
	.cfi_def_cfa_offset 48
	movq	%fs:40, %rax
	movq	%rax, 8(%rsp)
	xorl	%eax, %eax
	testq	%rdi, %rdi
	je	.L62
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
	je	.L64
	imull	%eax, %ebp
	leal	0(%rbp,%r12), %eax
.L58:
	movq	8(%rsp), %rdx
	subq	%fs:40, %rdx
	jne	.L65
	addq	$16, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 32
	popq	%rbx
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%r12
	.cfi_def_cfa_offset 8
	ret
.L62:
	.cfi_restore_state
	movl	$-1, %eax
	jmp	.L58
.L65:
	call	__stack_chk_fail@PLT
.L64:
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
	je	.L67
	movaps	%xmm0, 80(%rsp)
	movaps	%xmm1, 96(%rsp)
	movaps	%xmm2, 112(%rsp)
	movaps	%xmm3, 128(%rsp)
	movaps	%xmm4, 144(%rsp)
	movaps	%xmm5, 160(%rsp)
	movaps	%xmm6, 176(%rsp)
	movaps	%xmm7, 192(%rsp)
.L67:
	movq	%fs:40, %rax
	movq	%rax, 24(%rsp)
	xorl	%eax, %eax
	leaq	240(%rsp), %rax
	xorl	%ebp, %ebp
	movl	$8, (%rsp)
	movq	%rax, 8(%rsp)
	leaq	32(%rsp), %rax
	movl	$48, 4(%rsp)
	movq	%rax, 16(%rsp)
	testl	%ebx, %ebx
	jne	.L73
	jmp	.L66
.L78:
	movl	%eax, %edx
	addl	$16, %eax
	addq	16(%rsp), %rdx
	movl	%eax, 4(%rsp)
	movl	(%rsp), %eax
	movsd	(%rdx), %xmm0
	cmpl	$47, %eax
	ja	.L71
.L79:
	movl	%eax, %edx
	addl	$8, %eax
	addq	16(%rsp), %rdx
	movl	%eax, (%rsp)
.L72:
	movl	(%rdx), %esi
	xorl	%edi, %edi
	movl	$1, %eax
	call	sink@PLT
	addl	%eax, %ebp
	subl	$1, %ebx
	je	.L66
.L73:
	movl	4(%rsp), %eax
	cmpl	$175, %eax
	jbe	.L78
	movq	8(%rsp), %rdx
	leaq	8(%rdx), %rax
	movsd	(%rdx), %xmm0
	movq	%rax, 8(%rsp)
	movl	(%rsp), %eax
	cmpl	$47, %eax
	jbe	.L79
.L71:
	movq	8(%rsp), %rdx
	leaq	8(%rdx), %rax
	movq	%rax, 8(%rsp)
	jmp	.L72
.L66:
	movq	24(%rsp), %rax
	subq	%fs:40, %rax
	jne	.L80
	addq	$216, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	movl	%ebp, %eax
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	ret
.L80:
	.cfi_restore_state
	call	__stack_chk_fail@PLT
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
	subq	$24, %rsp
	.cfi_def_cfa_offset 40
	movq	%fs:40, %rdi
	movq	%rdi, 16(%rsp)
	xorl	%edi, %edi
	movl	48(%rsp), %ebx
	leal	(%rdx,%rcx), %edi
	pushq	%rdi
	.cfi_def_cfa_offset 48
	leal	(%rax,%rsi), %edi
	pushq	%rdi
	.cfi_def_cfa_offset 56
	pushq	%rbx
	.cfi_def_cfa_offset 64
	movl	64(%rsp), %edi
	pushq	%rdi
	.cfi_def_cfa_offset 72
	xorl	%edi, %edi
	pushq	%r9
	.cfi_def_cfa_offset 80
	movl	%r8d, %r9d
	movl	%ecx, %r8d
	movl	%edx, %ecx
	movl	%esi, %edx
	movl	%eax, %esi
	xorl	%eax, %eax
	call	sink@PLT
	addq	$48, %rsp
	.cfi_def_cfa_offset 32
	addl	%ebx, %eax
	movq	8(%rsp), %rdx
	subq	%fs:40, %rdx
	jne	.L84
	addq	$16, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
.L84:
	.cfi_restore_state
	call	__stack_chk_fail@PLT
	.cfi_endproc
.LFE19:
	.size	many_arguments, .-many_arguments
tail:
.LFB20:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	movl	(%rdi), %esi
	movq	%fs:40, %rax
	movq	%rax, 8(%rsp)
	xorl	%eax, %eax
	testl	%esi, %esi
	je	.L86
	movq	8(%rsp), %rax
	subq	%fs:40, %rax
	jne	.L90
	movl	$1, %esi
	xorl	%eax, %eax
	addq	$24, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 8
	jmp	sink@PLT
.L86:
	.cfi_restore_state
	subq	$8, %rsp
	.cfi_def_cfa_offset 40
	movl	$3, %ecx
	movl	$2, %edx
	movl	$5, %r9d
	pushq	$6
	.cfi_def_cfa_offset 48
	movl	$4, %r8d
	movl	$1, %esi
	call	many_registers@PLT
	popq	%rdx
	.cfi_def_cfa_offset 40
	popq	%rcx
	.cfi_def_cfa_offset 32
	movq	8(%rsp), %rdx
	subq	%fs:40, %rdx
	jne	.L90
	addq	$24, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 8
	ret
.L90:
	.cfi_restore_state
	call	__stack_chk_fail@PLT
	.cfi_endproc
.LFE20:
	.size	tail, .-tail
forever:
.LFB21:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	movq	%rdi, %rbx
	subq	$16, %rsp
	.cfi_def_cfa_offset 32
	movl	(%rdi), %esi
	movq	%fs:40, %rax
	movq	%rax, 8(%rsp)
	xorl	%eax, %eax
.L92:
	movq	%rbx, %rdi
	xorl	%eax, %eax
	call	sink@PLT
	addl	(%rbx), %eax
	movl	%eax, (%rbx)
	movl	%eax, %esi
	jmp	.L92
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
	movq	%rdi, %rbx
	subq	$16, %rsp
	.cfi_def_cfa_offset 32
	movq	%fs:40, %rax
	movq	%rax, 8(%rsp)
	xorl	%eax, %eax
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
	subq	$16, %rsp
	.cfi_def_cfa_offset 48
	movq	%fs:40, %rax
	movq	%rax, 8(%rsp)
	xorl	%eax, %eax
	cmpl	$1, %ebx
	jle	.L106
	leal	-1(%rbx), %edi
	call	recursive.localalias
	leaq	4(%rbp), %rsi
	leal	-2(%rbx), %edi
	movl	%eax, %r12d
	call	recursive.localalias
	imull	0(%rbp,%rbx,4), %eax
	addl	%r12d, %eax
	movq	8(%rsp), %rdx
	subq	%fs:40, %rdx
	jne	.L105
	addq	$16, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 32
	popq	%rbx
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%r12
	.cfi_def_cfa_offset 8
	ret
.L106:
	.cfi_restore_state
	movq	8(%rsp), %rax
	subq	%fs:40, %rax
	jne	.L105
	addq	$16, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 32
	movq	%rsi, %rdi
	xorl	%eax, %eax
	popq	%rbx
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%r12
	.cfi_def_cfa_offset 8
	jmp	sink@PLT
.L105:
	.cfi_restore_state
	call	__stack_chk_fail@PLT
	.cfi_endproc
.LFE23:
	.size	recursive, .-recursive
	.set	recursive.localalias,recursive
