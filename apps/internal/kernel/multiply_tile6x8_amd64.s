//go:build !openblas

#include "textflag.h"

// tile6x8 adds a product to a tile of C; multiply_amd64.go has the contract. The tile, 6 rows of 2 vectors, stays in registers:
//
//	Y0-Y11   the tile, row after row             Y12 Y13  a row of B
//	Y14 Y15  products; before, Y15 is an element of A, in all elements
//
//	SI DI R8-R11   ends of the six rows of A, or of C; a row that the tile does not have is its last one
//	CX             elements left in them, negative; rows before the loops and behind them
//	BX R15         row of B, and bytes to the next
//	R14 AX         what to ask for next, and bytes to the following; AX temporary before the loops and behind them
//	R12            masks of the columns, if there are less than 8
//	DX             temporary

// columns<>+(8-n)*8 has all bits in n elements, and none in the next.
DATA columns<>+0(SB)/8, $-1
DATA columns<>+8(SB)/8, $-1
DATA columns<>+16(SB)/8, $-1
DATA columns<>+24(SB)/8, $-1
DATA columns<>+32(SB)/8, $-1
DATA columns<>+40(SB)/8, $-1
DATA columns<>+48(SB)/8, $-1
DATA columns<>+56(SB)/8, $-1
DATA columns<>+64(SB)/8, $0
DATA columns<>+72(SB)/8, $0
DATA columns<>+80(SB)/8, $0
DATA columns<>+88(SB)/8, $0
DATA columns<>+96(SB)/8, $0
DATA columns<>+104(SB)/8, $0
DATA columns<>+112(SB)/8, $0
DATA columns<>+120(SB)/8, $0
GLOBL columns<>(SB), RODATA|NOPTR, $128

// NEXT sets to to the row after from, which is row number - 1, if there is one, else to from. AX: bytes from row to row.
#define NEXT(number, from, to) \
	LEAQ (from)(AX*1), to \
	CMPQ CX, $number      \
	CMOVQLE from, to

#define ROWS(base, stride) \
	MOVQ base, SI      \
	MOVQ stride, AX    \
	SHLQ $3, AX        \
	MOVQ rows+48(FP), CX \
	NEXT(1, SI, DI)    \
	NEXT(2, DI, R8)    \
	NEXT(3, R8, R9)    \
	NEXT(4, R9, R10)   \
	NEXT(5, R10, R11)

#define GET(row, c0, c1) \
	VMOVUPD (row), c0    \
	VMOVUPD 32(row), c1

#define PUT(row, c0, c1) \
	VMOVUPD c0, (row)    \
	VMOVUPD c1, 32(row)

// GETSOME and PUTSOME do so with the columns that masks in Y12 and Y13 have.
#define GETSOME(row, c0, c1) \
	VMASKMOVPD (row), Y12, c0    \
	VMASKMOVPD 32(row), Y13, c1

#define PUTSOME(row, c0, c1) \
	VMASKMOVPD c0, Y12, (row)    \
	VMASKMOVPD c1, Y13, 32(row)

#define CLEAR(row, c0, c1) \
	VXORPD c0, c0, c0 \
	VXORPD c1, c1, c1

// GO goes on to the next row of B and asks for some of what comes later.
#define GO \
	PREFETCHT0 (R14)      \
	ADDQ R15, BX          \
	ADDQ AX, R14

#define B \
	VMOVUPD (BX), Y12     \
	VMOVUPD 32(BX), Y13   \
	GO

#define SOMEB \
	VMOVUPD (R12), Y15           \
	VMASKMOVPD (BX), Y15, Y12    \
	VMOVUPD 32(R12), Y15         \
	VMASKMOVPD 32(BX), Y15, Y13  \
	GO

#define ADD(row, c0, c1) \
	VBROADCASTSD (row)(CX*8), Y15 \
	VMULPD Y15, Y12, Y14          \
	VMULPD Y15, Y13, Y15          \
	VADDPD c0, Y14, c0            \
	VADDPD c1, Y15, c1

// SKIP adds nothing where the element of A is 0, of either sign, whatever B has there: five instructions are left out.
#define SKIP(row, c0, c1) \
	MOVQ (row)(CX*8), DX \
	SHLQ $1, DX          \
	JZ 6(PC)             \
	ADD(row, c0, c1)

#define UPPER(OF) \
	OF(SI, Y0, Y1) \
	OF(DI, Y2, Y3) \
	OF(R8, Y4, Y5)

#define LOWER(OF) \
	OF(R9, Y6, Y7)   \
	OF(R10, Y8, Y9)  \
	OF(R11, Y10, Y11)

// func tile6x8(a *float64, aStride int, b *float64, bStride int, c *float64, cStride, rows, depth, cols int, ahead *float64, aheadBytes int, begin, skip bool)
TEXT ·tile6x8(SB), NOSPLIT, $0-90
	LEAQ columns<>+64(SB), R12
	MOVQ cols+64(FP), CX
	NEGQ CX
	LEAQ (R12)(CX*8), R12
	CMPB begin+88(FP), $0
	JNE zero
	ROWS(c+32(FP), cStride+40(FP))
	CMPQ cols+64(FP), $8
	JLT getSome
	UPPER(GET)
	LOWER(GET)
	JMP go
getSome:
	VMOVUPD (R12), Y12
	VMOVUPD 32(R12), Y13
	UPPER(GETSOME)
	LOWER(GETSOME)
	JMP go
zero:
	UPPER(CLEAR)
	LOWER(CLEAR)
go:
	ROWS(a+0(FP), aStride+8(FP))
	MOVQ depth+56(FP), CX
	LEAQ (SI)(CX*8), SI
	LEAQ (DI)(CX*8), DI
	LEAQ (R8)(CX*8), R8
	LEAQ (R9)(CX*8), R9
	LEAQ (R10)(CX*8), R10
	LEAQ (R11)(CX*8), R11
	NEGQ CX
	MOVQ b+16(FP), BX
	MOVQ bStride+24(FP), R15
	SHLQ $3, R15
	MOVQ ahead+72(FP), R14
	MOVQ aheadBytes+80(FP), AX
	CMPB skip+89(FP), $0
	JNE some
	CMPQ cols+64(FP), $8
	JLT some
	CMPQ rows+48(FP), $3
	JLE add3
add6:
	B
	UPPER(ADD)
	LOWER(ADD)
	INCQ CX
	JNZ add6
	JMP end
add3:
	B
	UPPER(ADD)
	INCQ CX
	JNZ add3
	JMP end
some: // both what is rare: less than 8 columns, and zeros in A
	CMPQ rows+48(FP), $3
	JLE some3
some6:
	SOMEB
	UPPER(SKIP)
	LOWER(SKIP)
	INCQ CX
	JNZ some6
	JMP end
some3:
	SOMEB
	UPPER(SKIP)
	INCQ CX
	JNZ some3
end: // the lower rows first: of three or less they are the last one of the upper rows, not computed
	ROWS(c+32(FP), cStride+40(FP))
	CMPQ cols+64(FP), $8
	JLT putSome
	LOWER(PUT)
	UPPER(PUT)
	VZEROUPPER
	RET
putSome:
	VMOVUPD (R12), Y12
	VMOVUPD 32(R12), Y13
	LOWER(PUTSOME)
	UPPER(PUTSOME)
	VZEROUPPER
	RET
