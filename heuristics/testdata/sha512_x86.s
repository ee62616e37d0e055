# OpenSSL's SHA-512 for AVX2 allocates stack in a loop and takes a copy of the saved stack pointer along, just below
# the stack pointer. How often the loop has run is not to be seen, but where the copy is.
	movq %rsp, %rax
	pushq %rbx
	pushq %rbp             # = rsp+16
	subq $0x520, %rsp
	andq $-2048, %rsp
	addq $0x480, %rsp
	movq %rax, 0x98(%rsp)  # = rax+8
	xorl %eax, %eax
	movq 0x98(%rsp), %rdi  # = [rsp+152]+8; sp = [rsp+152]+8
	leaq -0x80(%rsp), %rsp
	movq %rdi, -8(%rsp)
	xorl %edi, %edi
	nop                    # = [rsp-8]+8; sp = [rsp-8]+8
loop:
	leaq -0x80(%rsp), %rsp # = [rsp-8]+8
	pushq 0x78(%rsp)       # = [rsp+120]+8
	leaq 8(%rsp), %rsp     # = [rsp+0]+8
	decl %ecx              # = [rsp-8]+8; sp = [rsp-8]+8
	jne loop
	movq -8(%rsp), %rsi
	movq -16(%rsi), %rbp
	movq -8(%rsi), %rbx
	leaq (%rsi), %rsp
	ret                    # = rsp+8
