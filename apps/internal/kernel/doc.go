// Package kernel holds the two inner loops of the programs: the relaxation of sor and the block product of mm.
//
// # Successive over-relaxation
//
// One relaxation of a point, in data order (row by row from the top, each row from left to right; Siegell &
// Steenkiste 1997, the SOR example), is
//
//	u[j][i] = (w/4) (u[j][i-1] + u[j-1][i] + u[j][i+1] + u[j+1][i]) + (1-w) u[j][i]
//
// where the left and the upper neighbour are already new and the right and the lower one still old. Floating-point
// addition is not associative, so the association is fixed here, once, for every kernel and for the serial reference:
//
//	v = (w/4) * (((up + down) + right) + left) + (1-w) * centre
//
// The left neighbour was computed last, so it enters last: the chain from one point of a row to the next is one add,
// one multiply, one add. Products are wrapped in float64(...), which forbids a compiler to fuse them with the addition:
// the bits are the same on every architecture.
//
// That chain leaves a processor mostly idle. [SOR.Relax] therefore relaxes several rows at once as a skewed wavefront,
// which respects every dependence and so yields the same bits. There are three of them.
//
// The portable one is plain Go, four rows, one column apart:
//
//	           column ->            step s relaxes the points marked s, independent of each other
//	row j      0 1 2 3 4 5 6        up     of row k = what row k-1 computed in the previous step
//	row j+1      1 2 3 4 5 6 7      down   of row k = the right neighbour of row k+1 in this step
//	row j+2        2 3 4 5 6 7 8    centre of row k = its right neighbour in the previous step
//	row j+3          3 4 5 6 7 8 9
//
// Each step loads one new value a row, one from the row above and one from the row below. The triangles at both ends
// are relaxed point by point. Left-over rows go in a pair and a single row.
//
// On amd64 with AVX-512 or AVX2 it is assembly: 16 or 8 rows, the lanes of two vectors, two columns apart. The distance of two takes
// the upper neighbours out of the chain from column to column. A step relaxes a pair of columns in each lane. A lane
// that has ended its row begins the row 16 (8) below without waiting for the others, so that a strip of any number of rows
// has one triangle at its beginning and one at its end, and short strips cost little more than long ones:
//
//	          pair of columns ->       (five pairs a row and three lanes, to fit the page; at least 17 and 16, or 9 and 8, in truth)
//	lane 0    0  1  2  3  4            step s relaxes the pairs marked s
//	lane 1       1  2  3  4  5
//	lane 2          2  3  4  5  6
//	lane 0    5  6  7  8  9            the next three rows: lane 0 is here while lanes 1 and 2 end the rows above,
//	lane 1       6  7  8  9  10        which they have passed when its values are needed from memory
//	lane 2          7  8  9 10  11
//
// So it is from block to block ([SOR.RelaxAll]): the next one may be the same rows and columns in the next sweep, or almost, if only the last lane has passed all that
// the first ones come to. Parts of 144 x 126 points, of 16 sweeps, take 0.92 of the time that they take one by one, of 272 x 250 0.98.
//
// up of lane k is what lane k-1 computed two columns ago, down what lane k+1 will find as its centre two columns ahead;
// even lanes are one vector and odd lanes the other, so both are the other vector: as it is, or shifted by one place, with a value from the row
// above lane 0 or below the last one at the end. Memory has rows and the vectors have columns, so pairs are transposed on the way in and out. The last pair of a row has one
// column of the block, or none: its time is the price of changing the row. In blocks of less than 32 columns (16) the first
// lane would catch up with the last one; eight lanes may still do where sixteen are too many, for columns or for rows. In narrower blocks, in the left-over rows of a block if they are less than five (three), on other
// processors, and for strides of 2 more than a multiple of 512 (the rows in work fall into one set of the first-level
// cache) the portable wavefront does the work.
//
// What limits it: in a step of 32 points the arithmetic is 24 vector operations with AVX-512, and 24 more move values between
// rows and columns and from lane to lane, 20 of them on the one port that Intel has for that; the chain of a pair (twice
// add, multiply, add) alone takes 18 cycles of a Zen 4 and 23 of a Xeon. A Zen 4 has to do for 29 cycles, but took 47, and the Xeon 31: before and behind its chain a step has 20 or 30 cycles of other work, and
// no processor looks so far ahead that it would begin the next step's in time. So, where changes are not tracked, the steps of 16 lanes are a *stream*: each does, between the links of its chain,
// what the next one needs that depends on nothing new, and writes what the ones before it have found. The Zen 4 then takes 36 cycles. (The Xeon has not been measured since.)
// Registers are just enough, which is why there is no stream with tracking, nor one with AVX2, which has half of them. With AVX2 a step has 16 points, the same 24 operations, 20 that move, and 8 stores.
// A block whose first column does not begin a 16-byte vector takes 3 to 4% longer: pairs then lie across the ends of cache lines twice as often.
// Whole rows of 8 MB come from the third-level cache at nearly the same speed on a Zen, on that Xeon they take 1.3 times as long. Times a point on one core of a Zen 4 server, with streams, and, without,
// of a Zen 5 server with AVX-512 and of a Zen 3 server with AVX2, as parts of RelaxPlain's, whose 4.6 to 5 ns, 4 to 5, and 5.7, are the chain alone. The latter two were taken when the lanes of a vector were
// neighbours; since they alternate a step takes 0.93 of the time with AVX-512, and 0.90 with AVX2, on the Xeon:
//
//	                 Zen 4                          Zen 5                          Zen 3
//	rows x columns   portable   AVX-512, tracking   portable   AVX-512, tracking   portable   AVX2, tracking
//	1000 x 1000      1/5.5      1/14.5   1/10       1/6        1/20     1/16       1/5        1/10  1/7
//	 600 x 250       1/5.5      1/14.5   1/10       1/6        1/18     1/15       1/5        1/9   1/7
//	 600 x 125       1/5        1/13     1/9        1/5.5      1/16     1/13       1/4.5      1/8.5 1/7
//	 600 x 62        1/4.5      1/12     1/8.5      1/4.5      1/12     1/10       1/3.5      1/6   1/4
//
// from the least of several runs of
//
//	go test -tags nompi -run '^$' -bench Relax -count 10 ./apps/internal/kernel
//
// A call of the assembly cannot be preempted, so it relaxes for some 200 microseconds at most, twice that with AVX2 or tracking.
//
// # Block product
//
// [Reference] computes rows of C = A B with gonum's BLAS, by panels so small that gonum's own dgemm stays on the calling
// goroutine: a rank must not take the cores of its neighbours. Every element of C is accumulated in the order of the inner
// index, whatever the height of the block, so any split of the rows gives the same bits. gonum has vectors of two numbers (SSE2).
//
// [Multiply] gives the same bits. On amd64 with AVX-512 it is assembly: tiles of C of 8 x 24 elements stay in registers while 128
// rows of B pass, and for each a product and a sum a vector, apart. Fusing them would change the bits. With AVX2 tiles have 6 x 8 elements, and 256 rows
// pass. [Pack] has laid B out in the order
// in which it is read, panels of 128 x 24 elements one behind the other, so that a block of any number of rows finds it in long
// runs; without it, each block would gather its panels from 128 rows that lie pages apart, which takes as long as computing 64 rows of C.
// B is read once for 64 (48) rows. What limits it is the adders, from 16 to 32 rows in a block on; with fewer the time is that of reading B from
// memory. Elsewhere it is Reference itself. Gflop/s on one core of a Xeon with AMX, whose adders and multipliers could do some 53 with AVX-512,
// and by the way that a processor with AVX2 alone, or none of both, would take:
//
//	           768 x 768, B in the cache    4000 x 4000, B in memory
//	rows       AVX-512  AVX2  Reference      AVX-512  AVX2  Reference
//	   1         7.5      7      5.5           4        5      2
//	   8        51       34      9.5          26       28      6.5
//	  16        52       37     10            41       31      8.5
//	  64        52       40     11            51       37     10.5
//	 256        52       41     11            50       39     11
//
// from the medians of
//
//	go test -tags nompi -run '^$' -bench Multiply -count 3 ./apps/internal/kernel
//
// In programs that are built with the tag openblas Multiply is OpenBLAS's dgemm on one thread, whose bits depend on the block.
// [Exact] says which, and [Check] judges a result by the bits or by what rounding explains.
//
// # Units and invariants
//
// Values have whatever unit the caller's have; columns and rows are counted from 0, spans are half open. A relaxation
// reads the points around its block and never writes them. Nothing here but Pack and Check allocates, starts goroutines or keeps state
// between calls.
//
// # What it does not do
//
// It does not know about ranks, distribution or convergence, and it does not check for NaN; but a NaN does show as the
// largest change, so that a diverging iteration is never taken for a converged one. Which NaN a sum of two NaNs is may
// differ between the implementations.
package kernel
