#include "textflag.h"

// wave16 relaxes a block as one wavefront of 16 lanes; doc.go has the picture, sor_amd64.go the contract. Lane l
// relaxes the rows l, l+16, l+32 ... of the block, one after the other without a pause, a pair of neighbouring columns
// a step, one step behind lane l-1. After the last column of the block a row has one more column, or two, so that they
// make pairs; no result of theirs is kept. In the step of this last pair a lane already reads the first pair of its
// next row.
//
// Steps come in twos where all lanes are within their rows (fast), and where each of them ends a row and begins another
// (change); one by one where some have no row yet, or no more, and where one is left over.
//
// Memory has rows, arithmetic wants columns of the wavefront: 8 lanes in a vector, A being lanes 0 to 7 and B 8 to 15.
// In between are pairs: a quarter of a vector is a pair of a row, even vectors have those of lanes 0 2 4 6 (8 10 12
// 14), odd ones those of lanes 1 3 5 7 (9 11 13 15). UNPCKs turn pairs into columns and back.
//
//	Z0       quarter, in all elements             Z1       keep
//	Z2  Z3   old values of this step, A, first and second column
//	Z4  Z5   the same, B
//	Z8  Z9   new values of the step before, A, first and second column; from the middle of a step on, of this step
//	Z10 Z11  the same, B
//	Z12 Z13  pairs of A, even and odd: the old ones of the next step when a step begins, new ones of this when it ends
//	Z14 Z15  the same, B
//	Z18-Z21  old values of the next step, as Z2 to Z5
//	Z16 Z17 Z26 Z27  as Z12 to Z15, in the second of two steps
//	Z22-Z25  temporary
//	Z28      largest |new - old|, as bits         Z30      all bits but the sign
//	Z29 Z31  indices that join two vectors of pairs
//	K1 K2 K3 quarters 1, 2 and 3                  K4-K7    temporary
//
//	CX       columns that lane 0 has behind it since the first group; the index of all pointers below, so that a
//	         pointer changes only where its lane changes rows
//	R8       pointer to the row that the next lane will begin
//	R9       rows from that one to the row below the block
//	R10      lane that ends a row in this step, the lane before it begins one; 16 or more: none
//	R11      bytes from a row to the next
//	R12 R13  pointers to the row above lane 0 and to the row below lane 15
//	DX       pointer for the pair of the row that ends
//	SI       groups of 16 rows to begin           DI       steps left to this group
//	R15      1: track the largest change          AX BX R14 temporary

// Frame.
#define loads     0   // [16] pointers: row that the lane reads
#define stores    128 // [16] pointers: row that the lane writes
#define ending    256 // the last pair of a row
#define counts    272 // bits: lanes whose first column counts for the largest change; from bit 16 on, second column
#define steps     280 // steps a row
#define rewind    288 // bytes from the pointer of lane 16 of a group to that of lane 0 of the next
#define odd       296 // columns of the block in the last pair of a row: 1 or 0
#define ended0    320 // both pairs that the lane writes that ends its row in the first of two steps, before they go where they belong
#define ended1    352 // the same of the lane that ends it in the second
#define apart     384 // [16] bytes from the pointer of lane 0 to that of each lane
#define saved     512 // [3] registers, while others use them
#define nowhere   536 // [1088] float64: what idle lanes write

// Joins of two vectors of pairs, the second one's elements counting from 8: both pairs of the rows in the lower half,
// and of those in the upper half.
DATA join<>+0(SB)/8, $0
DATA join<>+8(SB)/8, $1
DATA join<>+16(SB)/8, $8
DATA join<>+24(SB)/8, $9
DATA join<>+32(SB)/8, $2
DATA join<>+40(SB)/8, $3
DATA join<>+48(SB)/8, $10
DATA join<>+56(SB)/8, $11
DATA join<>+64(SB)/8, $4
DATA join<>+72(SB)/8, $5
DATA join<>+80(SB)/8, $12
DATA join<>+88(SB)/8, $13
DATA join<>+96(SB)/8, $6
DATA join<>+104(SB)/8, $7
DATA join<>+112(SB)/8, $14
DATA join<>+120(SB)/8, $15
GLOBL join<>(SB), RODATA|NOPTR, $128

// RELAX does a step: pairs of old values in ea, oa, eb, ob (even and odd, A and B), which become pairs of new values;
// old values of this step in xa0, xa1, xb0, xb1 (first and second column, A and B), those of the next step in na0 ...
// nb1 when it ends. above and below point at the values above lane 0 and below lane 15.
#define RELAX(above0, above1, below0, below1, ea, oa, eb, ob, xa0, xa1, xb0, xb1, na0, na1, nb0, nb1) \
	VUNPCKLPD oa, ea, na0         \
	VUNPCKHPD oa, ea, na1         \
	VUNPCKLPD ob, eb, nb0         \
	VUNPCKHPD ob, eb, nb1         \
	VBROADCASTSD above0, Z22      \ // above: of a lane, what the lane before had two columns ago
	VBROADCASTSD above1, Z24      \
	VALIGNQ $7, Z22, Z8, Z22      \
	VALIGNQ $7, Z8, Z10, Z23      \
	VALIGNQ $7, Z24, Z9, Z24      \
	VALIGNQ $7, Z9, Z11, Z25      \
	VBROADCASTSD below0, oa       \ // below: of a lane, what the lane after will have two columns ahead
	VBROADCASTSD below1, ob       \
	VALIGNQ $1, na0, nb0, ea      \
	VALIGNQ $1, nb0, oa, oa       \
	VALIGNQ $1, na1, nb1, eb      \
	VALIGNQ $1, nb1, ob, ob       \
	VADDPD ea, Z22, Z22           \ // above + below
	VADDPD oa, Z23, Z23           \
	VADDPD eb, Z24, Z24           \
	VADDPD ob, Z25, Z25           \
	VADDPD xa1, Z22, Z22          \ // + right
	VADDPD xb1, Z23, Z23          \
	VADDPD na0, Z24, Z24          \
	VADDPD nb0, Z25, Z25          \
	VMULPD xa0, Z1, ea            \ // keep * centre
	VMULPD xb0, Z1, oa            \
	VMULPD xa1, Z1, eb            \
	VMULPD xb1, Z1, ob            \
	VADDPD Z9, Z22, Z22           \ // first column: + left
	VADDPD Z11, Z23, Z23          \
	VMULPD Z22, Z0, Z22           \
	VMULPD Z23, Z0, Z23           \
	VADDPD ea, Z22, Z8            \
	VADDPD oa, Z23, Z10           \
	VADDPD Z8, Z24, Z24           \ // second column
	VADDPD Z10, Z25, Z25          \
	VMULPD Z24, Z0, Z24           \
	VMULPD Z25, Z0, Z25           \
	VADDPD eb, Z24, Z9            \
	VADDPD ob, Z25, Z11           \
	VUNPCKLPD Z9, Z8, ea          \
	VUNPCKHPD Z9, Z8, oa          \
	VUNPCKLPD Z11, Z10, eb        \
	VUNPCKHPD Z11, Z10, ob

// CHANGES leaves |new - old| in Z22 (A) and Z23 (B), first column, and Z24 and Z25, second column.
#define CHANGES(xa0, xa1, xb0, xb1) \
	VSUBPD xa0, Z8, Z22           \
	VSUBPD xb0, Z10, Z23          \
	VSUBPD xa1, Z9, Z24           \
	VSUBPD xb1, Z11, Z25          \
	VPANDQ Z30, Z22, Z22          \
	VPANDQ Z30, Z23, Z23          \
	VPANDQ Z30, Z24, Z24          \
	VPANDQ Z30, Z25, Z25

// ALLCOUNT enters changes of all lanes.
#define ALLCOUNT \
	VPMAXUQ Z22, Z23, Z22         \
	VPMAXUQ Z24, Z25, Z24         \
	VPMAXUQ Z22, Z28, Z28         \
	VPMAXUQ Z24, Z28, Z28

// READ gets the next pair of lanes l, l+2, l+4 and l+6 by their pointers; x is z's quarter 0.
#define READ(l, x, z) \
	MOVQ (loads+8*l)(SP), AX              \
	MOVQ (loads+8*l+16)(SP), BX           \
	VMOVUPD 16(AX)(CX*8), x               \
	VBROADCASTF64X2 16(BX)(CX*8), K1, z   \
	MOVQ (loads+8*l+32)(SP), AX           \
	MOVQ (loads+8*l+48)(SP), BX           \
	VBROADCASTF64X2 16(AX)(CX*8), K2, z   \
	VBROADCASTF64X2 16(BX)(CX*8), K3, z

// WRITE puts this pair.
#define WRITE(l, x, z) \
	MOVQ (stores+8*l)(SP), AX             \
	MOVQ (stores+8*l+16)(SP), BX          \
	VMOVUPD x, (AX)(CX*8)                 \
	VEXTRACTF64X2 $1, z, (BX)(CX*8)       \
	MOVQ (stores+8*l+32)(SP), AX          \
	MOVQ (stores+8*l+48)(SP), BX          \
	VEXTRACTF64X2 $2, z, (AX)(CX*8)       \
	VEXTRACTF64X2 $3, z, (BX)(CX*8)

// READ2 gets two pairs from each of four rows; y is the lower half of z. WRITE2 puts them.
#define READ2(m0, m2, m4, m6, y, z, second) \
	VMOVUPD m0, y                         \
	VINSERTF64X4 $1, m2, z, z             \
	VMOVUPD m4, Y22                       \
	VINSERTF64X4 $1, m6, Z22, Z22         \
	VSHUFF64X2 $0xDD, Z22, z, second      \
	VSHUFF64X2 $0x88, Z22, z, z

#define WRITE2(m0, m2, m4, m6, y, z, second) \
	VMOVAPD z, Z22                        \
	VPERMT2PD second, Z29, Z22            \
	VPERMT2PD second, Z31, z              \
	VMOVUPD Y22, m0                       \
	VEXTRACTF64X4 $1, Z22, m2             \
	VMOVUPD y, m4                         \
	VEXTRACTF64X4 $1, z, m6

// Where a lane is, all being equally far from one another: OLD in its present row, NEW in its next one, d bytes on.
//	AX  R8   lane 0       R13 DX R14 R10   1, 3, 5 and 7 times the way from a lane to the next
//	BX  R9   lane 8
#define OLD0(d)  (d)(AX)
#define OLD1(d)  (d)(AX)(R13*1)
#define OLD2(d)  (d)(AX)(R13*2)
#define OLD3(d)  (d)(AX)(DX*1)
#define OLD4(d)  (d)(AX)(R13*4)
#define OLD5(d)  (d)(AX)(R14*1)
#define OLD6(d)  (d)(AX)(DX*2)
#define OLD7(d)  (d)(AX)(R10*1)
#define OLD8(d)  (d)(BX)
#define OLD9(d)  (d)(BX)(R13*1)
#define OLD10(d) (d)(BX)(R13*2)
#define OLD11(d) (d)(BX)(DX*1)
#define OLD12(d) (d)(BX)(R13*4)
#define OLD13(d) (d)(BX)(R14*1)
#define OLD14(d) (d)(BX)(DX*2)
#define OLD15(d) (d)(BX)(R10*1)
#define OLD16(d) (d)(BX)(R13*8)
#define NEW0(d)  (d)(R8)
#define NEW1(d)  (d)(R8)(R13*1)
#define NEW2(d)  (d)(R8)(R13*2)
#define NEW3(d)  (d)(R8)(DX*1)
#define NEW4(d)  (d)(R8)(R13*4)
#define NEW5(d)  (d)(R8)(R14*1)
#define NEW6(d)  (d)(R8)(DX*2)
#define NEW7(d)  (d)(R8)(R10*1)
#define NEW8(d)  (d)(R9)
#define NEW9(d)  (d)(R9)(R13*1)
#define NEW10(d) (d)(R9)(R13*2)
#define NEW11(d) (d)(R9)(DX*1)
#define NEW12(d) (d)(R9)(R13*4)
#define NEW13(d) (d)(R9)(R14*1)
#define NEW14(d) (d)(R9)(DX*2)
#define NEW15(d) (d)(R9)(R10*1)

// WAYS makes R13, DX, R14 and R10 of the length of a row.
#define WAYS \
	LEAQ -16(R11), R13            \
	LEAQ (R13)(R13*2), DX         \
	LEAQ (R13)(R13*4), R14        \
	LEAQ (DX)(R13*4), R10

// COUNT enters the changes of lanes that count.
#define COUNT \
	KMOVB (counts+0)(SP), K4      \
	KMOVB (counts+1)(SP), K5      \
	KMOVB (counts+2)(SP), K6      \
	KMOVB (counts+3)(SP), K7      \
	VPMAXUQ Z22, Z28, K4, Z28     \
	VPMAXUQ Z23, Z28, K5, Z28     \
	VPMAXUQ Z24, Z28, K6, Z28     \
	VPMAXUQ Z25, Z28, K7, Z28

// LEFT makes left, the value at the left of the row that lane DX begins, its last new value. (The lane after it uses that as its upper
// neighbour, but in the column that does not count.) It uses BX.
#define LEFT(left) \
	MOVL $1, BX                   \
	SHLXQ DX, BX, BX              \
	KMOVB BX, K4                  \
	SHRQ $8, BX                   \
	KMOVB BX, K5                  \
	VBROADCASTSD left, K4, Z9     \
	VBROADCASTSD left, K5, Z11

// BEGIN is LEFT for a lane that is known, number l of the eight whose last new values are in z.
#define BEGIN(l, z, left) \
	MOVL $(1<<l), CX              \
	KMOVB CX, K4                  \
	VBROADCASTSD left, K4, z

// COUNTED enters changes, if they are tracked, of all lanes but the columns of the one that ends its row that are not of the block.
#define COUNTED(lane, xa0, xa1, xb0, xb1, done) \
	TESTQ R15, R15                \
	JZ done                       \
	CHANGES(xa0, xa1, xb0, xb1)   \
	MOVL $0x10001, CX             \
	SUBL odd(SP), CX              \
	SHLL $lane, CX                \
	NOTL CX                       \
	MOVL CX, counts(SP)           \
	COUNT                         \
done:

// FIRST and SECOND are the two steps in which a lane ends its row and then the next one does, c bytes on.
#define FIRST(c, lane, done) \
	RELAX((c)(R12), (c+8)(R12), OLD16(c+16), OLD16(c+24), Z12, Z13, Z14, Z15, Z2, Z3, Z4, Z5, Z18, Z19, Z20, Z21) \
	COUNTED(lane, Z2, Z3, Z4, Z5, done)

#define SECOND(c, lane, done) \
	RELAX((c+16)(R12), (c+24)(R12), OLD16(c+32), OLD16(c+40), Z16, Z17, Z26, Z27, Z18, Z19, Z20, Z21, Z2, Z3, Z4, Z5) \
	COUNTED(lane, Z18, Z19, Z20, Z21, done)

// PART puts what both have written aside where it belongs: the first pair of the one's next row, the last pair but one of the other's row, and the last
// columns of both rows if there are any.
#define PART(begun, last0, ended, last1, even) \
	VMOVUPD (ended0+16)(SP), X12  \
	VMOVUPD ended1(SP), X13       \
	VMOVUPD X12, begun            \
	VMOVUPD X13, ended            \
	CMPQ odd(SP), $0              \
	JEQ even                      \
	MOVQ ended0(SP), CX           \
	MOVQ CX, last0                \
	MOVQ (ended1+16)(SP), CX      \
	MOVQ CX, last1                \
even:

// func wave16(first *float64, stride, rows, cols int, quarter, keep float64, track bool) (largest uint64)
TEXT ·wave16(SB), 0, $9280-64
	MOVQ first+0(FP), R8
	MOVQ stride+8(FP), R11
	SHLQ $3, R11
	MOVQ rows+16(FP), R9
	MOVQ cols+24(FP), AX
	VBROADCASTSD quarter+32(FP), Z0
	VBROADCASTSD keep+40(FP), Z1
	MOVBQZX track+48(FP), R15

	MOVQ AX, BX
	ANDQ $1, BX
	MOVQ BX, odd(SP)
	SHRQ $1, AX
	INCQ AX
	MOVQ AX, steps(SP)            // cols/2 + 1
	SHLQ $4, AX
	NEGQ AX
	ADDQ $256, AX
	MOVQ AX, rewind(SP)           // 16 lanes of 16 bytes forth, a row of 16-byte pairs back
	LEAQ 15(R9), SI
	SHRQ $4, SI

	// Before its first row a lane reads what is at the left of it and writes nowhere. There is a step before the first,
	// for lane 0 to read its first pair.
	MOVQ $-2, CX
	MOVQ R8, R12                  // the row of the lane
	MOVQ R9, R13                  // rows from there to the row below the block
	XORQ R10, R10
	XORQ BX, BX
	LEAQ (nowhere+16)(SP), DI
first:
	MOVQ BX, apart(SP)(R10*8)
	LEAQ -16(BX)(R11*1), BX
	XORQ AX, AX                   // lanes without a row read the one below the block
	CMPQ R13, AX
	CMOVQLT R13, AX
	IMULQ R11, AX
	ADDQ R12, AX
	MOVQ AX, loads(SP)(R10*8)
	MOVQ DI, stores(SP)(R10*8)
	LEAQ -16(R12)(R11*1), R12
	DECQ R13
	INCQ R10
	CMPQ R10, $16
	JLT first
	MOVQ R8, R12                  // until lanes 0 and 15 begin: anything that may be read
	MOVQ AX, R13
	MOVL $0, counts(SP)

	MOVL $0x0C, AX
	KMOVB AX, K1
	MOVL $0x30, AX
	KMOVB AX, K2
	MOVL $0xC0, AX
	KMOVB AX, K3
	VMOVUPD join<>+0(SB), Z29
	VMOVUPD join<>+64(SB), Z31
	VPXORQ Z28, Z28, Z28
	VPTERNLOGQ $0xFF, Z30, Z30, Z30
	VPSRLQ $1, Z30, Z30
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11

group:
	XORQ R10, R10
	MOVQ steps(SP), DI
	CMPQ R9, $16
	JLT step                      // not every lane has a row to begin
	TESTQ CX, CX
	JLE step                      // or one to end

change:
	// All lanes end a row and begin one, one after the other: two steps at a time, in which lane 0 and lane 1 do, lanes 2 and 3, and so on. A
	// lane that ends its row in the second one reads the first pair of its next row by itself.
	MOVQ R8, saved(SP)
	MOVQ R9, (saved+8)(SP)
	MOVQ CX, (saved+16)(SP)
	WAYS
	MOVQ loads(SP), AX
	LEAQ (AX)(CX*8), AX
	LEAQ (AX)(R13*8), BX
	LEAQ (R8)(CX*8), R8
	LEAQ (R8)(R13*8), R9
	LEAQ (R12)(CX*8), R12

	READ2(NEW0(16), OLD2(16), OLD4(16), OLD6(16), Y12, Z12, Z16)
	READ2(OLD1(16), OLD3(16), OLD5(16), OLD7(16), Y13, Z13, Z17)
	READ2(OLD8(16), OLD10(16), OLD12(16), OLD14(16), Y14, Z14, Z26)
	READ2(OLD9(16), OLD11(16), OLD13(16), OLD15(16), Y15, Z15, Z27)
	VINSERTF64X2 $0, NEW1(32), Z17, Z17
	FIRST(0, 0, first0)
	BEGIN(0, Z9, NEW0(8))
	MOVQ R8, R12                  // the row above lane 0
	SUBQ R11, R12
	SECOND(0, 1, second0)
	WRITE2(ended0(SP), OLD2(0), OLD4(0), OLD6(0), Y12, Z12, Z16)
	WRITE2(ended1(SP), OLD3(0), OLD5(0), OLD7(0), Y13, Z13, Z17)
	WRITE2(OLD8(0), OLD10(0), OLD12(0), OLD14(0), Y14, Z14, Z26)
	WRITE2(OLD9(0), OLD11(0), OLD13(0), OLD15(0), Y15, Z15, Z27)
	PART(NEW0(16), OLD0(0), OLD1(0), OLD1(16), even0)

	BEGIN(1, Z9, NEW1(24))
	READ2(NEW0(48), NEW2(48), OLD4(48), OLD6(48), Y12, Z12, Z16)
	READ2(NEW1(48), OLD3(48), OLD5(48), OLD7(48), Y13, Z13, Z17)
	READ2(OLD8(48), OLD10(48), OLD12(48), OLD14(48), Y14, Z14, Z26)
	READ2(OLD9(48), OLD11(48), OLD13(48), OLD15(48), Y15, Z15, Z27)
	VINSERTF64X2 $1, NEW3(64), Z17, Z17
	FIRST(32, 2, first2)
	BEGIN(2, Z9, NEW2(40))
	SECOND(32, 3, second2)
	WRITE2(NEW0(32), ended0(SP), OLD4(32), OLD6(32), Y12, Z12, Z16)
	WRITE2(NEW1(32), ended1(SP), OLD5(32), OLD7(32), Y13, Z13, Z17)
	WRITE2(OLD8(32), OLD10(32), OLD12(32), OLD14(32), Y14, Z14, Z26)
	WRITE2(OLD9(32), OLD11(32), OLD13(32), OLD15(32), Y15, Z15, Z27)
	PART(NEW2(48), OLD2(32), OLD3(32), OLD3(48), even2)

	BEGIN(3, Z9, NEW3(56))
	READ2(NEW0(80), NEW2(80), NEW4(80), OLD6(80), Y12, Z12, Z16)
	READ2(NEW1(80), NEW3(80), OLD5(80), OLD7(80), Y13, Z13, Z17)
	READ2(OLD8(80), OLD10(80), OLD12(80), OLD14(80), Y14, Z14, Z26)
	READ2(OLD9(80), OLD11(80), OLD13(80), OLD15(80), Y15, Z15, Z27)
	VINSERTF64X2 $2, NEW5(96), Z17, Z17
	FIRST(64, 4, first4)
	BEGIN(4, Z9, NEW4(72))
	SECOND(64, 5, second4)
	WRITE2(NEW0(64), NEW2(64), ended0(SP), OLD6(64), Y12, Z12, Z16)
	WRITE2(NEW1(64), NEW3(64), ended1(SP), OLD7(64), Y13, Z13, Z17)
	WRITE2(OLD8(64), OLD10(64), OLD12(64), OLD14(64), Y14, Z14, Z26)
	WRITE2(OLD9(64), OLD11(64), OLD13(64), OLD15(64), Y15, Z15, Z27)
	PART(NEW4(80), OLD4(64), OLD5(64), OLD5(80), even4)

	BEGIN(5, Z9, NEW5(88))
	READ2(NEW0(112), NEW2(112), NEW4(112), NEW6(112), Y12, Z12, Z16)
	READ2(NEW1(112), NEW3(112), NEW5(112), OLD7(112), Y13, Z13, Z17)
	READ2(OLD8(112), OLD10(112), OLD12(112), OLD14(112), Y14, Z14, Z26)
	READ2(OLD9(112), OLD11(112), OLD13(112), OLD15(112), Y15, Z15, Z27)
	VINSERTF64X2 $3, NEW7(128), Z17, Z17
	FIRST(96, 6, first6)
	BEGIN(6, Z9, NEW6(104))
	SECOND(96, 7, second6)
	WRITE2(NEW0(96), NEW2(96), NEW4(96), ended0(SP), Y12, Z12, Z16)
	WRITE2(NEW1(96), NEW3(96), NEW5(96), ended1(SP), Y13, Z13, Z17)
	WRITE2(OLD8(96), OLD10(96), OLD12(96), OLD14(96), Y14, Z14, Z26)
	WRITE2(OLD9(96), OLD11(96), OLD13(96), OLD15(96), Y15, Z15, Z27)
	PART(NEW6(112), OLD6(96), OLD7(96), OLD7(112), even6)

	BEGIN(7, Z9, NEW7(120))
	READ2(NEW0(144), NEW2(144), NEW4(144), NEW6(144), Y12, Z12, Z16)
	READ2(NEW1(144), NEW3(144), NEW5(144), NEW7(144), Y13, Z13, Z17)
	READ2(NEW8(144), OLD10(144), OLD12(144), OLD14(144), Y14, Z14, Z26)
	READ2(OLD9(144), OLD11(144), OLD13(144), OLD15(144), Y15, Z15, Z27)
	VINSERTF64X2 $0, NEW9(160), Z27, Z27
	FIRST(128, 8, first8)
	BEGIN(0, Z11, NEW8(136))
	SECOND(128, 9, second8)
	WRITE2(NEW0(128), NEW2(128), NEW4(128), NEW6(128), Y12, Z12, Z16)
	WRITE2(NEW1(128), NEW3(128), NEW5(128), NEW7(128), Y13, Z13, Z17)
	WRITE2(ended0(SP), OLD10(128), OLD12(128), OLD14(128), Y14, Z14, Z26)
	WRITE2(ended1(SP), OLD11(128), OLD13(128), OLD15(128), Y15, Z15, Z27)
	PART(NEW8(144), OLD8(128), OLD9(128), OLD9(144), even8)

	BEGIN(1, Z11, NEW9(152))
	READ2(NEW0(176), NEW2(176), NEW4(176), NEW6(176), Y12, Z12, Z16)
	READ2(NEW1(176), NEW3(176), NEW5(176), NEW7(176), Y13, Z13, Z17)
	READ2(NEW8(176), NEW10(176), OLD12(176), OLD14(176), Y14, Z14, Z26)
	READ2(NEW9(176), OLD11(176), OLD13(176), OLD15(176), Y15, Z15, Z27)
	VINSERTF64X2 $1, NEW11(192), Z27, Z27
	FIRST(160, 10, first10)
	BEGIN(2, Z11, NEW10(168))
	SECOND(160, 11, second10)
	WRITE2(NEW0(160), NEW2(160), NEW4(160), NEW6(160), Y12, Z12, Z16)
	WRITE2(NEW1(160), NEW3(160), NEW5(160), NEW7(160), Y13, Z13, Z17)
	WRITE2(NEW8(160), ended0(SP), OLD12(160), OLD14(160), Y14, Z14, Z26)
	WRITE2(NEW9(160), ended1(SP), OLD13(160), OLD15(160), Y15, Z15, Z27)
	PART(NEW10(176), OLD10(160), OLD11(160), OLD11(176), even10)

	BEGIN(3, Z11, NEW11(184))
	READ2(NEW0(208), NEW2(208), NEW4(208), NEW6(208), Y12, Z12, Z16)
	READ2(NEW1(208), NEW3(208), NEW5(208), NEW7(208), Y13, Z13, Z17)
	READ2(NEW8(208), NEW10(208), NEW12(208), OLD14(208), Y14, Z14, Z26)
	READ2(NEW9(208), NEW11(208), OLD13(208), OLD15(208), Y15, Z15, Z27)
	VINSERTF64X2 $2, NEW13(224), Z27, Z27
	FIRST(192, 12, first12)
	BEGIN(4, Z11, NEW12(200))
	SECOND(192, 13, second12)
	WRITE2(NEW0(192), NEW2(192), NEW4(192), NEW6(192), Y12, Z12, Z16)
	WRITE2(NEW1(192), NEW3(192), NEW5(192), NEW7(192), Y13, Z13, Z17)
	WRITE2(NEW8(192), NEW10(192), ended0(SP), OLD14(192), Y14, Z14, Z26)
	WRITE2(NEW9(192), NEW11(192), ended1(SP), OLD15(192), Y15, Z15, Z27)
	PART(NEW12(208), OLD12(192), OLD13(192), OLD13(208), even12)

	BEGIN(5, Z11, NEW13(216))
	READ2(NEW0(240), NEW2(240), NEW4(240), NEW6(240), Y12, Z12, Z16)
	READ2(NEW1(240), NEW3(240), NEW5(240), NEW7(240), Y13, Z13, Z17)
	READ2(NEW8(240), NEW10(240), NEW12(240), NEW14(240), Y14, Z14, Z26)
	READ2(NEW9(240), NEW11(240), NEW13(240), OLD15(240), Y15, Z15, Z27)
	VINSERTF64X2 $3, NEW15(256), Z27, Z27
	FIRST(224, 14, first14)
	BEGIN(6, Z11, NEW14(232))
	SECOND(224, 15, second14)
	WRITE2(NEW0(224), NEW2(224), NEW4(224), NEW6(224), Y12, Z12, Z16)
	WRITE2(NEW1(224), NEW3(224), NEW5(224), NEW7(224), Y13, Z13, Z17)
	WRITE2(NEW8(224), NEW10(224), NEW12(224), ended0(SP), Y14, Z14, Z26)
	WRITE2(NEW9(224), NEW11(224), NEW13(224), ended1(SP), Y15, Z15, Z27)
	PART(NEW14(240), OLD14(224), OLD15(224), OLD15(240), even14)

	MOVQ saved(SP), AX
	MOVQ (saved+8)(SP), R9
	MOVQ (saved+16)(SP), CX
	SUBQ $16, R9
	ADDQ $32, CX
	SUBQ $16, DI
	VPBROADCASTQ AX, Z22
	VPADDQ apart(SP), Z22, Z23
	VPADDQ (apart+64)(SP), Z22, Z24
	VMOVDQU64 Z23, loads(SP)
	VMOVDQU64 Z24, (loads+64)(SP)
	VMOVDQU64 Z23, stores(SP)
	VMOVDQU64 Z24, (stores+64)(SP)
	MOVQ AX, R12
	SUBQ R11, R12
	LEAQ (AX)(R13*8), BX
	LEAQ (BX)(R13*8), R8
	// Lane 15 begins its row; below it is the one that lane 0 begins next.
	LEAQ (BX)(R10*1), AX
	MOVL $0x80, BX
	KMOVB BX, K4
	VBROADCASTSD -8(AX)(CX*8), K4, Z11
	MOVL $0xFFFFFFFF, AX
	MOVL AX, counts(SP)
	LEAQ 16(R8), R13
	MOVQ $17, R10                 // no lane ends a row or begins one
	TESTQ $1, DI
	JNZ step
	JMP fast

step:
	CMPQ R10, $16
	JGT relax
	TESTQ R10, R10
	JZ endRow

	// Lane R10-1 begins the row that it already reads.
	LEAQ -1(R10), DX
	MOVQ loads(SP)(DX*8), AX
	LEFT(-8(AX)(CX*8))
	// It writes this row if the block has it: R9 is one less than for this lane.
	MOVQ AX, R14
	MOVL $0x10001, BX
	CMPQ R9, $-1
	JGT active
	LEAQ nowhere(SP), R14
	LEAQ (CX*8), BX
	SUBQ BX, R14
	XORL BX, BX
active:
	MOVQ R14, stores(SP)(DX*8)
	TESTQ DX, DX
	JNZ notFirst                  // lane 0 changes the row above
	MOVQ AX, R12
	SUBQ R11, R12
notFirst:
	CMPQ DX, $15
	JNE notLast                   // lane 15 changes the row below
	XORQ R13, R13
	CMPQ R9, R13
	CMOVQLT R9, R13
	IMULQ R11, R13
	LEAQ 16(R8)(R13*1), R13
notLast:
	MOVL $0x10001, AX             // both columns count, or none
	SHLXQ DX, AX, AX
	NOTL AX
	ANDL counts(SP), AX
	SHLXQ DX, BX, BX
	ORL BX, AX
	MOVL AX, counts(SP)
	CMPQ R10, $16
	JEQ relax

endRow:
	// Lane R10 ends its row: at most one column of this pair is of the block, so the pair is written aside. What the lane
	// reads is its next row; beyond the row below the block, that one.
	MOVQ stores(SP)(R10*8), DX
	LEAQ ending(SP), R14
	LEAQ (CX*8), BX
	SUBQ BX, R14
	MOVQ R14, stores(SP)(R10*8)
	XORQ AX, AX
	CMPQ R9, AX
	CMOVQLT R9, AX
	IMULQ R11, AX
	ADDQ R8, AX
	MOVQ AX, loads(SP)(R10*8)
	LEAQ -16(R8)(R11*1), R8
	DECQ R9
	MOVL $0x10001, AX
	SUBQ odd(SP), AX
	SHLXQ R10, AX, AX
	NOTL AX
	ANDL AX, counts(SP)

relax:
	READ(0, X12, Z12)
	READ(1, X13, Z13)
	READ(8, X14, Z14)
	READ(9, X15, Z15)
	RELAX((R12)(CX*8), 8(R12)(CX*8), (R13)(CX*8), 8(R13)(CX*8), Z12, Z13, Z14, Z15, Z2, Z3, Z4, Z5, Z18, Z19, Z20, Z21)
	WRITE(0, X12, Z12)
	WRITE(1, X13, Z13)
	WRITE(8, X14, Z14)
	WRITE(9, X15, Z15)
	TESTQ R15, R15
	JZ tracked
	CHANGES(Z2, Z3, Z4, Z5)
	COUNT
tracked:
	VMOVAPD Z18, Z2
	VMOVAPD Z19, Z3
	VMOVAPD Z20, Z4
	VMOVAPD Z21, Z5
	CMPQ R10, $16
	JGE ended
	CMPQ odd(SP), $0
	JEQ ended
	MOVQ ending(SP), AX           // the last column of the row
	MOVQ AX, (DX)(CX*8)
ended:
	ADDQ $2, CX
	INCQ R10
	DECQ DI
	JZ endGroup
	CMPQ R10, $16
	JLT step
	JEQ last
	CMPQ R9, $0
	JLT step                      // some lanes of this group are idle
	TESTQ $1, DI
	JNZ step
	JMP fast
last:
	TESTQ SI, SI                  // there was no group to begin: all rows have ended
	JZ end
	JMP step

fast:
	// All lanes are within rows of one group, which are as far from one another as their pointers: two steps at a time.
	// R12 is then the pointer to the value above lane 0.
	MOVQ R12, saved(SP)
	MOVQ R13, (saved+8)(SP)
	MOVQ loads(SP), AX
	LEAQ (AX)(CX*8), AX
	LEAQ (R12)(CX*8), R12
	WAYS
	LEAQ (AX)(R13*8), BX
	LEAQ (CX)(DI*2), CX
twoSteps:
	READ2(OLD0(16), OLD2(16), OLD4(16), OLD6(16), Y12, Z12, Z16)
	READ2(OLD1(16), OLD3(16), OLD5(16), OLD7(16), Y13, Z13, Z17)
	READ2(OLD8(16), OLD10(16), OLD12(16), OLD14(16), Y14, Z14, Z26)
	READ2(OLD9(16), OLD11(16), OLD13(16), OLD15(16), Y15, Z15, Z27)
	RELAX((R12), 8(R12), OLD16(16), OLD16(24), Z12, Z13, Z14, Z15, Z2, Z3, Z4, Z5, Z18, Z19, Z20, Z21)
	TESTQ R15, R15
	JZ firstTracked
	CHANGES(Z2, Z3, Z4, Z5)
	ALLCOUNT
firstTracked:
	RELAX(16(R12), 24(R12), OLD16(32), OLD16(40), Z16, Z17, Z26, Z27, Z18, Z19, Z20, Z21, Z2, Z3, Z4, Z5)
	TESTQ R15, R15
	JZ secondTracked
	CHANGES(Z18, Z19, Z20, Z21)
	ALLCOUNT
secondTracked:
	WRITE2(OLD0(0), OLD2(0), OLD4(0), OLD6(0), Y12, Z12, Z16)
	WRITE2(OLD1(0), OLD3(0), OLD5(0), OLD7(0), Y13, Z13, Z17)
	WRITE2(OLD8(0), OLD10(0), OLD12(0), OLD14(0), Y14, Z14, Z26)
	WRITE2(OLD9(0), OLD11(0), OLD13(0), OLD15(0), Y15, Z15, Z27)
	ADDQ $32, AX
	ADDQ $32, BX
	ADDQ $32, R12
	SUBQ $2, DI
	JNZ twoSteps
	MOVQ saved(SP), R12
	MOVQ (saved+8)(SP), R13

endGroup:
	ADDQ rewind(SP), R8
	DECQ SI
	JMP group

end:
	VEXTRACTF64X4 $1, Z28, Y18
	VPMAXUQ Z18, Z28, Z28
	VEXTRACTF64X2 $1, Z28, X18
	VPMAXUQ Z18, Z28, Z28
	VPSHUFD $0x4E, Z28, Z18
	VPMAXUQ Z18, Z28, Z28
	VMOVQ X28, AX
	MOVQ AX, largest+56(FP)
	VZEROUPPER
	RET
