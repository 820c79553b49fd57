#include "textflag.h"
#include "sor_blocks_amd64.h"
#include "sor_wave16_amd64.h"

// wave16 relaxes blocks as one wavefront of 16 lanes; doc.go has the picture, sor_amd64.go the contract. Lane l
// relaxes the rows l, l+16, l+32 ... of a block, and then those of the next block, one after the other without a pause, a pair of neighbouring columns
// a step, one step behind lane l-1. After the last column of the block a row has one more column, or two, so that they
// make pairs; no result of theirs is kept. In the step of this last pair a lane already reads the first pair of its
// next row.
//
// Steps come in twos where all lanes are within their rows (fast), and where each of them ends a row and begins another
// (change); one by one where some have no row yet, or no more, and where one is left over. Where changes are not tracked most of those that come in twos
// are a stream (stream and turn; sor_wave16_amd64.h), from which they differ in nothing but the order of their instructions.
//
// Memory has rows, arithmetic wants columns of the wavefront: 8 lanes in a vector, A being the even lanes and B the odd ones. So the
// lanes before those of B, and after those of A, are at the same places of the other vector, and only the others need shifting.
// In between are pairs: a quarter of a vector is a pair of a row, even vectors have those of lanes 0 4 8 12 (1 5 9 13), odd ones those
// of lanes 2 6 10 14 (3 7 11 15). UNPCKs turn pairs into columns and back.
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

// func wave16(blocks *block, n, stride int, quarter, keep float64, track bool) (largest uint64)
TEXT ·wave16(SB), 0, $9280-56
	BLOCKS
	VBROADCASTSD quarter+24(FP), Z0
	VBROADCASTSD keep+32(FP), Z1

	// Before its first row a lane reads what is at the left of it and writes nowhere. There is a step before the first,
	// for lane 0 to read its first pair.
	MOVQ $-2, CX
	BLOCK(4, AX, BX)
	MOVQ $0, odd(SP)
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

	FIRST(0, 0, NEW1, 0, Z26, first0, NEW0, OLD1, OLD2, OLD3, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	BEGIN(0, Z9, NEW0(8))
	MOVQ R8, R12                  // the row above lane 0
	SUBQ R11, R12
	SECOND(0, 1, second0, END0, END1, OLD2, OLD3, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	PART(NEW0(16), OLD0(0), OLD1(0), OLD1(16), even0)

	BEGIN(0, Z11, NEW1(24))
	FIRST(32, 2, NEW3, 0, Z27, first2, NEW0, NEW1, NEW2, OLD3, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	BEGIN(1, Z9, NEW2(40))
	SECOND(32, 3, second2, NEW0, NEW1, END0, END1, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	PART(NEW2(48), OLD2(32), OLD3(32), OLD3(48), even2)

	BEGIN(1, Z11, NEW3(56))
	FIRST(64, 4, NEW5, 1, Z26, first4, NEW0, NEW1, NEW2, NEW3, NEW4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	BEGIN(2, Z9, NEW4(72))
	SECOND(64, 5, second4, NEW0, NEW1, NEW2, NEW3, END0, END1, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	PART(NEW4(80), OLD4(64), OLD5(64), OLD5(80), even4)

	BEGIN(2, Z11, NEW5(88))
	FIRST(96, 6, NEW7, 1, Z27, first6, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	BEGIN(3, Z9, NEW6(104))
	SECOND(96, 7, second6, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, END0, END1, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	PART(NEW6(112), OLD6(96), OLD7(96), OLD7(112), even6)

	BEGIN(3, Z11, NEW7(120))
	FIRST(128, 8, NEW9, 2, Z26, first8, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, NEW8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	BEGIN(4, Z9, NEW8(136))
	SECOND(128, 9, second8, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, END0, END1, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	PART(NEW8(144), OLD8(128), OLD9(128), OLD9(144), even8)

	BEGIN(4, Z11, NEW9(152))
	FIRST(160, 10, NEW11, 2, Z27, first10, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, NEW8, NEW9, NEW10, OLD11, OLD12, OLD13, OLD14, OLD15)
	BEGIN(5, Z9, NEW10(168))
	SECOND(160, 11, second10, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, NEW8, NEW9, END0, END1, OLD12, OLD13, OLD14, OLD15)
	PART(NEW10(176), OLD10(160), OLD11(160), OLD11(176), even10)

	BEGIN(5, Z11, NEW11(184))
	FIRST(192, 12, NEW13, 3, Z26, first12, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, NEW8, NEW9, NEW10, NEW11, NEW12, OLD13, OLD14, OLD15)
	BEGIN(6, Z9, NEW12(200))
	SECOND(192, 13, second12, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, NEW8, NEW9, NEW10, NEW11, END0, END1, OLD14, OLD15)
	PART(NEW12(208), OLD12(192), OLD13(192), OLD13(208), even12)

	BEGIN(6, Z11, NEW13(216))
	FIRST(224, 14, NEW15, 3, Z27, first14, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, NEW8, NEW9, NEW10, NEW11, NEW12, NEW13, NEW14, OLD15)
	BEGIN(7, Z9, NEW14(232))
	SECOND(224, 15, second14, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, NEW8, NEW9, NEW10, NEW11, NEW12, NEW13, END0, END1)
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
	MOVQ nextOdd(SP), AX
	MOVQ AX, odd(SP)
	LEAQ 16(R8), R13
	MOVQ $17, R10                 // no lane ends a row or begins one
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
	PLACE(DX, R14)
	MOVL $0x10001, AX             // both columns count, or none
	SHLXQ R14, AX, AX
	NOTL AX
	ANDL counts(SP), AX
	SHLXQ R14, BX, BX
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
	PLACE(R10, R14)
	MOVL $0x10001, AX
	SUBQ odd(SP), AX
	SHLXQ R14, AX, AX
	NOTL AX
	ANDL AX, counts(SP)

relax:
	READ(0, X12, Z12)
	READ(2, X13, Z13)
	READ(1, X14, Z14)
	READ(3, X15, Z15)
	RELAX((R12)(CX*8), 8(R12)(CX*8), (R13)(CX*8), 8(R13)(CX*8), Z12, Z13, Z14, Z15, Z2, Z3, Z4, Z5, Z18, Z19, Z20, Z21)
	WRITE(0, X12, Z12)
	WRITE(2, X13, Z13)
	WRITE(1, X14, Z14)
	WRITE(3, X15, Z15)
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
	JLT idle                      // some lanes of this group are
	JMP fast
last:
	TESTQ SI, SI                  // there was no group to begin: all rows have ended
	JZ end
	MOVQ nextOdd(SP), AX
	MOVQ AX, odd(SP)
	JMP step

idle:
	// A stream for lanes that are anywhere. It leaves some steps at the end, since it reads four ahead.
	TESTQ R15, R15
	JNZ step
	CMPQ DI, $20
	JLT step
	READ2BY(0, 16, Y12, Z12, Z16, Y22, Z22)
	READ2BY(2, 16, Y13, Z13, Z17, Y22, Z22)
	READ2BY(1, 16, Y14, Z14, Z26, Y22, Z22)
	READ2BY(3, 16, Y15, Z15, Z27, Y22, Z22)
	RELAX((R12)(CX*8), 8(R12)(CX*8), (R13)(CX*8), 8(R13)(CX*8), Z12, Z13, Z14, Z15, Z2, Z3, Z4, Z5, Z18, Z19, Z20, Z21)
	RELAX(16(R12)(CX*8), 24(R12)(CX*8), 16(R13)(CX*8), 24(R13)(CX*8), Z16, Z17, Z26, Z27, Z18, Z19, Z20, Z21, Z2, Z3, Z4, Z5)
	ADDQ $4, CX
	SUBQ $2, DI
	READ2BY(0, 16, Y24, Z24, Z1, Y28, Z28)
	READ2BY(2, 16, Y19, Z19, Z6, Y28, Z28)
	READ2BY(1, 16, Y20, Z20, Z7, Y28, Z28)
	READ2BY(3, 16, Y21, Z21, Z30, Y28, Z28)
	PREPARE((R12)(CX*8), (R13)(CX*8), 8(R13)(CX*8))
idleStream:
	STREAM1(8(R12)(CX*8), 16(R12)(CX*8), 16(R13)(CX*8), 24(R13)(CX*8), WRITE2BY(0, -32, Y12, Z12, Z16), NOTHING, WRITE2BY(2, -32, Y13, Z13, Z17); READ2BY(0, 48, Y16, Z16, Z1, Y28, Z28), WRITE2BY(1, -32, Y14, Z14, Z26); READ2BY(1, 48, Y26, Z26, Z7, Y28, Z28), WRITE2BY(3, -32, Y15, Z15, Z27))
	STREAM2(24(R12)(CX*8), 32(R12)(CX*8), 32(R13)(CX*8), 40(R13)(CX*8), NOTHING, READ2BY(2, 48, Y17, Z17, Z6, Y28, Z28); READ2BY(3, 48, Y27, Z27, Z30, Y28, Z28), NOTHING, NOTHING, NOTHING)
	ADDQ $4, CX
	SUBQ $2, DI
	CMPQ DI, $6
	JGE idleStream
	WRITE2BY(0, -32, Y12, Z12, Z16)
	WRITE2BY(2, -32, Y13, Z13, Z17)
	WRITE2BY(1, -32, Y14, Z14, Z26)
	WRITE2BY(3, -32, Y15, Z15, Z27)
	READ2BY(0, 0, Y16, Z16, Z1, Y28, Z28)
	READ2BY(2, 0, Y17, Z17, Z6, Y28, Z28)
	READ2BY(1, 0, Y26, Z26, Z7, Y28, Z28)
	READ2BY(3, 0, Y27, Z27, Z30, Y28, Z28)
	RESTORE
	JMP step

fast:
	// All lanes are within rows of one group, which are as far from one another as their pointers: two steps at a time, and last the one that may be
	// left over. R12 is then the pointer to the value above lane 0.
	CMPQ DI, $1
	JEQ step
	MOVQ R12, saved(SP)
	MOVQ R13, (saved+8)(SP)
	MOVQ loads(SP), AX
	LEAQ (AX)(CX*8), AX
	LEAQ (R12)(CX*8), R12
	WAYS
	LEAQ (AX)(R13*8), BX
	LEAQ (CX)(DI*2), CX
	DECQ DI                       // one less is left: 0 or -1 behind the last two
	TESTQ R15, R15
	JNZ twoSteps
	CMPQ DI, $(const_streamed/2+1-16-1) // a stream is worth its beginning and end
	JLT twoSteps

	// The first two steps, whose pairs the stream writes.
	READALL(16, OLD0, OLD1, OLD2, OLD3, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	RELAX((R12), 8(R12), OLD16(16), OLD16(24), Z12, Z13, Z14, Z15, Z2, Z3, Z4, Z5, Z18, Z19, Z20, Z21)
	RELAX(16(R12), 24(R12), OLD16(32), OLD16(40), Z16, Z17, Z26, Z27, Z18, Z19, Z20, Z21, Z2, Z3, Z4, Z5)
	ADVANCE
	READ2(OLD0(16), OLD4(16), OLD8(16), OLD12(16), Y24, Z24, Z1, Y28, Z28)
	READ2(OLD2(16), OLD6(16), OLD10(16), OLD14(16), Y19, Z19, Z6, Y28, Z28)
	READ2(OLD1(16), OLD5(16), OLD9(16), OLD13(16), Y20, Z20, Z7, Y28, Z28)
	READ2(OLD3(16), OLD7(16), OLD11(16), OLD15(16), Y21, Z21, Z30, Y28, Z28)
	PREPARE((R12), OLD16(16), OLD16(24))
stream:
	EVEN(0, R12, OLD16, NOTHING, OLD0, OLD1, OLD2, OLD3, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15, OLD0, OLD4, OLD8, OLD12, OLD1, OLD5, OLD9, OLD13)
	UNEVEN(0, OLD16, NOTHING, OLD2, OLD6, OLD10, OLD14, OLD3, OLD7, OLD11, OLD15)
	ADVANCE
streamed:
	CMPQ DI, $2
	JGT stream
	// Two steps are left, or three. The stream goes on if it is two, and if all lanes have a row to begin then.
	JEQ unstream
	CMPQ SI, $1
	JEQ nextBlock
	CMPQ R9, $16
	JLT unstream
	ADDQ rewind(SP), R8
	DECQ SI
	JMP turn
nextBlock:
	MOVQ following(SP), R15
	CMPQ R15, behind(SP)
	JEQ stay
	CMPQ block_rows(R15), $16
	JLT stay
	CMPQ block_cols(R15), $const_streamed
	JLT stay
	BLOCK(4, R15, R14)
	JMP turn
stay:
	XORQ R15, R15
	JMP unstream

turn:
	// The last two steps within rows; then, as in change, lanes end rows and begin others, one after the other; and the first two steps when all have.
	MOVQ R8, (saved+16)(SP)
	WAYS
	LEAQ (R8)(CX*8), R8
	MOVQ R9, (saved+8)(SP)
	LEAQ (R8)(R13*8), R9
	MOVQ R8, R15                  // the row above lane 0
	SUBQ R11, R15
	MOVQ CX, saved(SP)
	ADVANCE
	EVEN(-32, R12, OLD16, JOIN(0, NEW1(32), Z7), OLD0, OLD1, OLD2, OLD3, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15, NEW0, OLD4, OLD8, OLD12, OLD1, OLD5, OLD9, OLD13)
	UNEVEN(-32, OLD16, NOTHING, OLD2, OLD6, OLD10, OLD14, OLD3, OLD7, OLD11, OLD15)
	EVEN(0, R15, OLD16, NOTHING, OLD0, OLD1, OLD2, OLD3, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15, NEW0, OLD4, OLD8, OLD12, NEW1, OLD5, OLD9, OLD13)
	BEGIN(0, Z9, NEW0(8))
	MOVQ R15, R12
	UNEVEN(0, OLD16, JOIN(0, NEW3(64), Z30), NEW2, OLD6, OLD10, OLD14, OLD3, OLD7, OLD11, OLD15)
	BEGIN(0, Z11, NEW1(24))
	EVEN(32, R12, OLD16, JOIN(1, NEW5(96), Z7), END0, END1, OLD2, OLD3, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15, NEW0, NEW4, OLD8, OLD12, NEW1, OLD5, OLD9, OLD13)
	BEGIN(1, Z9, NEW2(40))
	PART(NEW0(16), OLD0(0), OLD1(0), OLD1(16), part0)
	UNEVEN(32, OLD16, NOTHING, NEW2, OLD6, OLD10, OLD14, NEW3, OLD7, OLD11, OLD15)
	BEGIN(1, Z11, NEW3(56))
	EVEN(64, R12, OLD16, NOTHING, NEW0, NEW1, END0, END1, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15, NEW0, NEW4, OLD8, OLD12, NEW1, NEW5, OLD9, OLD13)
	BEGIN(2, Z9, NEW4(72))
	PART(NEW2(48), OLD2(32), OLD3(32), OLD3(48), part2)
	UNEVEN(64, OLD16, JOIN(1, NEW7(128), Z30), NEW2, NEW6, OLD10, OLD14, NEW3, OLD7, OLD11, OLD15)
	BEGIN(2, Z11, NEW5(88))
	EVEN(96, R12, OLD16, JOIN(2, NEW9(160), Z7), NEW0, NEW1, NEW2, NEW3, END0, END1, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15, NEW0, NEW4, NEW8, OLD12, NEW1, NEW5, OLD9, OLD13)
	BEGIN(3, Z9, NEW6(104))
	PART(NEW4(80), OLD4(64), OLD5(64), OLD5(80), part4)
	UNEVEN(96, OLD16, NOTHING, NEW2, NEW6, OLD10, OLD14, NEW3, NEW7, OLD11, OLD15)
	BEGIN(3, Z11, NEW7(120))
	EVEN(128, R12, OLD16, NOTHING, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, END0, END1, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15, NEW0, NEW4, NEW8, OLD12, NEW1, NEW5, NEW9, OLD13)
	BEGIN(4, Z9, NEW8(136))
	PART(NEW6(112), OLD6(96), OLD7(96), OLD7(112), part6)
	UNEVEN(128, OLD16, JOIN(2, NEW11(192), Z30), NEW2, NEW6, NEW10, OLD14, NEW3, NEW7, OLD11, OLD15)
	BEGIN(4, Z11, NEW9(152))
	EVEN(160, R12, OLD16, JOIN(3, NEW13(224), Z7), NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, END0, END1, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15, NEW0, NEW4, NEW8, NEW12, NEW1, NEW5, NEW9, OLD13)
	BEGIN(5, Z9, NEW10(168))
	PART(NEW8(144), OLD8(128), OLD9(128), OLD9(144), part8)
	UNEVEN(160, OLD16, NOTHING, NEW2, NEW6, NEW10, OLD14, NEW3, NEW7, NEW11, OLD15)
	BEGIN(5, Z11, NEW11(184))
	EVEN(192, R12, OLD16, NOTHING, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, NEW8, NEW9, END0, END1, OLD12, OLD13, OLD14, OLD15, NEW0, NEW4, NEW8, NEW12, NEW1, NEW5, NEW9, NEW13)
	BEGIN(6, Z9, NEW12(200))
	PART(NEW10(176), OLD10(160), OLD11(160), OLD11(176), part10)
	UNEVEN(192, OLD16, JOIN(3, NEW15(256), Z30), NEW2, NEW6, NEW10, NEW14, NEW3, NEW7, NEW11, OLD15)
	BEGIN(6, Z11, NEW13(216))
	EVEN(224, R12, OLD16, NOTHING, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, NEW8, NEW9, NEW10, NEW11, END0, END1, OLD14, OLD15, NEW0, NEW4, NEW8, NEW12, NEW1, NEW5, NEW9, NEW13)
	BEGIN(7, Z9, NEW14(232))
	PART(NEW12(208), OLD12(192), OLD13(192), OLD13(208), part12)
	UNEVEN(224, NEW16, NOTHING, NEW2, NEW6, NEW10, NEW14, NEW3, NEW7, NEW11, NEW15)
	BEGIN(7, Z11, NEW15(248))
	EVEN(256, R12, NEW16, NOTHING, NEW0, NEW1, NEW2, NEW3, NEW4, NEW5, NEW6, NEW7, NEW8, NEW9, NEW10, NEW11, NEW12, NEW13, END0, END1, NEW0, NEW4, NEW8, NEW12, NEW1, NEW5, NEW9, NEW13)
	PART(NEW14(240), OLD14(224), OLD15(224), OLD15(240), part14)
	UNEVEN(256, NEW16, NOTHING, NEW2, NEW6, NEW10, NEW14, NEW3, NEW7, NEW11, NEW15)
	LEAQ 288(R8), AX
	LEAQ 288(R9), BX
	ADDQ $288, R12
	MOVQ saved(SP), CX
	MOVQ (saved+16)(SP), R8
	MOVQ (saved+8)(SP), R9
	SUBQ $16, R9
	MOVQ steps(SP), DI
	LEAQ (CX)(DI*2), CX
	SUBQ $19, DI                  // 18 have been done, and it is one less
	VPBROADCASTQ R8, Z28
	VPADDQ apart(SP), Z28, Z24
	VMOVDQU64 Z24, loads(SP)
	VMOVDQU64 Z24, stores(SP)
	VPADDQ (apart+64)(SP), Z28, Z24
	VMOVDQU64 Z24, (loads+64)(SP)
	VMOVDQU64 Z24, (stores+64)(SP)
	MOVQ R8, R15
	SUBQ R11, R15
	MOVQ R15, saved(SP)
	LEAQ (R8)(R13*8), R8
	LEAQ (R8)(R13*8), R8
	LEAQ 16(R8), R15
	MOVQ R15, (saved+8)(SP)
	MOVQ nextOdd(SP), R15
	MOVQ R15, odd(SP)
	XORQ R15, R15
	JMP streamed

unstream:
	// It has read the pairs of the last two steps, which need them again: the others do not find in registers what it leaves there.
	PUTEA(-32, OLD0, OLD4, OLD8, OLD12)
	PUTOA(-32, OLD2, OLD6, OLD10, OLD14)
	PUTEB(-32, OLD1, OLD5, OLD9, OLD13)
	PUTOB(-32, OLD3, OLD7, OLD11, OLD15)
	GETEA(0, OLD0, OLD4, OLD8, OLD12)
	GETOA(0, OLD2, OLD6, OLD10, OLD14)
	GETEB(0, OLD1, OLD5, OLD9, OLD13)
	GETOB(0, OLD3, OLD7, OLD11, OLD15)
	RESTORE

twoSteps:
	READALL(16, OLD0, OLD1, OLD2, OLD3, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
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
	WRITEALL(0, OLD0, OLD1, OLD2, OLD3, OLD4, OLD5, OLD6, OLD7, OLD8, OLD9, OLD10, OLD11, OLD12, OLD13, OLD14, OLD15)
	ADVANCE
	JGT twoSteps
	MOVQ saved(SP), R12
	MOVQ (saved+8)(SP), R13
	INCQ DI
	JZ endGroup
	SUBQ $2, CX
	MOVQ $17, R10                 // no lane ends a row or begins one
	JMP step

endGroup:
	ADDQ rewind(SP), R8
	DECQ SI
	JNZ group
	MOVQ following(SP), AX
	CMPQ AX, behind(SP)
	JEQ group                     // the last rows end, and none begin
	MOVQ R9, R14
	BLOCK(4, AX, BX)
	TESTQ R14, R14
	JZ group
	XORQ R10, R10                 // some lanes have no row to end
	MOVQ steps(SP), DI
	JMP step

end:
	VEXTRACTF64X4 $1, Z28, Y18
	VPMAXUQ Z18, Z28, Z28
	VEXTRACTF64X2 $1, Z28, X18
	VPMAXUQ Z18, Z28, Z28
	VPSHUFD $0x4E, Z28, Z18
	VPMAXUQ Z18, Z28, Z28
	VMOVQ X28, AX
	MOVQ AX, largest+48(FP)
	VZEROUPPER
	RET
