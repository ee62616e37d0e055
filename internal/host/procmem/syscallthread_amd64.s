/* SPDX-License-Identifier: Apache-2.0 */
#include "textflag.h"

// The offsets are those of threadCall (syscallthread_unsafe.go).
#define asked 0
#define done 4
#define number 8
#define args 16
#define result 64

#define SYS_clone 56
#define SYS_futex 202
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

// func cloneSyscallThread(flags uintptr, c *threadCall, stack uintptr) (tid int)
//
// The new thread uses registers only: it has neither a g nor a stack of the Go runtime.
TEXT ·cloneSyscallThread(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ flags+0(FP), DI
	MOVQ c+8(FP), R12
	MOVQ stack+16(FP), SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	MOVQ $SYS_clone, AX
	SYSCALL
	TESTQ AX, AX
	JEQ  child
	MOVQ AX, tid+24(FP)
	RET

child:
	XORL R13, R13 // the calls that were made

wait:
	MOVL asked(R12), AX
	CMPL AX, R13
	JNE  serve
	LEAQ asked(R12), DI
	MOVQ $FUTEX_WAIT_PRIVATE, SI
	MOVL R13, DX
	XORL R10, R10
	MOVQ $SYS_futex, AX
	SYSCALL
	JMP  wait

serve:
	MOVL AX, R13
	MOVQ args+0(R12), DI
	MOVQ args+8(R12), SI
	MOVQ args+16(R12), DX
	MOVQ args+24(R12), R10
	MOVQ args+32(R12), R8
	MOVQ args+40(R12), R9
	MOVQ number(R12), AX
	SYSCALL
	MOVQ AX, result(R12)
	MOVL R13, done(R12)
	LEAQ done(R12), DI
	MOVQ $FUTEX_WAKE_PRIVATE, SI
	MOVQ $1, DX
	MOVQ $SYS_futex, AX
	SYSCALL
	JMP  wait
