#include "go_asm.h"

// How wave16 and wave8 come to their blocks. The frame has following and behind, pointers to the block that comes next and behind the last one, and, of the block that BLOCK
// begins, steps (a row), rewind (bytes from the pointer of the lane behind the last one of a group to that of lane 0 of the next) and nextOdd (columns in the last pair of a row).

// BLOCKS takes the arguments about them.
#define BLOCKS \
	MOVQ blocks+0(FP), AX         \
	MOVQ n+8(FP), BX              \
	IMUL3Q $block__size, BX, BX   \
	ADDQ AX, BX                   \
	MOVQ AX, following(SP)        \
	MOVQ BX, behind(SP)           \
	MOVQ stride+16(FP), R11       \
	SHLQ $3, R11                  \
	MOVBQZX track+40(FP), R15

// BLOCK makes the registers those of the block that comes next, which lane 0 of 1<<shift begins when it has ended the row that it is in. It uses t and u.
#define BLOCK(shift, t, u) \
	MOVQ following(SP), t         \
	ADDQ $block__size, following(SP) \
	LEAQ 16(CX*8), u              \
	MOVQ block_first(t), R8       \
	SUBQ u, R8                    \
	MOVQ block_rows(t), R9        \
	LEAQ ((1<<shift)-1)(R9), SI   \
	SHRQ $shift, SI               \
	MOVQ block_cols(t), t         \
	MOVQ t, u                     \
	ANDQ $1, u                    \
	MOVQ u, nextOdd(SP)           \
	SHRQ $1, t                    \
	INCQ t                        \
	MOVQ t, steps(SP)             \ // cols/2 + 1
	SHLQ $4, t                    \
	NEGQ t                        \
	ADDQ $(16<<shift), t          \ // all lanes of 16 bytes forth, a row of 16-byte pairs back
	MOVQ t, rewind(SP)
