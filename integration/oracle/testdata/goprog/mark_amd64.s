#include "textflag.h"

TEXT ·mark(SB), NOSPLIT, $0-8
	MOVQ name+0(FP), AX
	MOVQ $0x656c6361726f, CX
	BYTE $0xcc
	RET
