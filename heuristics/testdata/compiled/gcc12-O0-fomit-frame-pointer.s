# functions.c by gcc 12.2 -O0 -fomit-frame-pointer -fPIC, without alignment, which assemblers fill differently.
	.text
leaf:
.LFB6:
	.cfi_startproc
	movl	%edi, -4(%rsp)
	movl	%esi, -8(%rsp)
	movl	-4(%rsp), %eax
	imull	-8(%rsp), %eax
	addl	$3, %eax
	ret
	.cfi_endproc
.LFE6:
	.size	leaf, .-leaf
many_registers:
.LFB7:
	.cfi_startproc
	subq	$56, %rsp
	.cfi_def_cfa_offset 64
	movq	%rdi, 24(%rsp)
	movl	%esi, 20(%rsp)
	movl	%edx, 16(%rsp)
	movl	%ecx, 12(%rsp)
	movl	%r8d, 8(%rsp)
	movl	%r9d, 4(%rsp)
	movl	$0, 44(%rsp)
	movl	$0, 40(%rsp)
	jmp	.L4
.L5:
	movl	40(%rsp), %eax
	cltq
	leaq	0(,%rax,4), %rdx
	movq	24(%rsp), %rax
	leaq	(%rdx,%rax), %rdi
	movl	8(%rsp), %ecx
	movl	12(%rsp), %edx
	movl	16(%rsp), %eax
	movl	%eax, %esi
	movl	$0, %eax
	call	sink@PLT
	imull	4(%rsp), %eax
	movl	%eax, %edx
	movl	64(%rsp), %eax
	addl	%edx, %eax
	addl	%eax, 44(%rsp)
	movl	44(%rsp), %eax
	xorl	%eax, 16(%rsp)
	movl	16(%rsp), %eax
	addl	%eax, 12(%rsp)
	movl	12(%rsp), %eax
	subl	%eax, 8(%rsp)
	movl	40(%rsp), %eax
	addl	%eax, 4(%rsp)
	movl	4(%rsp), %eax
	xorl	%eax, 64(%rsp)
	addl	$1, 40(%rsp)
.L4:
	movl	40(%rsp), %eax
	cmpl	20(%rsp), %eax
	jl	.L5
	movl	44(%rsp), %edx
	movl	16(%rsp), %eax
	addl	%eax, %edx
	movl	12(%rsp), %eax
	addl	%eax, %edx
	movl	8(%rsp), %eax
	addl	%eax, %edx
	movl	4(%rsp), %eax
	addl	%eax, %edx
	movl	64(%rsp), %eax
	addl	%edx, %eax
	addq	$56, %rsp
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
	subq	$32, %rsp
	movl	%edi, -20(%rbp)
	movl	-20(%rbp), %eax
	cltq
	leaq	8(%rax), %rdx
	movl	$16, %eax
	subq	$1, %rax
	addq	%rdx, %rax
	movl	$16, %ecx
	movl	$0, %edx
	divq	%rcx
	imulq	$16, %rax, %rax
	subq	%rax, %rsp
	movq	%rsp, %rax
	addq	$15, %rax
	shrq	$4, %rax
	salq	$4, %rax
	movq	%rax, -16(%rbp)
	movl	-20(%rbp), %eax
	movslq	%eax, %rdx
	movq	-16(%rbp), %rax
	movl	$1, %esi
	movq	%rax, %rdi
	call	memset@PLT
	movl	$0, -4(%rbp)
	jmp	.L8
.L11:
	movl	-4(%rbp), %edx
	movq	-16(%rbp), %rax
	movl	%edx, %esi
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	testl	%eax, %eax
	je	.L9
	movl	-4(%rbp), %eax
	jmp	.L10
.L9:
	addl	$1, -4(%rbp)
.L8:
	movl	-4(%rbp), %eax
	cmpl	-20(%rbp), %eax
	jl	.L11
	movl	-20(%rbp), %eax
	cltq
	leaq	-1(%rax), %rdx
	movq	-16(%rbp), %rax
	addq	%rdx, %rax
	movzbl	(%rax), %eax
	movsbl	%al, %eax
.L10:
	leave
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE8:
	.size	variable, .-variable
large:
.LFB9:
	.cfi_startproc
	subq	$70024, %rsp
	.cfi_def_cfa_offset 70032
	movl	%edi, 12(%rsp)
	movl	12(%rsp), %ecx
	leaq	16(%rsp), %rax
	movl	$70000, %edx
	movl	%ecx, %esi
	movq	%rax, %rdi
	call	memset@PLT
	leaq	16(%rsp), %rax
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	movl	12(%rsp), %edx
	movslq	%edx, %rdx
	movzbl	16(%rsp,%rdx), %edx
	movsbl	%dl, %edx
	addl	%edx, %eax
	addq	$70024, %rsp
	.cfi_def_cfa_offset 8
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
	andq	$-32, %rsp
	subq	$448, %rsp
	movq	%rdi, 56(%rsp)
	movl	%esi, 52(%rsp)
	movq	56(%rsp), %rcx
	movq	(%rcx), %rax
	movq	8(%rcx), %rdx
	movq	%rax, 416(%rsp)
	movq	%rdx, 424(%rsp)
	movq	16(%rcx), %rax
	movq	24(%rcx), %rdx
	movq	%rax, 432(%rsp)
	movq	%rdx, 440(%rsp)
	movq	416(%rsp), %rax
	movq	424(%rsp), %rdx
	movq	%rax, 64(%rsp)
	movq	%rdx, 72(%rsp)
	movq	432(%rsp), %rax
	movq	440(%rsp), %rdx
	movq	%rax, 80(%rsp)
	movq	%rdx, 88(%rsp)
	movq	56(%rsp), %rax
	leaq	32(%rax), %rcx
	movq	(%rcx), %rax
	movq	8(%rcx), %rdx
	movq	%rax, 384(%rsp)
	movq	%rdx, 392(%rsp)
	movq	16(%rcx), %rax
	movq	24(%rcx), %rdx
	movq	%rax, 400(%rsp)
	movq	%rdx, 408(%rsp)
	movq	384(%rsp), %rax
	movq	392(%rsp), %rdx
	movq	%rax, 96(%rsp)
	movq	%rdx, 104(%rsp)
	movq	400(%rsp), %rax
	movq	408(%rsp), %rdx
	movq	%rax, 112(%rsp)
	movq	%rdx, 120(%rsp)
	movq	56(%rsp), %rax
	leaq	64(%rax), %rcx
	movq	(%rcx), %rax
	movq	8(%rcx), %rdx
	movq	%rax, 352(%rsp)
	movq	%rdx, 360(%rsp)
	movq	16(%rcx), %rax
	movq	24(%rcx), %rdx
	movq	%rax, 368(%rsp)
	movq	%rdx, 376(%rsp)
	movq	352(%rsp), %rax
	movq	360(%rsp), %rdx
	movq	%rax, 128(%rsp)
	movq	%rdx, 136(%rsp)
	movq	368(%rsp), %rax
	movq	376(%rsp), %rdx
	movq	%rax, 144(%rsp)
	movq	%rdx, 152(%rsp)
	movq	56(%rsp), %rax
	leaq	96(%rax), %rcx
	movq	(%rcx), %rax
	movq	8(%rcx), %rdx
	movq	%rax, 320(%rsp)
	movq	%rdx, 328(%rsp)
	movq	16(%rcx), %rax
	movq	24(%rcx), %rdx
	movq	%rax, 336(%rsp)
	movq	%rdx, 344(%rsp)
	movq	320(%rsp), %rax
	movq	328(%rsp), %rdx
	movq	%rax, 160(%rsp)
	movq	%rdx, 168(%rsp)
	movq	336(%rsp), %rax
	movq	344(%rsp), %rdx
	movq	%rax, 176(%rsp)
	movq	%rdx, 184(%rsp)
	movl	$0, 220(%rsp)
	jmp	.L15
.L16:
	movl	220(%rsp), %eax
	andl	$3, %eax
	cltq
	salq	$5, %rax
	leaq	448(%rax), %rax
	addq	%rsp, %rax
	leaq	-384(%rax), %rcx
	movq	(%rcx), %rax
	movq	8(%rcx), %rdx
	movq	%rax, 288(%rsp)
	movq	%rdx, 296(%rsp)
	movq	16(%rcx), %rax
	movq	24(%rcx), %rdx
	movq	%rax, 304(%rsp)
	movq	%rdx, 312(%rsp)
	movl	220(%rsp), %eax
	cltq
	salq	$5, %rax
	movq	%rax, %rdx
	movq	56(%rsp), %rax
	leaq	(%rdx,%rax), %rcx
	movq	(%rcx), %rax
	movq	8(%rcx), %rdx
	movq	%rax, 256(%rsp)
	movq	%rdx, 264(%rsp)
	movq	16(%rcx), %rax
	movq	24(%rcx), %rdx
	movq	%rax, 272(%rsp)
	movq	%rdx, 280(%rsp)
	movl	220(%rsp), %eax
	andl	$3, %eax
	movl	%eax, %ecx
	movapd	288(%rsp), %xmm1
	movapd	256(%rsp), %xmm0
	addpd	%xmm0, %xmm1
	movapd	304(%rsp), %xmm2
	movapd	272(%rsp), %xmm0
	addpd	%xmm2, %xmm0
	movaps	%xmm1, 16(%rsp)
	movaps	%xmm0, 32(%rsp)
	movq	16(%rsp), %rax
	movq	24(%rsp), %rdx
	movq	%rax, 224(%rsp)
	movq	%rdx, 232(%rsp)
	movq	32(%rsp), %rax
	movq	40(%rsp), %rdx
	movq	%rax, 240(%rsp)
	movq	%rdx, 248(%rsp)
	movslq	%ecx, %rax
	salq	$5, %rax
	leaq	448(%rax), %rax
	addq	%rsp, %rax
	leaq	-384(%rax), %rcx
	movq	224(%rsp), %rax
	movq	232(%rsp), %rdx
	movq	%rax, (%rcx)
	movq	%rdx, 8(%rcx)
	movq	240(%rsp), %rax
	movq	248(%rsp), %rdx
	movq	%rax, 16(%rcx)
	movq	%rdx, 24(%rcx)
	movl	220(%rsp), %edx
	leaq	64(%rsp), %rax
	movl	%edx, %esi
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	addl	$1, 220(%rsp)
.L15:
	movl	220(%rsp), %eax
	cmpl	52(%rsp), %eax
	jl	.L16
	movsd	64(%rsp), %xmm1
	movsd	104(%rsp), %xmm0
	addsd	%xmm0, %xmm1
	movsd	144(%rsp), %xmm0
	addsd	%xmm0, %xmm1
	movsd	184(%rsp), %xmm0
	addsd	%xmm1, %xmm0
	movq	%xmm0, %rax
	movq	%rax, %xmm0
	leave
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE10:
	.size	aligned, .-aligned
	.section	.rodata
.LC0:
	.string	"seven"
	.text
table:
.LFB11:
	.cfi_startproc
	subq	$40, %rsp
	.cfi_def_cfa_offset 48
	movl	%edi, 28(%rsp)
	movq	%rsi, 16(%rsp)
	movq	%rdx, 8(%rsp)
	cmpl	$8, 28(%rsp)
	ja	.L19
	movl	28(%rsp), %eax
	leaq	0(,%rax,4), %rdx
	leaq	.L21(%rip), %rax
	movl	(%rdx,%rax), %eax
	cltq
	leaq	.L21(%rip), %rdx
	addq	%rdx, %rax
	jmp	*%rax
	.section	.rodata
	.align 4
	.align 4
.L21:
	.long	.L29-.L21
	.long	.L28-.L21
	.long	.L27-.L21
	.long	.L26-.L21
	.long	.L25-.L21
	.long	.L32-.L21
	.long	.L23-.L21
	.long	.L22-.L21
	.long	.L20-.L21
	.text
.L29:
	movq	16(%rsp), %rax
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	movq	8(%rsp), %rdx
	movl	(%rdx), %edx
	addl	%edx, %eax
	jmp	.L30
.L28:
	movq	8(%rsp), %rax
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	movq	16(%rsp), %rdx
	movl	(%rdx), %edx
	subl	%edx, %eax
	jmp	.L30
.L27:
	movq	8(%rsp), %rax
	movl	(%rax), %edx
	movq	16(%rsp), %rax
	movl	%edx, (%rax)
	movq	8(%rsp), %rdx
	movq	16(%rsp), %rax
	movq	%rdx, %rsi
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	jmp	.L30
.L26:
	movq	16(%rsp), %rax
	movl	(%rax), %edx
	movq	8(%rsp), %rax
	movl	(%rax), %eax
	cmpl	%eax, %edx
	jle	.L34
	movq	16(%rsp), %rcx
	movq	8(%rsp), %rax
	movl	$1, %edx
	movq	%rcx, %rsi
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	jmp	.L30
.L25:
	movq	16(%rsp), %rax
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	movq	8(%rsp), %rax
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	movq	16(%rsp), %rax
	movl	(%rax), %edx
	movq	8(%rsp), %rax
	movl	(%rax), %eax
	imull	%edx, %eax
	jmp	.L30
.L33:
	movq	8(%rsp), %rax
	movl	(%rax), %eax
	leal	1(%rax), %edx
	movq	8(%rsp), %rax
	movl	%edx, (%rax)
.L32:
	movq	16(%rsp), %rax
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	testl	%eax, %eax
	jne	.L33
	jmp	.L19
.L23:
	movq	8(%rsp), %rax
	movl	(%rax), %edx
	movq	16(%rsp), %rax
	movl	(%rax), %eax
	movl	%edx, %esi
	movl	%eax, %edi
	call	leaf@PLT
	jmp	.L30
.L22:
	leaq	.LC0(%rip), %rax
	movq	%rax, %rdi
	call	fail@PLT
.L20:
	movq	16(%rsp), %rax
	movl	$8, %esi
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	jmp	.L30
.L34:
	nop
.L19:
	movq	8(%rsp), %rcx
	movq	16(%rsp), %rax
	movl	$3, %edx
	movq	%rcx, %rsi
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	addl	$1, %eax
.L30:
	addq	$40, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE11:
	.size	table, .-table
	.section	.rodata
.LC1:
	.string	"same"
	.text
early:
.LFB12:
	.cfi_startproc
	subq	$40, %rsp
	.cfi_def_cfa_offset 48
	movq	%rdi, 8(%rsp)
	cmpq	$0, 8(%rsp)
	jne	.L36
	movl	$-1, %eax
	jmp	.L37
.L36:
	movq	8(%rsp), %rax
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	movl	%eax, 28(%rsp)
	movq	8(%rsp), %rax
	addq	$4, %rax
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	movl	%eax, 24(%rsp)
	movq	8(%rsp), %rax
	addq	$8, %rax
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	movl	%eax, 20(%rsp)
	movl	28(%rsp), %eax
	cmpl	24(%rsp), %eax
	jne	.L38
	leaq	.LC1(%rip), %rax
	movq	%rax, %rdi
	call	fail@PLT
.L38:
	movl	24(%rsp), %eax
	imull	20(%rsp), %eax
	movl	%eax, %edx
	movl	28(%rsp), %eax
	addl	%edx, %eax
.L37:
	addq	$40, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE12:
	.size	early, .-early
arguments:
.LFB13:
	.cfi_startproc
	subq	$232, %rsp
	.cfi_def_cfa_offset 240
	movl	%edi, 12(%rsp)
	movq	%rsi, 56(%rsp)
	movq	%rdx, 64(%rsp)
	movq	%rcx, 72(%rsp)
	movq	%r8, 80(%rsp)
	movq	%r9, 88(%rsp)
	testb	%al, %al
	je	.L48
	movaps	%xmm0, 96(%rsp)
	movaps	%xmm1, 112(%rsp)
	movaps	%xmm2, 128(%rsp)
	movaps	%xmm3, 144(%rsp)
	movaps	%xmm4, 160(%rsp)
	movaps	%xmm5, 176(%rsp)
	movaps	%xmm6, 192(%rsp)
	movaps	%xmm7, 208(%rsp)
.L48:
	movl	$0, 44(%rsp)
	movl	$8, 16(%rsp)
	movl	$48, 20(%rsp)
	leaq	240(%rsp), %rax
	movq	%rax, 24(%rsp)
	leaq	48(%rsp), %rax
	movq	%rax, 32(%rsp)
	jmp	.L41
.L46:
	movl	20(%rsp), %eax
	cmpl	$175, %eax
	ja	.L42
	movq	32(%rsp), %rax
	movl	20(%rsp), %edx
	movl	%edx, %edx
	addq	%rdx, %rax
	movl	20(%rsp), %edx
	addl	$16, %edx
	movl	%edx, 20(%rsp)
	jmp	.L43
.L42:
	movq	24(%rsp), %rax
	leaq	8(%rax), %rdx
	movq	%rdx, 24(%rsp)
.L43:
	movq	(%rax), %rdx
	movl	16(%rsp), %eax
	cmpl	$47, %eax
	ja	.L44
	movq	32(%rsp), %rax
	movl	16(%rsp), %ecx
	movl	%ecx, %ecx
	addq	%rcx, %rax
	movl	16(%rsp), %ecx
	addl	$8, %ecx
	movl	%ecx, 16(%rsp)
	jmp	.L45
.L44:
	movq	24(%rsp), %rax
	leaq	8(%rax), %rcx
	movq	%rcx, 24(%rsp)
.L45:
	movl	(%rax), %eax
	movq	%rdx, %xmm0
	movl	%eax, %esi
	movl	$0, %edi
	movl	$1, %eax
	call	sink@PLT
	addl	%eax, 44(%rsp)
.L41:
	movl	12(%rsp), %eax
	leal	-1(%rax), %edx
	movl	%edx, 12(%rsp)
	testl	%eax, %eax
	jne	.L46
	movl	44(%rsp), %eax
	addq	$232, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE13:
	.size	arguments, .-arguments
many_arguments:
.LFB14:
	.cfi_startproc
	subq	$40, %rsp
	.cfi_def_cfa_offset 48
	movl	%edi, 28(%rsp)
	movl	%esi, 24(%rsp)
	movl	%edx, 20(%rsp)
	movl	%ecx, 16(%rsp)
	movl	%r8d, 12(%rsp)
	movl	%r9d, 8(%rsp)
	movl	20(%rsp), %edx
	movl	16(%rsp), %eax
	leal	(%rdx,%rax), %edi
	movl	28(%rsp), %edx
	movl	24(%rsp), %eax
	leal	(%rdx,%rax), %esi
	movl	12(%rsp), %r9d
	movl	16(%rsp), %r8d
	movl	20(%rsp), %ecx
	movl	24(%rsp), %edx
	movl	28(%rsp), %eax
	subq	$8, %rsp
	.cfi_def_cfa_offset 56
	pushq	%rdi
	.cfi_def_cfa_offset 64
	pushq	%rsi
	.cfi_def_cfa_offset 72
	movl	80(%rsp), %esi
	pushq	%rsi
	.cfi_def_cfa_offset 80
	movl	80(%rsp), %esi
	pushq	%rsi
	.cfi_def_cfa_offset 88
	movl	48(%rsp), %esi
	pushq	%rsi
	.cfi_def_cfa_offset 96
	movl	%eax, %esi
	movl	$0, %edi
	movl	$0, %eax
	call	sink@PLT
	addq	$48, %rsp
	.cfi_def_cfa_offset 48
	movl	56(%rsp), %edx
	addl	%edx, %eax
	addq	$40, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE14:
	.size	many_arguments, .-many_arguments
tail:
.LFB15:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	movq	%rdi, 8(%rsp)
	movq	8(%rsp), %rax
	movl	(%rax), %eax
	testl	%eax, %eax
	je	.L52
	movq	8(%rsp), %rax
	movl	$1, %esi
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	jmp	.L54
.L52:
	movq	8(%rsp), %rax
	subq	$8, %rsp
	.cfi_def_cfa_offset 40
	pushq	$6
	.cfi_def_cfa_offset 48
	movl	$5, %r9d
	movl	$4, %r8d
	movl	$3, %ecx
	movl	$2, %edx
	movl	$1, %esi
	movq	%rax, %rdi
	call	many_registers@PLT
	addq	$16, %rsp
	.cfi_def_cfa_offset 32
.L54:
	addq	$24, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE15:
	.size	tail, .-tail
forever:
.LFB16:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_def_cfa_offset 32
	movq	%rdi, 8(%rsp)
.L56:
	movq	8(%rsp), %rax
	movl	(%rax), %edx
	movq	8(%rsp), %rax
	movl	%edx, %esi
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	movq	8(%rsp), %rdx
	movl	(%rdx), %edx
	addl	%eax, %edx
	movq	8(%rsp), %rax
	movl	%edx, (%rax)
	jmp	.L56
	.cfi_endproc
.LFE16:
	.size	forever, .-forever
	.section	.rodata
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
	movq	%rdi, 8(%rsp)
	movq	8(%rsp), %rax
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	movq	8(%rsp), %rax
	movl	$1, %esi
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	testl	%eax, %eax
	je	.L58
	leaq	.LC2(%rip), %rax
	jmp	.L59
.L58:
	leaq	.LC3(%rip), %rax
.L59:
	movq	%rax, %rdi
	call	fail@PLT
	.cfi_endproc
.LFE17:
	.size	never, .-never
recursive:
.LFB18:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	subq	$16, %rsp
	.cfi_def_cfa_offset 32
	movl	%edi, 12(%rsp)
	movq	%rsi, (%rsp)
	cmpl	$1, 12(%rsp)
	jg	.L61
	movq	(%rsp), %rax
	movq	%rax, %rdi
	movl	$0, %eax
	call	sink@PLT
	jmp	.L63
.L61:
	movl	12(%rsp), %eax
	leal	-1(%rax), %edx
	movq	(%rsp), %rax
	movq	%rax, %rsi
	movl	%edx, %edi
	call	recursive.localalias
	movl	%eax, %ebx
	movq	(%rsp), %rax
	leaq	4(%rax), %rdx
	movl	12(%rsp), %eax
	subl	$2, %eax
	movq	%rdx, %rsi
	movl	%eax, %edi
	call	recursive.localalias
	movl	12(%rsp), %edx
	movslq	%edx, %rdx
	leaq	0(,%rdx,4), %rcx
	movq	(%rsp), %rdx
	addq	%rcx, %rdx
	movl	(%rdx), %edx
	imull	%edx, %eax
	addl	%ebx, %eax
.L63:
	addq	$16, %rsp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE18:
	.size	recursive, .-recursive
	.set	recursive.localalias,recursive
