// The frame of wave16 and what it is made of. sor_wave16_amd64.s says what is in which register.

// Frame.
#define loads     0   // [16] pointers: row that the lane reads
#define stores    128 // [16] pointers: row that the lane writes
#define ending    256 // the last pair of a row
#define counts    272 // bits, at PLACE: lanes whose first column counts for the largest change; from bit 16 on, second column
#define steps     280 // steps a row
#define rewind    288 // bytes from the pointer of lane 16 of a group to that of lane 0 of the next
#define odd       296 // columns of the block in the last pair of a row: 1 or 0; of the rows that end
#define nextOdd   304 // the same of the rows that begin
#define ended0    320 // both pairs that the lane writes that ends its row in the first of two steps, before they go where they belong
#define ended1    352 // the same of the lane that ends it in the second
#define apart     384 // [16] bytes from the pointer of lane 0 to that of each lane
#define saved     512 // [3] registers, while others use them
#define following 536 // pointer to the block that comes next
#define behind    544 // pointer behind the last one
#define nowhere   560 // [1088] float64: what idle lanes write

// RELAX does a step: pairs of old values in ea, oa, eb, ob (even and odd, A and B), which become pairs of new values;
// old values of this step in xa0, xa1, xb0, xb1 (first and second column, A and B), those of the next step in na0 ...
// nb1 when it ends. above and below point at the values above lane 0 and below lane 15.
#define RELAX(above0, above1, below0, below1, ea, oa, eb, ob, xa0, xa1, xb0, xb1, na0, na1, nb0, nb1) \
	VUNPCKLPD oa, ea, na0         \
	VUNPCKHPD oa, ea, na1         \
	VUNPCKLPD ob, eb, nb0         \
	VUNPCKHPD ob, eb, nb1         \
	VBROADCASTSD above0, Z22      \ // above A: what the lanes before, of B, had two columns ago; above B is Z8 and Z9
	VBROADCASTSD above1, Z24      \
	VALIGNQ $7, Z22, Z10, Z22     \
	VALIGNQ $7, Z24, Z11, Z24     \
	VBROADCASTSD below0, oa       \ // below B: what the lanes after, of A, will have two columns ahead; below A is nb0 and nb1
	VBROADCASTSD below1, ob       \
	VALIGNQ $1, na0, oa, oa       \
	VALIGNQ $1, na1, ob, ob       \
	VADDPD nb0, Z22, Z22          \ // above + below
	VADDPD oa, Z8, Z23            \
	VADDPD nb1, Z24, Z24          \
	VADDPD ob, Z9, Z25            \
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

// READ gets the next pair of lanes l, l+4, l+8 and l+12 by their pointers; x is z's quarter 0.
#define READ(l, x, z) \
	MOVQ (loads+8*l)(SP), AX              \
	MOVQ (loads+8*l+32)(SP), BX           \
	VMOVUPD 16(AX)(CX*8), x               \
	VBROADCASTF64X2 16(BX)(CX*8), K1, z   \
	MOVQ (loads+8*l+64)(SP), AX           \
	MOVQ (loads+8*l+96)(SP), BX           \
	VBROADCASTF64X2 16(AX)(CX*8), K2, z   \
	VBROADCASTF64X2 16(BX)(CX*8), K3, z

// WRITE puts this pair.
#define WRITE(l, x, z) \
	MOVQ (stores+8*l)(SP), AX             \
	MOVQ (stores+8*l+32)(SP), BX          \
	VMOVUPD x, (AX)(CX*8)                 \
	VEXTRACTF64X2 $1, z, (BX)(CX*8)       \
	MOVQ (stores+8*l+64)(SP), AX          \
	MOVQ (stores+8*l+96)(SP), BX          \
	VEXTRACTF64X2 $2, z, (AX)(CX*8)       \
	VEXTRACTF64X2 $3, z, (BX)(CX*8)

// READ2 gets two pairs from each of four rows; y is the lower half of z. WRITE2 puts them. They use tz, whose lower half is ty.
#define READ2(m0, m4, m8, m12, y, z, second, ty, tz) \
	VMOVUPD m0, y                         \
	VINSERTF64X4 $1, m4, z, z             \
	VMOVUPD m8, ty                        \
	VINSERTF64X4 $1, m12, tz, tz          \
	VSHUFF64X2 $0xDD, tz, z, second       \
	VSHUFF64X2 $0x88, tz, z, z

#define WRITE2(m0, m4, m8, m12, y, z, second, ty, tz) \
	VMOVAPD z, tz                         \
	VPERMT2PD second, Z29, tz             \
	VPERMT2PD second, Z31, z              \
	VMOVUPD ty, m0                        \
	VEXTRACTF64X4 $1, tz, m4              \
	VMOVUPD y, m8                         \
	VEXTRACTF64X4 $1, z, m12

// READ2BY and WRITE2BY do so by the pointers of lanes l, l+4, l+8 and l+12.
#define READ2BY(l, d, y, z, second, ty, tz) \
	MOVQ (loads+8*l)(SP), AX              \
	MOVQ (loads+8*l+32)(SP), BX           \
	MOVQ (loads+8*l+64)(SP), DX           \
	MOVQ (loads+8*l+96)(SP), R14          \
	READ2((d)(AX)(CX*8), (d)(BX)(CX*8), (d)(DX)(CX*8), (d)(R14)(CX*8), y, z, second, ty, tz)

#define WRITE2BY(l, d, y, z, second) \
	MOVQ (stores+8*l)(SP), AX             \
	MOVQ (stores+8*l+32)(SP), BX          \
	MOVQ (stores+8*l+64)(SP), DX          \
	MOVQ (stores+8*l+96)(SP), R14         \
	WRITE2((d)(AX)(CX*8), (d)(BX)(CX*8), (d)(DX)(CX*8), (d)(R14)(CX*8), y, z, second, Y28, Z28)

// Where a lane is, all being equally far from one another: OLD in its present row, NEW in its next one, d bytes on. END is aside.
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
#define END0(d)  ended0(SP)
#define END1(d)  ended1(SP)
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
#define NEW16(d) (d)(R9)(R13*8)

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

// PLACE is where a lane is among the 16 of A and B.
#define PLACE(lane, place) \
	MOVL lane, place              \
	SHLL $4, place                \
	ORL lane, place               \
	SHRL $1, place                \
	ANDL $15, place

// LEFT makes left, the value at the left of the row that lane DX begins, its last new value. (The lane after it uses that as its upper
// neighbour, but in the column that does not count.) It uses BX and R14.
#define LEFT(left) \
	PLACE(DX, BX)                 \
	MOVL $1, R14                  \
	SHLXQ BX, R14, BX             \
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
	SHLL $((lane>>1)+8*(lane&1)), CX \
	NOTL CX                       \
	MOVL CX, counts(SP)           \
	COUNT                         \
done:

// READALL gets two pairs of all lanes, d bytes on, WRITEALL puts them.
#define READALL(d, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l13, l14, l15) \
	READ2(l0(d), l4(d), l8(d), l12(d), Y12, Z12, Z16, Y22, Z22) \
	READ2(l2(d), l6(d), l10(d), l14(d), Y13, Z13, Z17, Y22, Z22) \
	READ2(l1(d), l5(d), l9(d), l13(d), Y14, Z14, Z26, Y22, Z22) \
	READ2(l3(d), l7(d), l11(d), l15(d), Y15, Z15, Z27, Y22, Z22)

#define WRITEALL(d, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l13, l14, l15) \
	WRITE2(l0(d), l4(d), l8(d), l12(d), Y12, Z12, Z16, Y22, Z22) \
	WRITE2(l2(d), l6(d), l10(d), l14(d), Y13, Z13, Z17, Y22, Z22) \
	WRITE2(l1(d), l5(d), l9(d), l13(d), Y14, Z14, Z26, Y22, Z22) \
	WRITE2(l3(d), l7(d), l11(d), l15(d), Y15, Z15, Z27, Y22, Z22)

// FIRST and SECOND are the two steps in which a lane ends its row and then the next one does, c bytes on; l0 to l15 is where lanes read and where they write. That lane
// reads its next row already. In the second step the next one does too, from next on: quarter q of z.
#define FIRST(c, lane, next, q, z, done, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l13, l14, l15) \
	READALL(c+16, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l13, l14, l15) \
	VINSERTF64X2 $q, next(c+32), z, z \
	RELAX((c)(R12), (c+8)(R12), OLD16(c+16), OLD16(c+24), Z12, Z13, Z14, Z15, Z2, Z3, Z4, Z5, Z18, Z19, Z20, Z21) \
	COUNTED(lane, Z2, Z3, Z4, Z5, done)

#define SECOND(c, lane, done, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l13, l14, l15) \
	RELAX((c+16)(R12), (c+24)(R12), OLD16(c+32), OLD16(c+40), Z16, Z17, Z26, Z27, Z18, Z19, Z20, Z21, Z2, Z3, Z4, Z5) \
	COUNTED(lane, Z18, Z19, Z20, Z21, done) \
	WRITEALL(c, l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, l10, l11, l12, l13, l14, l15)

// PART puts what both have written aside where it belongs: the first pair of the one's next row, the last pair but one of the other's row, and the last
// columns of both rows if there are any.
#define PART(begun, last0, ended, last1, even) \
	VMOVUPD (ended0+16)(SP), X24  \
	VMOVUPD X24, begun            \
	VMOVUPD ended1(SP), X24       \
	VMOVUPD X24, ended            \
	CMPQ odd(SP), $0              \
	JEQ even                      \
	MOVQ ended0(SP), CX           \
	MOVQ CX, last0                \
	MOVQ (ended1+16)(SP), CX      \
	MOVQ CX, last1                \
even:

// Where changes are not tracked, steps within rows follow one another as a stream: a step also does what the next one needs and does not have to wait for, and
// what is left to do of those before. So there is always something to compute while one sum waits for the other. Registers in a stream, when a step begins:
//
//	x0a x1a x0b x1b  keep * old values of this step, A and B, first and second column
//	n0a n1a n0b n1b  old values of the next step
//	ea oa eb ob      pairs of the one after that; in the first of two steps Z1 Z6 Z7 Z30, in the second Z16 Z17 Z26 Z27
//	Z22 Z23          above + below + right, first column, A and B
//	Z25              below B, second column; Z24 is temporary
//	Z12-Z15          pairs to be written, of the first of two steps; of the second Z16 Z17 Z26 Z27
//	Z28              temporary, for what is read and written
//
// STREAM does a step. When it ends x is what the next step calls n, and the other way round, and pea poa peb pob are pairs of new values. p1 to p5 read and write pairs.
// Which order of all this is the fastest was found by measuring; it is some 4% from one order to another.
#define STREAM(above1, nextAbove0, nextBelow0, nextBelow1, ea, oa, eb, ob, x0a, x1a, x0b, x1b, n0a, n1a, n0b, n1b, pea, poa, peb, pob, p1, p2, p3, p4, p5) \
	VADDPD Z9, Z22, Z22                   \ // first column: + left
	VADDPD Z11, Z23, Z23                  \
	VADDPD Z9, Z25, Z25                   \ // second column: above + below
	VALIGNQ.BCST $7, above1, Z11, Z24     \
	p1                                    \
	VMULPD Z22, Z0, Z22                   \
	VMULPD Z23, Z0, Z23                   \
	VADDPD x0a, Z22, Z8                   \ // first column is done
	VADDPD n1b, Z24, Z24                  \
	VADDPD x0b, Z23, Z10                  \
	VADDPD n0b, Z25, Z25                  \ // second column: + right
	p2                                    \
	VADDPD n0a, Z24, Z24                  \
	VUNPCKLPD oa, ea, x0a                 \ // old values of the step after the next one
	VUNPCKHPD oa, ea, oa                  \
	VALIGNQ.BCST $7, nextAbove0, Z10, Z22 \ // next step, first column: above + below
	p3                                    \
	VUNPCKLPD ob, eb, x0b                 \
	VADDPD Z8, Z24, Z24                   \ // second column: + left
	VADDPD Z10, Z25, Z25                  \
	VUNPCKHPD ob, eb, ob                  \
	VBROADCASTSD nextBelow0, Z23          \
	VALIGNQ $1, x0a, Z23, Z23             \
	p4                                    \
	VMULPD Z24, Z0, Z24                   \
	VMULPD Z25, Z0, Z25                   \
	VADDPD x0b, Z22, Z22                  \
	VMULPD.BCST keep+32(FP), n0a, n0a     \
	VADDPD Z8, Z23, Z23                   \
	VMULPD.BCST keep+32(FP), n0b, n0b     \
	VADDPD x1a, Z24, Z9                   \ // second column is done
	VADDPD x1b, Z25, Z11                  \
	VMOVAPD oa, x1a                       \
	VMOVAPD ob, x1b                       \
	VADDPD n1a, Z22, Z22                  \ // next step, first column: + right
	VMULPD.BCST keep+32(FP), n1a, n1a     \
	VADDPD n1b, Z23, Z23                  \
	VMULPD.BCST keep+32(FP), n1b, n1b     \
	p5                                    \
	VBROADCASTSD nextBelow1, Z25          \
	VALIGNQ $1, x1a, Z25, Z25             \
	VUNPCKLPD Z9, Z8, pea                 \
	VUNPCKHPD Z9, Z8, poa                 \
	VUNPCKLPD Z11, Z10, peb               \
	VUNPCKHPD Z11, Z10, pob

// STREAM1 and STREAM2 are the first and the second one of two.
#define STREAM1(above1, nextAbove0, nextBelow0, nextBelow1, p1, p2, p3, p4, p5) \
	STREAM(above1, nextAbove0, nextBelow0, nextBelow1, Z1, Z6, Z7, Z30, Z2, Z3, Z4, Z5, Z18, Z19, Z20, Z21, Z12, Z13, Z14, Z15, p1, p2, p3, p4, p5)

#define STREAM2(above1, nextAbove0, nextBelow0, nextBelow1, p1, p2, p3, p4, p5) \
	STREAM(above1, nextAbove0, nextBelow0, nextBelow1, Z16, Z17, Z26, Z27, Z18, Z19, Z20, Z21, Z2, Z3, Z4, Z5, Z16, Z17, Z26, Z27, p1, p2, p3, p4, p5)

// ADVANCE goes on to the next two steps.
#define ADVANCE \
	ADDQ $32, AX                  \
	ADDQ $32, BX                  \
	ADDQ $32, R12                 \
	SUBQ $2, DI

// GETEA to GETOB read a quarter of the pairs of two steps each, d bytes on, and PUTEA to PUTOB write one.
#define GETEA(d, l0, l4, l8, l12) READ2(l0(d), l4(d), l8(d), l12(d), Y16, Z16, Z1, Y28, Z28)
#define GETOA(d, l2, l6, l10, l14) READ2(l2(d), l6(d), l10(d), l14(d), Y17, Z17, Z6, Y28, Z28)
#define GETEB(d, l1, l5, l9, l13) READ2(l1(d), l5(d), l9(d), l13(d), Y26, Z26, Z7, Y28, Z28)
#define GETOB(d, l3, l7, l11, l15) READ2(l3(d), l7(d), l11(d), l15(d), Y27, Z27, Z30, Y28, Z28)
#define PUTEA(d, l0, l4, l8, l12) WRITE2(l0(d), l4(d), l8(d), l12(d), Y12, Z12, Z16, Y28, Z28)
#define PUTOA(d, l2, l6, l10, l14) WRITE2(l2(d), l6(d), l10(d), l14(d), Y13, Z13, Z17, Y28, Z28)
#define PUTEB(d, l1, l5, l9, l13) WRITE2(l1(d), l5(d), l9(d), l13(d), Y14, Z14, Z26, Y28, Z28)
#define PUTOB(d, l3, l7, l11, l15) WRITE2(l3(d), l7(d), l11(d), l15(d), Y15, Z15, Z27, Y28, Z28)
#define NOTHING

// EVEN and UNEVEN are the two steps of a stream, c bytes on: next points at the values above lane 0 in the second step, below is lane 16; w0 to w15 is where lanes wrote
// the two steps before, r0 to r15 where they read the next two, of which insert joins what is elsewhere.
#define EVEN(c, next, below, insert, w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15, r0, r4, r8, r12, r1, r5, r9, r13) \
	STREAM1((c+8)(R12), (c+16)(next), below(c+32), below(c+40), PUTEA(c-32, w0, w4, w8, w12), NOTHING, PUTOA(c-32, w2, w6, w10, w14); GETEA(c+48, r0, r4, r8, r12), PUTEB(c-32, w1, w5, w9, w13); GETEB(c+48, r1, r5, r9, r13); insert, PUTOB(c-32, w3, w7, w11, w15))

#define UNEVEN(c, below, insert, r2, r6, r10, r14, r3, r7, r11, r15) \
	STREAM2((c+24)(R12), (c+32)(R12), below(c+48), below(c+56), NOTHING, GETOA(c+48, r2, r6, r10, r14); GETOB(c+48, r3, r7, r11, r15); insert, NOTHING, NOTHING, NOTHING)

// PREPARE does what a step finds done when it begins. Z24 Z19 Z20 Z21 are the pairs of the next step.
#define PREPARE(above0, below0, below1) \
	VUNPCKLPD Z19, Z24, Z18       \
	VUNPCKHPD Z19, Z24, Z19       \
	VUNPCKHPD Z21, Z20, Z28       \
	VUNPCKLPD Z21, Z20, Z20       \
	VMOVAPD Z28, Z21              \
	VALIGNQ.BCST $7, above0, Z10, Z22 \
	VADDPD Z20, Z22, Z22          \
	VADDPD Z3, Z22, Z22           \
	VBROADCASTSD below0, Z23      \
	VALIGNQ $1, Z18, Z23, Z23     \
	VADDPD Z8, Z23, Z23           \
	VADDPD Z5, Z23, Z23           \
	VBROADCASTSD below1, Z25      \
	VALIGNQ $1, Z19, Z25, Z25     \
	VMULPD.BCST keep+32(FP), Z2, Z2 \
	VMULPD.BCST keep+32(FP), Z3, Z3 \
	VMULPD.BCST keep+32(FP), Z4, Z4 \
	VMULPD.BCST keep+32(FP), Z5, Z5

// RESTORE makes registers what they are outside of a stream. Z16 Z17 Z26 Z27 are the pairs of the step that comes.
#define RESTORE \
	VUNPCKLPD Z17, Z16, Z2        \
	VUNPCKHPD Z17, Z16, Z3        \
	VUNPCKLPD Z27, Z26, Z4        \
	VUNPCKHPD Z27, Z26, Z5        \
	VBROADCASTSD keep+32(FP), Z1  \
	VPXORQ Z28, Z28, Z28          \
	VPTERNLOGQ $0xFF, Z30, Z30, Z30 \
	VPSRLQ $1, Z30, Z30

// JOIN puts the first pair of a row that a lane reads in the second of two steps already.
#define JOIN(q, m, z) VINSERTF64X2 $q, m, z, z
