//go:build !openblas

#include "textflag.h"

// func anyZero(x *float64, stride, rows, n int) bool
TEXT ·anyZero(SB), NOSPLIT, $0-33
	MOVQ x+0(FP), DI
	MOVQ stride+8(FP), R9
	SHLQ $3, R9
	MOVQ rows+16(FP), R10
	MOVQ n+24(FP), R11
	VXORPD Y15, Y15, Y15
row:
	MOVQ DI, SI
	MOVQ R11, CX
	SUBQ $4, CX
	JLT rest
four:
	VCMPPD $0, (SI), Y15, Y0
	VPTEST Y0, Y0
	JNZ found
	ADDQ $32, SI
	SUBQ $4, CX
	JGE four
rest:
	ADDQ $4, CX
	JZ next
one:
	MOVQ (SI), DX
	SHLQ $1, DX
	JZ found
	ADDQ $8, SI
	DECQ CX
	JNZ one
next:
	ADDQ R9, DI
	DECQ R10
	JNZ row
	MOVB $0, ret+32(FP)
	VZEROUPPER
	RET
found:
	MOVB $1, ret+32(FP)
	VZEROUPPER
	RET
