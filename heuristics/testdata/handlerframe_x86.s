# V8's handler of GetNamedProperty: it makes a frame, and its callee takes four words off the stack. At the jump to the
# next handler the stack is as at the start, whatever the way there.
	pushq %rbp                    # = rsp+8; sp = rsp+8
	movq %rsp, %rbp               # = rsp+16; sp = rsp+16
	pushq $0x22                   # = rbp+16
	subq $0x48, %rsp
	movq 0(%rbp), %r8             # = rbp+16
	movq %r15, -0x10(%rbp)
	movzbl (%r9,%r12), %eax
	cmpq %rax, 0x238(%r13)
	je done
	pushq %rax
	pushq %rcx
	pushq %rdx
	pushq %rbx
	call other                    # = rbp+16; caller = rbp+16
	movq -0x10(%rbp), %r15        # = rbp+16
done:
	movq (%r15,%rax,8), %rcx      # = rbp+16
	movq 0(%rbp), %rbp            # = rbp+16
	movq %r11, %r12               # = rsp+96
	addq $0x58, %rsp              # = rsp+96
	jmp *%rcx                     # = rsp+8
	.org 0x100
other:
