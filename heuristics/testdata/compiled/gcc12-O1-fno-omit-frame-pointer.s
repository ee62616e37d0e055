# functions.c by gcc 12.2 -O1 -fno-omit-frame-pointer -fPIC, without alignment, which assemblers fill differently.
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
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	subq	$24, %rsp
	.cfi_offset 15, -24
	.cfi_offset 14, -32
	.cfi_offset 13, -40
	.cfi_offset 12, -48
	.cfi_offset 3, -56
	movl	%esi, -56(%rbp)
	movl	%edx, %ebx
	movl	%ecx, %r13d
	movl	%r8d, -52(%rbp)
	movl	%r9d, %r12d
	testl	%esi, %esi
	jle	.L5
	movq	%rdi, -64(%rbp)
	movl	$0, %r14d
	movl	$0, %r15d
.L4:
	movl	-52(%rbp), %ecx
	movl	%r13d, %edx
	movl	%ebx, %esi
	movq	-64(%rbp), %rdi
	movl	$0, %eax
	call	sink@PLT
	imull	%r12d, %eax
	addl	16(%rbp), %eax
	addl	%eax, %r15d
	xorl	%r15d, %ebx
	addl	%ebx, %r13d
	subl	%r13d, -52(%rbp)
	addl	%r14d, %r12d
	xorl	%r12d, 16(%rbp)
	addl	$1, %r14d
	addq	$4, -64(%rbp)
	cmpl	%r14d, -56(%rbp)
	jne	.L4
.L3:
	leal	(%rbx,%r15), %eax
	addl	%r13d, %eax
	movl	-52(%rbp), %edx
	addl	%edx, %eax
	addl	%r12d, %eax
	addl	16(%rbp), %eax
	addq	$24, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	.cfi_remember_state
	.cfi_def_cfa 7, 8
	ret
.L5:
	.cfi_restore_state
	movl	$0, %r15d
	jmp	.L3
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
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	.cfi_offset 14, -24
	.cfi_offset 13, -32
	.cfi_offset 12, -40
	.cfi_offset 3, -48
	movl	%edi, %r13d
	movslq	%edi, %r14
	leaq	23(%r14), %rax
	andq	$-16, %rax
	subq	%rax, %rsp
	leaq	15(%rsp), %r12
	andq	$-16, %r12
	movq	%r14, %rdx
	movl	$1, %esi
	movq	%r12, %rdi
	call	memset@PLT
	testl	%r13d, %r13d
	jle	.L9
	movl	$0, %ebx
.L11:
	movl	%ebx, %esi
	movq	%r12, %rdi
	movl	$0, %eax
	call	sink@PLT
	testl	%eax, %eax
	jne	.L8
	addl	$1, %ebx
	cmpl	%ebx, %r13d
	jne	.L11
.L9:
	movsbl	-1(%r12,%r14), %ebx
.L8:
	movl	%ebx, %eax
	leaq	-32(%rbp), %rsp
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
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r12
	pushq	%rbx
	subq	$70000, %rsp
	.cfi_offset 12, -24
	.cfi_offset 3, -32
	movl	%edi, %ebx
	leaq	-70016(%rbp), %r12
	movl	$70000, %edx
	movl	%edi, %esi
	movq	%r12, %rdi
	call	memset@PLT
	movq	%r12, %rdi
	movl	$0, %eax
	call	sink@PLT
	movl	%eax, %edx
	movslq	%ebx, %rbx
	movsbl	-70016(%rbp,%rbx), %eax
	addl	%edx, %eax
	addq	$70000, %rsp
	popq	%rbx
	popq	%r12
	popq	%rbp
	.cfi_def_cfa 7, 8
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
	movdqa	(%rdi), %xmm2
	movaps	%xmm2, 128(%rsp)
	movdqa	16(%rdi), %xmm3
	movaps	%xmm3, 144(%rsp)
	movdqa	32(%rdi), %xmm4
	movaps	%xmm4, 160(%rsp)
	movdqa	48(%rdi), %xmm5
	movaps	%xmm5, 176(%rsp)
	movdqa	64(%rdi), %xmm6
	movaps	%xmm6, 192(%rsp)
	movdqa	80(%rdi), %xmm7
	movaps	%xmm7, 208(%rsp)
	movdqa	96(%rdi), %xmm2
	movaps	%xmm2, 224(%rsp)
	movdqa	112(%rdi), %xmm3
	movaps	%xmm3, 240(%rsp)
	testl	%esi, %esi
	jle	.L17
	movq	%rdi, %rbx
	movl	%esi, %r13d
	movl	$0, %r12d
	leaq	128(%rsp), %r14
.L18:
	movl	%r12d, %eax
	andl	$3, %eax
	salq	$5, %rax
	movapd	144(%rsp,%rax), %xmm0
	addpd	16(%rbx), %xmm0
	movapd	128(%rsp,%rax), %xmm1
	addpd	(%rbx), %xmm1
	movaps	%xmm1, 128(%rsp,%rax)
	movaps	%xmm0, 144(%rsp,%rax)
	movl	%r12d, %esi
	movq	%r14, %rdi
	movl	$0, %eax
	call	sink@PLT
	addl	$1, %r12d
	addq	$32, %rbx
	cmpl	%r12d, %r13d
	jne	.L18
.L17:
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
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r12
	pushq	%rbx
	.cfi_offset 12, -24
	.cfi_offset 3, -32
	movq	%rsi, %r12
	movq	%rdx, %rbx
	cmpl	$8, %edi
	ja	.L22
	movl	%edi, %edi
	leaq	.L24(%rip), %rdx
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
	movl	$0, %eax
	call	sink@PLT
	addl	(%rbx), %eax
	jmp	.L21
.L31:
	movq	%rbx, %rdi
	movl	$0, %eax
	call	sink@PLT
	subl	(%r12), %eax
	jmp	.L21
.L30:
	movl	(%rbx), %eax
	movl	%eax, (%rsi)
	movq	%rbx, %rsi
	movq	%r12, %rdi
	movl	$0, %eax
	call	sink@PLT
	jmp	.L21
.L29:
	movl	(%rbx), %eax
	cmpl	%eax, (%rsi)
	jle	.L22
	movl	$1, %edx
	movq	%rbx, %rdi
	movl	$0, %eax
	call	sink@PLT
	jmp	.L21
.L28:
	movq	%rsi, %rdi
	movl	$0, %eax
	call	sink@PLT
	movq	%rbx, %rdi
	movl	$0, %eax
	call	sink@PLT
	movl	(%r12), %eax
	imull	(%rbx), %eax
	jmp	.L21
.L34:
	addl	$1, (%rbx)
.L27:
	movq	%r12, %rdi
	movl	$0, %eax
	call	sink@PLT
	testl	%eax, %eax
	jne	.L34
.L22:
	movl	$3, %edx
	movq	%rbx, %rsi
	movq	%r12, %rdi
	movl	$0, %eax
	call	sink@PLT
	addl	$1, %eax
.L21:
	popq	%rbx
	popq	%r12
	popq	%rbp
	.cfi_remember_state
	.cfi_def_cfa 7, 8
	ret
.L26:
	.cfi_restore_state
	movl	(%rbx), %esi
	movl	(%r12), %edi
	call	leaf@PLT
	jmp	.L21
.L25:
	leaq	.LC0(%rip), %rdi
	call	fail@PLT
.L23:
	movl	$8, %esi
	movq	%r12, %rdi
	movl	$0, %eax
	call	sink@PLT
	jmp	.L21
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
	je	.L40
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	subq	$8, %rsp
	.cfi_offset 13, -24
	.cfi_offset 12, -32
	.cfi_offset 3, -40
	movq	%rdi, %rbx
	movl	$0, %eax
	call	sink@PLT
	movl	%eax, %r13d
	leaq	4(%rbx), %rdi
	movl	$0, %eax
	call	sink@PLT
	movl	%eax, %r12d
	leaq	8(%rbx), %rdi
	movl	$0, %eax
	call	sink@PLT
	cmpl	%r12d, %r13d
	je	.L45
	imull	%eax, %r12d
	leal	(%r12,%r13), %eax
	addq	$8, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%rbp
	.cfi_remember_state
	.cfi_def_cfa 7, 8
	ret
.L45:
	.cfi_restore_state
	leaq	.LC1(%rip), %rdi
	call	fail@PLT
.L40:
	.cfi_def_cfa 7, 8
	.cfi_restore 3
	.cfi_restore 6
	.cfi_restore 12
	.cfi_restore 13
	movl	$-1, %eax
	ret
	.cfi_endproc
.LFE17:
	.size	early, .-early
arguments:
.LFB18:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r12
	pushq	%rbx
	subq	$208, %rsp
	.cfi_offset 12, -24
	.cfi_offset 3, -32
	movl	%edi, %ebx
	movq	%rsi, -184(%rbp)
	movq	%rdx, -176(%rbp)
	movq	%rcx, -168(%rbp)
	movq	%r8, -160(%rbp)
	movq	%r9, -152(%rbp)
	testb	%al, %al
	je	.L55
	movaps	%xmm0, -144(%rbp)
	movaps	%xmm1, -128(%rbp)
	movaps	%xmm2, -112(%rbp)
	movaps	%xmm3, -96(%rbp)
	movaps	%xmm4, -80(%rbp)
	movaps	%xmm5, -64(%rbp)
	movaps	%xmm6, -48(%rbp)
	movaps	%xmm7, -32(%rbp)
.L55:
	movl	$8, -216(%rbp)
	movl	$48, -212(%rbp)
	leaq	16(%rbp), %rax
	movq	%rax, -208(%rbp)
	leaq	-192(%rbp), %rax
	movq	%rax, -200(%rbp)
	testl	%ebx, %ebx
	je	.L54
	movl	$0, %r12d
	jmp	.L53
.L49:
	movq	-208(%rbp), %rdx
	leaq	8(%rdx), %rax
	movq	%rax, -208(%rbp)
	jmp	.L50
.L51:
	movq	-208(%rbp), %rdx
	leaq	8(%rdx), %rax
	movq	%rax, -208(%rbp)
.L52:
	movl	(%rdx), %esi
	movl	$0, %edi
	movl	$1, %eax
	call	sink@PLT
	addl	%eax, %r12d
	subl	$1, %ebx
	je	.L46
.L53:
	movl	-212(%rbp), %eax
	cmpl	$175, %eax
	ja	.L49
	movl	%eax, %edx
	addq	-200(%rbp), %rdx
	addl	$16, %eax
	movl	%eax, -212(%rbp)
.L50:
	movsd	(%rdx), %xmm0
	movl	-216(%rbp), %eax
	cmpl	$47, %eax
	ja	.L51
	movl	%eax, %edx
	addq	-200(%rbp), %rdx
	addl	$8, %eax
	movl	%eax, -216(%rbp)
	jmp	.L52
.L54:
	movl	%ebx, %r12d
.L46:
	movl	%r12d, %eax
	addq	$208, %rsp
	popq	%rbx
	popq	%r12
	popq	%rbp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE18:
	.size	arguments, .-arguments
many_arguments:
.LFB19:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rbx
	subq	$16, %rsp
	.cfi_offset 3, -24
	movl	%edi, %eax
	movl	24(%rbp), %ebx
	leal	(%rdx,%rcx), %edi
	pushq	%rdi
	leal	(%rax,%rsi), %edi
	pushq	%rdi
	pushq	%rbx
	movl	16(%rbp), %edi
	pushq	%rdi
	pushq	%r9
	movl	%r8d, %r9d
	movl	%ecx, %r8d
	movl	%edx, %ecx
	movl	%esi, %edx
	movl	%eax, %esi
	movl	$0, %edi
	movl	$0, %eax
	call	sink@PLT
	addl	%ebx, %eax
	movq	-8(%rbp), %rbx
	leave
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE19:
	.size	many_arguments, .-many_arguments
tail:
.LFB20:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	cmpl	$0, (%rdi)
	je	.L61
	movl	$1, %esi
	movl	$0, %eax
	call	sink@PLT
.L60:
	leave
	.cfi_remember_state
	.cfi_def_cfa 7, 8
	ret
.L61:
	.cfi_restore_state
	subq	$8, %rsp
	pushq	$6
	movl	$5, %r9d
	movl	$4, %r8d
	movl	$3, %ecx
	movl	$2, %edx
	movl	$1, %esi
	call	many_registers@PLT
	addq	$16, %rsp
	jmp	.L60
	.cfi_endproc
.LFE20:
	.size	tail, .-tail
forever:
.LFB21:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rbx
	subq	$8, %rsp
	.cfi_offset 3, -24
	movq	%rdi, %rbx
.L65:
	movl	(%rbx), %esi
	movq	%rbx, %rdi
	movl	$0, %eax
	call	sink@PLT
	addl	%eax, (%rbx)
	jmp	.L65
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
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rbx
	subq	$8, %rsp
	.cfi_offset 3, -24
	movq	%rdi, %rbx
	movl	$0, %eax
	call	sink@PLT
	movl	$1, %esi
	movq	%rbx, %rdi
	movl	$0, %eax
	call	sink@PLT
	testl	%eax, %eax
	leaq	.LC3(%rip), %rdi
	leaq	.LC2(%rip), %rax
	cmovne	%rax, %rdi
	call	fail@PLT
	.cfi_endproc
.LFE22:
	.size	never, .-never
recursive:
.LFB23:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	subq	$8, %rsp
	.cfi_offset 13, -24
	.cfi_offset 12, -32
	.cfi_offset 3, -40
	movq	%rsi, %r12
	cmpl	$1, %edi
	jle	.L75
	movl	%edi, %ebx
	leal	-1(%rdi), %edi
	call	recursive.localalias
	movl	%eax, %r13d
	leaq	4(%r12), %rsi
	leal	-2(%rbx), %edi
	call	recursive.localalias
	movslq	%ebx, %rbx
	imull	(%r12,%rbx,4), %eax
	addl	%r13d, %eax
.L71:
	addq	$8, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%rbp
	.cfi_remember_state
	.cfi_def_cfa 7, 8
	ret
.L75:
	.cfi_restore_state
	movq	%rsi, %rdi
	movl	$0, %eax
	call	sink@PLT
	jmp	.L71
	.cfi_endproc
.LFE23:
	.size	recursive, .-recursive
	.set	recursive.localalias,recursive
