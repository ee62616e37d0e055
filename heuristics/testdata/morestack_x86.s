# gcc's __morestack calls the function that needs more stack on another one, which lies anywhere.
	pushq %rbp
	movq %rsp, %rbp        # stays
	pushq %r10
	pushq %rax
	subq $8, %rsp
	call *%r11            # caller stays
	movq -8(%rbp), %r10
	movq %rax, %rsp        # stays
	subq %r10, %rax        # changes
	call *%r11             # caller changes
	movq 8(%rbp), %r10
	incq %r10
	call *%r10             # caller changes
	pushq %rax
	pushq %rdx             # changes
	call *%r11             # caller changes
	popq %rdx
	popq %rax              # changes
	movq %rbp, %rsp        # changes
	popq %rbp              # stays
	ret                    # stays
