/* SPDX-License-Identifier: Apache-2.0 */
#include "textflag.h"

// The offsets are those of threadCall (syscallthread_unsafe.go).
#define asked 0
#define done 4
#define number 8
#define args 16
#define result 64

#define SYS_clone 220
#define SYS_futex 98
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

// func cloneSyscallThread(flags uintptr, c *threadCall, stack uintptr) (tid int)
//
// The new thread uses registers only: it has neither a g nor a stack of the Go runtime.
TEXT ·cloneSyscallThread(SB), NOSPLIT|NOFRAME, $0-32
	MOVD flags+0(FP), R0
	MOVD c+8(FP), R20
	MOVD stack+16(FP), R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $SYS_clone, R8
	SVC
	CBZ  R0, child
	MOVD R0, tid+24(FP)
	RET

child:
	MOVW ZR, R21 // the calls that were made

wait:
	ADD   $asked, R20, R0
	LDARW (R0), R9
	CMPW  R9, R21
	BNE   serve
	MOVD  $FUTEX_WAIT_PRIVATE, R1
	MOVW  R21, R2
	MOVD  ZR, R3
	MOVD  $SYS_futex, R8
	SVC
	JMP   wait

serve:
	MOVW  R9, R21
	MOVD  (args+0)(R20), R0
	MOVD  (args+8)(R20), R1
	MOVD  (args+16)(R20), R2
	MOVD  (args+24)(R20), R3
	MOVD  (args+32)(R20), R4
	MOVD  (args+40)(R20), R5
	MOVD  number(R20), R8
	SVC
	MOVD  R0, result(R20)
	ADD   $done, R20, R0
	STLRW R21, (R0)
	MOVD  $FUTEX_WAKE_PRIVATE, R1
	MOVD  $1, R2
	MOVD  $SYS_futex, R8
	SVC
	JMP   wait
