#include "textflag.h"

TEXT ·mark(SB), NOSPLIT, $0-8
	MOVD name+0(FP), R0
	MOVD $0x656c6361726f, R1
	BRK $0
	RET
