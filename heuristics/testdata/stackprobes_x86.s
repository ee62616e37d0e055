# A frame of several pages, which gcc -fstack-clash-protection allocates page by page, in a function that never returns.
	push	%rbx			# = rsp+8
	lea	-0x8000(%rsp), %r11	# = rsp+16
probe:	sub	$0x1000, %rsp
	orq	$0, (%rsp)
	cmp	%r11, %rsp
	jne	probe
	sub	$0x10, %rsp		# = rsp+32784
	mov	$1, %edi		# = rsp+32800; sp = rsp+32800
	call	start			# caller = rsp+32800
