#include "textflag.h"
#include "sor_blocks_amd64.h"

// wave8 is wave16 (sor_wave16_amd64.s) with 8 lanes, for processors whose vectors have 4 elements. What differs is noted here.
//
// Half of a vector is a pair of a row: even vectors have those of lanes 0 and 4 (1 and 5), odd ones those of lanes 2 and 6 (3 and 7).
// What is below B is the next pair of the lanes after them: as pairs, that is the odd vector of A, and an even one with the row below the lanes
// in place of lane 0. So it is made of pairs, by two instructions less than columns would take. What is above A is made of columns: new pairs
// would be there later, and that time would add to the chain.
//
//	Y2  Y3   old values of this step, A, first and second column
//	Y4  Y5   the same, B
//	Y6  Y7   new values of the step before, A, first and second column; from the middle of a step on, of this step
//	Y8  Y9   the same, B
//	Y0 Y12 Y1 Y14  old values of the next step, as Y2 to Y5, when RELAX ends
//	Y12 Y13  pairs of A, even and odd: the old ones of the next step when RELAX begins
//	Y14 Y15  the same, B
//	Y10 Y11  temporary
//
//	AX BX DX R14    temporary; the other integer registers are those of wave16

// Frame.
#define loads     0    // [8] pointers: row that the lane reads
#define stores    64   // [8] pointers: row that the lane writes
#define ending    128  // the last pair of a row
#define steps     144  // steps a row
#define rewind    152  // bytes from the pointer of lane 8 of a group to that of lane 0 of the next
#define odd       160  // columns of the block in the last pair of a row: 1 or 0; of the rows that end
#define nextOdd   168  // the same of the rows that begin
#define above     176  // R12, while lanes need no pointers of their own
#define below     184  // R13
#define quarters  192  // [4] float64, and the other weight
#define keeps     224
#define most      256  // [4] largest |new - old|, as bits
#define firsts    288  // [8] all bits, at PLACE, in lanes whose first column counts for that, or none; and their second column
#define seconds   352
#define following 416  // pointer to the block that comes next
#define behind    424  // pointer behind the last one
#define nowhere   432  // [1064] float64: what idle lanes write

// lane<>+(7-l)*8 has all bits in element l.
DATA lane<>+0(SB)/8, $0
DATA lane<>+8(SB)/8, $0
DATA lane<>+16(SB)/8, $0
DATA lane<>+24(SB)/8, $0
DATA lane<>+32(SB)/8, $0
DATA lane<>+40(SB)/8, $0
DATA lane<>+48(SB)/8, $0
DATA lane<>+56(SB)/8, $-1
DATA lane<>+64(SB)/8, $0
DATA lane<>+72(SB)/8, $0
DATA lane<>+80(SB)/8, $0
DATA lane<>+88(SB)/8, $0
DATA lane<>+96(SB)/8, $0
DATA lane<>+104(SB)/8, $0
DATA lane<>+112(SB)/8, $0
GLOBL lane<>(SB), RODATA|NOPTR, $120

DATA unsigned<>+0(SB)/8, $0x7fffffffffffffff
DATA unsigned<>+8(SB)/8, $0x7fffffffffffffff
DATA unsigned<>+16(SB)/8, $0x7fffffffffffffff
DATA unsigned<>+24(SB)/8, $0x7fffffffffffffff
GLOBL unsigned<>(SB), RODATA|NOPTR, $32

// READ gets the pairs of two lanes. READ2 does it with the memory before the second one, and without a port that is busy enough.
#define READ(first, second, x, y) \
	VMOVUPD first, x              \
	VINSERTF128 $1, second, y, y

#define READ2(first, second, x, y) \
	VMOVUPD first, x              \
	VBLENDPD $12, second, y, y

// PAIRS makes new pairs of the columns of A or B: even ones in Y10, odd ones in Y11.
#define PAIRS(c0, c1) \
	VUNPCKLPD c1, c0, Y10         \
	VUNPCKHPD c1, c0, Y11

// FETCH and WRITE get and put two vectors of pairs by the pointers of lanes l, l+2, l+4 and l+6.
#define FETCH(l, x, y, xx, yy) \
	MOVQ (loads+8*l)(SP), AX      \
	MOVQ (loads+8*l+32)(SP), BX   \
	READ(16(AX)(CX*8), 16(BX)(CX*8), x, y) \
	MOVQ (loads+8*l+16)(SP), AX   \
	MOVQ (loads+8*l+48)(SP), BX   \
	READ(16(AX)(CX*8), 16(BX)(CX*8), xx, yy)

#define WRITE(l, c0, c1) \
	PAIRS(c0, c1)                 \
	MOVQ (stores+8*l)(SP), AX     \
	MOVQ (stores+8*l+16)(SP), BX  \
	VMOVUPD X10, (AX)(CX*8)       \
	VMOVUPD X11, (BX)(CX*8)       \
	MOVQ (stores+8*l+32)(SP), AX  \
	MOVQ (stores+8*l+48)(SP), BX  \
	VEXTRACTF128 $1, Y10, (AX)(CX*8) \
	VEXTRACTF128 $1, Y11, (BX)(CX*8)

// PLACE is where a lane is among the 8 of A and B.
#define PLACE(lane, place) \
	MOVL lane, place              \
	SHLL $3, place                \
	ORL lane, place               \
	SHRL $1, place                \
	ANDL $7, place

// ABOVE gets what is above A, what the lanes before, of B, had two columns ago: in Y11 and Y10, first and second column. Above B is what A had: Y6 and Y7.
// above0 and above1 point at the values above lane 0.
#define ABOVE(above0, above1) \
	VMOVDDUP above1, X10          \
	VINSERTF128 $1, X9, Y10, Y10  \
	VSHUFPD $5, Y9, Y10, Y10      \
	VMOVDDUP above0, X11          \
	VINSERTF128 $1, X8, Y11, Y11  \
	VSHUFPD $5, Y8, Y11, Y11

// RELAX does a step, after ABOVE. Y0 has the pairs of lane 4 and below lane 7.
#define RELAX \
	VUNPCKLPD Y0, Y13, Y1         \ // below B: what the lanes after, of A, will have two columns ahead
	VUNPCKHPD Y0, Y13, Y0         \
	VADDPD Y1, Y6, Y8             \ // above + below
	VUNPCKLPD Y15, Y14, Y1        \ // old values of the next step, which are below A, too
	VUNPCKHPD Y15, Y14, Y14       \
	VADDPD Y1, Y11, Y6            \
	VADDPD Y0, Y7, Y11            \
	VADDPD Y14, Y10, Y10          \
	VUNPCKLPD Y13, Y12, Y0        \
	VUNPCKHPD Y13, Y12, Y12       \
	VADDPD Y3, Y6, Y6             \ // + right
	VADDPD Y5, Y8, Y8             \
	VADDPD Y0, Y10, Y10           \
	VADDPD Y1, Y11, Y11           \
	VMULPD keeps(SP), Y2, Y13     \ // keep * centre
	VMULPD keeps(SP), Y4, Y15     \
	VADDPD Y7, Y6, Y6             \ // first column: + left
	VADDPD Y9, Y8, Y8             \
	VMULPD quarters(SP), Y6, Y6   \
	VMULPD quarters(SP), Y8, Y8   \
	VADDPD Y13, Y6, Y6            \
	VADDPD Y15, Y8, Y8            \
	VMULPD keeps(SP), Y3, Y13     \
	VMULPD keeps(SP), Y5, Y15     \
	VADDPD Y6, Y10, Y10           \ // second column
	VADDPD Y8, Y11, Y11           \
	VMULPD quarters(SP), Y10, Y10 \
	VMULPD quarters(SP), Y11, Y11 \
	VADDPD Y13, Y10, Y7           \
	VADDPD Y15, Y11, Y9

// NEXT makes what is old in the next step what is old in this one.
#define NEXT \
	VMOVAPD Y0, Y2                \
	VMOVAPD Y12, Y3               \
	VMOVAPD Y1, Y4                \
	VMOVAPD Y14, Y5

// CHANGES leaves |new - old| in Y2 (A) and Y4 (B), first column, and Y3 and Y5, second column, which are not needed any more.
#define CHANGES \
	VSUBPD Y2, Y6, Y2             \
	VSUBPD Y4, Y8, Y4             \
	VSUBPD Y3, Y7, Y3             \
	VSUBPD Y5, Y9, Y5             \
	VANDPD unsigned<>(SB), Y2, Y2 \
	VANDPD unsigned<>(SB), Y4, Y4 \
	VANDPD unsigned<>(SB), Y3, Y3 \
	VANDPD unsigned<>(SB), Y5, Y5

// LARGER leaves the larger one of x and y in y.
#define LARGER(x, y) \
	VPCMPGTQ y, x, Y10            \
	VBLENDVPD Y10, x, y, y

// COUNT enters changes of all lanes.
#define COUNT \
	LARGER(Y2, Y4)                \
	LARGER(Y3, Y5)                \
	VMOVUPD most(SP), Y11         \
	LARGER(Y4, Y5)                \
	LARGER(Y5, Y11)               \
	VMOVUPD Y11, most(SP)

// func wave8(blocks *block, n, stride int, quarter, keep float64, track bool) (largest uint64)
TEXT ·wave8(SB), 0, $8960-56
	BLOCKS
	VBROADCASTSD quarter+24(FP), Y0
	VMOVUPD Y0, quarters(SP)
	VBROADCASTSD keep+32(FP), Y0
	VMOVUPD Y0, keeps(SP)

	// Before its first row a lane reads what is at the left of it and writes nowhere. There is a step before the first,
	// for lane 0 to read its first pair.
	MOVQ $-2, CX
	BLOCK(3, AX, BX)
	MOVQ $0, odd(SP)
	MOVQ R8, R12                  // the row of the lane
	MOVQ R9, R13                  // rows from there to the row below the block
	XORQ R10, R10
	LEAQ (nowhere+16)(SP), DI
first:
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
	CMPQ R10, $8
	JLT first
	MOVQ R8, R12                  // until lanes 0 and 7 begin: anything that may be read
	MOVQ AX, R13

	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7
	VXORPD Y8, Y8, Y8
	VXORPD Y9, Y9, Y9
	VMOVUPD Y2, most(SP)
	VMOVUPD Y2, firsts(SP)
	VMOVUPD Y2, (firsts+32)(SP)
	VMOVUPD Y2, seconds(SP)
	VMOVUPD Y2, (seconds+32)(SP)

group:
	XORQ R10, R10
	MOVQ steps(SP), DI

step:
	CMPQ R10, $8
	JGT relax
	TESTQ R10, R10
	JZ endRow

	// Lane R10-1 begins the row that it already reads: what is at the left of the row becomes its last new value. (The
	// lane after it uses that as its upper neighbour, but in the column that does not count.)
	LEAQ -1(R10), DX
	MOVQ loads(SP)(DX*8), AX
	LEAQ lane<>+56(SB), BX
	PLACE(DX, R14)
	NEGQ R14
	VBROADCASTSD -8(AX)(CX*8), Y10
	VMOVUPD (BX)(R14*8), Y11
	VBLENDVPD Y11, Y10, Y7, Y7
	VMOVUPD 32(BX)(R14*8), Y11
	VBLENDVPD Y11, Y10, Y9, Y9
	// It writes this row if the block has it: R9 is one less than for this lane.
	MOVQ AX, R14
	MOVQ $-1, BX
	CMPQ R9, $-1
	JGT active
	LEAQ nowhere(SP), R14
	LEAQ (CX*8), BX
	SUBQ BX, R14
	XORL BX, BX
active:
	MOVQ R14, stores(SP)(DX*8)
	PLACE(DX, R14)
	MOVQ BX, firsts(SP)(R14*8)    // both columns count, or none
	MOVQ BX, seconds(SP)(R14*8)
	TESTQ DX, DX
	JNZ notFirst                  // lane 0 changes the row above
	MOVQ AX, R12
	SUBQ R11, R12
notFirst:
	CMPQ DX, $7
	JNE notLast                   // lane 7 changes the row below
	XORQ R13, R13
	CMPQ R9, R13
	CMOVQLT R9, R13
	IMULQ R11, R13
	LEAQ 16(R8)(R13*1), R13
notLast:
	CMPQ R10, $8
	JEQ relax

endRow:
	// Lane R10 ends its row: at most one column of this pair is of the block, so the pair is written aside. What the lane
	// reads is its next row; beyond the row below the block, that one.
	MOVQ stores(SP)(R10*8), DX
	LEAQ ending(SP), R14
	LEAQ (CX*8), BX
	SUBQ BX, R14
	MOVQ R14, stores(SP)(R10*8)
	PLACE(R10, R14)
	XORQ AX, AX
	MOVQ AX, seconds(SP)(R14*8)
	CMPQ odd(SP), $0
	JNE lastCounts
	MOVQ AX, firsts(SP)(R14*8)
lastCounts:
	CMPQ R9, AX
	CMOVQLT R9, AX
	IMULQ R11, AX
	ADDQ R8, AX
	MOVQ AX, loads(SP)(R10*8)
	LEAQ -16(R8)(R11*1), R8
	DECQ R9

relax:
	FETCH(0, X12, Y12, X13, Y13)
	FETCH(1, X14, Y14, X15, Y15)
	ABOVE((R12)(CX*8), 8(R12)(CX*8))
	VEXTRACTF128 $1, Y12, X0
	VINSERTF128 $1, (R13)(CX*8), Y0, Y0
	RELAX
	TESTQ R15, R15
	JZ tracked
	CHANGES
	VANDPD firsts(SP), Y2, Y2
	VANDPD (firsts+32)(SP), Y4, Y4
	VANDPD seconds(SP), Y3, Y3
	VANDPD (seconds+32)(SP), Y5, Y5
	COUNT
tracked:
	NEXT
	WRITE(0, Y6, Y7)
	WRITE(1, Y8, Y9)
	CMPQ R10, $8
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
	CMPQ R10, $8
	JLT step
	JEQ last
	CMPQ R9, $0
	JLT step                      // some lanes of this group are idle
	JMP fast
last:
	TESTQ SI, SI                  // there was no group to begin: all rows have ended
	JZ end
	MOVQ nextOdd(SP), AX
	MOVQ AX, odd(SP)
	JMP step

fast:
	// All lanes are within rows of one group, which are as far from one another as their pointers.
	//	AX   pointer to this pair of lane 0    R13 DX R14 R10   1, 3, 5 and 7 times the way from a lane to the next
	//	                                       R12              pointer to the value above lane 0
	MOVQ R12, above(SP)
	MOVQ R13, below(SP)
	MOVQ loads(SP), AX
	LEAQ (AX)(CX*8), AX
	LEAQ (R12)(CX*8), R12
	LEAQ -16(R11), R13
	LEAQ (R13)(R13*2), DX
	LEAQ (R13)(R13*4), R14
	LEAQ (DX)(R13*4), R10
	LEAQ (CX)(DI*2), CX
fastStep:
	ABOVE((R12), 8(R12))
	READ2(16(AX), (AX)(R13*4), X12, Y12)
	READ2(16(AX)(R13*2), (AX)(DX*2), X13, Y13)
	READ2(16(AX)(R13*1), (AX)(R14*1), X14, Y14)
	READ2(16(AX)(DX*1), (AX)(R10*1), X15, Y15)
	READ2(16(AX)(R13*4), (AX)(R13*8), X0, Y0)
	RELAX
	TESTQ R15, R15
	JZ fastTracked
	CHANGES
	COUNT
fastTracked:
	NEXT
	PAIRS(Y6, Y7)
	VMOVUPD X10, (AX)
	VMOVUPD X11, (AX)(R13*2)
	VEXTRACTF128 $1, Y10, (AX)(R13*4)
	VEXTRACTF128 $1, Y11, (AX)(DX*2)
	PAIRS(Y8, Y9)
	VMOVUPD X10, (AX)(R13*1)
	VMOVUPD X11, (AX)(DX*1)
	VEXTRACTF128 $1, Y10, (AX)(R14*1)
	VEXTRACTF128 $1, Y11, (AX)(R10*1)
	ADDQ $16, AX
	ADDQ $16, R12
	DECQ DI
	JNZ fastStep
	MOVQ above(SP), R12
	MOVQ below(SP), R13

endGroup:
	ADDQ rewind(SP), R8
	DECQ SI
	JNZ group
	MOVQ following(SP), AX
	CMPQ AX, behind(SP)
	JEQ group                     // the last rows end, and none begin
	BLOCK(3, AX, BX)
	JMP group

end:
	VMOVUPD most(SP), Y5
	VEXTRACTF128 $1, Y5, X4
	LARGER(Y4, Y5)
	VPSHUFD $0x4E, X5, X4
	LARGER(Y4, Y5)
	VMOVQ X5, AX
	MOVQ AX, largest+48(FP)
	VZEROUPPER
	RET
