//go:build !openblas

#include "textflag.h"

// tile8x24 adds a product to a tile of C; multiply_amd64.go has the contract. The tile, 8 rows of 3 vectors, stays in registers:
//
//	Z0-Z23   the tile, row after row             Z24-Z26  a row of B
//	Z27      an element of A, in all elements    Z28-Z30  products
//	Z31      0                                   K1-K3    columns of the tile; K4 elements of A that are not 0
//
//	SI DI R8-R13   ends of the eight rows of A, or of C; a row that the tile does not have is its last one
//	CX             elements left in them, negative; rows before the loops and behind them
//	BX R15         row of B, and bytes to the next
//	R14 AX         what to ask for next, and bytes to the following; AX temporary before the loops and behind them

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
	NEXT(5, R10, R11)  \
	NEXT(6, R11, R12)  \
	NEXT(7, R12, R13)

#define GET(row, c0, c1, c2) \
	VMOVUPD.Z (row), K1, c0    \
	VMOVUPD.Z 64(row), K2, c1  \
	VMOVUPD.Z 128(row), K3, c2

#define PUT(row, c0, c1, c2) \
	VMOVUPD c0, K1, (row)    \
	VMOVUPD c1, K2, 64(row)  \
	VMOVUPD c2, K3, 128(row)

#define CLEAR(c0, c1, c2) \
	VPXORQ c0, c0, c0 \
	VPXORQ c1, c1, c1 \
	VPXORQ c2, c2, c2

// B reads a row of B and asks for some of what comes later.
#define B \
	VMOVUPD.Z (BX), K1, Z24    \
	VMOVUPD.Z 64(BX), K2, Z25  \
	VMOVUPD.Z 128(BX), K3, Z26 \
	PREFETCHT0 (R14)           \
	PREFETCHT0 64(R14)         \
	PREFETCHT0 128(R14)        \
	ADDQ R15, BX               \
	ADDQ AX, R14

#define PRODUCTS(row) \
	VBROADCASTSD (row)(CX*8), Z27 \
	VMULPD Z27, Z24, Z28          \
	VMULPD Z27, Z25, Z29          \
	VMULPD Z27, Z26, Z30

#define ADD(row, c0, c1, c2) \
	PRODUCTS(row)       \
	VADDPD c0, Z28, c0  \
	VADDPD c1, Z29, c1  \
	VADDPD c2, Z30, c2

// SKIP adds nothing where the element of A is 0, whatever B has there.
#define SKIP(row, c0, c1, c2) \
	PRODUCTS(row)          \
	VCMPPD $4, Z31, Z27, K4 \
	VADDPD c0, Z28, K4, c0 \
	VADDPD c1, Z29, K4, c1 \
	VADDPD c2, Z30, K4, c2

#define UPPER(OF, a, b, c, d) \
	OF(a, Z0, Z1, Z2)   \
	OF(b, Z3, Z4, Z5)   \
	OF(c, Z6, Z7, Z8)   \
	OF(d, Z9, Z10, Z11)

#define LOWER(OF, a, b, c, d) \
	OF(a, Z12, Z13, Z14) \
	OF(b, Z15, Z16, Z17) \
	OF(c, Z18, Z19, Z20) \
	OF(d, Z21, Z22, Z23)

// EIGHT and FOUR do one row of B for so many rows of A.
#define EIGHT(OF) \
	B                              \
	UPPER(OF, SI, DI, R8, R9)      \
	LOWER(OF, R10, R11, R12, R13)  \
	INCQ CX

#define FOUR(OF) \
	B                         \
	UPPER(OF, SI, DI, R8, R9) \
	INCQ CX

// MASK leaves the bits of CX columns in AX.
#define MASK \
	MOVL $1, AX \
	SHLQ CX, AX \
	DECQ AX

// func tile8x24(a *float64, aStride int, b *float64, bStride int, c *float64, cStride, rows, depth, cols int, ahead *float64, aheadBytes int, begin, skip bool)
TEXT ·tile8x24(SB), NOSPLIT, $0-90
	MOVQ cols+64(FP), CX
	MASK
	KMOVW AX, K1
	SHRQ $8, AX
	KMOVW AX, K2
	SHRQ $8, AX
	KMOVW AX, K3
	VPXORQ Z31, Z31, Z31
	CMPB begin+88(FP), $0
	JNE zero
	ROWS(c+32(FP), cStride+40(FP))
	UPPER(GET, SI, DI, R8, R9)
	LOWER(GET, R10, R11, R12, R13)
	JMP go
zero:
	CLEAR(Z0, Z1, Z2)
	CLEAR(Z3, Z4, Z5)
	CLEAR(Z6, Z7, Z8)
	CLEAR(Z9, Z10, Z11)
	CLEAR(Z12, Z13, Z14)
	CLEAR(Z15, Z16, Z17)
	CLEAR(Z18, Z19, Z20)
	CLEAR(Z21, Z22, Z23)
go:
	ROWS(a+0(FP), aStride+8(FP))
	MOVQ depth+56(FP), CX
	LEAQ (SI)(CX*8), SI
	LEAQ (DI)(CX*8), DI
	LEAQ (R8)(CX*8), R8
	LEAQ (R9)(CX*8), R9
	LEAQ (R10)(CX*8), R10
	LEAQ (R11)(CX*8), R11
	LEAQ (R12)(CX*8), R12
	LEAQ (R13)(CX*8), R13
	NEGQ CX
	MOVQ b+16(FP), BX
	MOVQ bStride+24(FP), R15
	SHLQ $3, R15
	MOVQ ahead+72(FP), R14
	MOVQ aheadBytes+80(FP), AX
	CMPQ rows+48(FP), $4
	JLE few
	CMPB skip+89(FP), $0
	JNE skip8
add8:
	EIGHT(ADD)
	JNZ add8
	JMP end
skip8:
	EIGHT(SKIP)
	JNZ skip8
	JMP end
few:
	CMPB skip+89(FP), $0
	JNE skip4
add4:
	FOUR(ADD)
	JNZ add4
	JMP end
skip4:
	FOUR(SKIP)
	JNZ skip4
end: // the lower rows first: of four or less they are the last one of the upper rows, not computed
	ROWS(c+32(FP), cStride+40(FP))
	LOWER(PUT, R10, R11, R12, R13)
	UPPER(PUT, SI, DI, R8, R9)
	VZEROUPPER
	RET
