//go:build openblas

package openblas

/*
#cgo LDFLAGS: -lopenblas
#cgo noescape cblas_dgemm
#cgo nocallback cblas_dgemm

void openblas_set_num_threads(int n);
int openblas_get_num_threads(void);
char *openblas_get_corename(void);
char *openblas_get_config(void);
void cblas_dgemm(int order, int transA, int transB, int m, int n, int k, double alpha, const double *a, int lda,
	const double *b, int ldb, double beta, double *c, int ldc);
*/
import "C"

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"golang.org/x/sys/cpu"
)

// CBLAS's names for what is passed.
const (
	rowMajor    = 101
	noTranspose = 111
)

var single = sync.OnceFunc(func() { C.openblas_set_num_threads(1) })

// Multiply sets columns left to right-1 of c = a b, on this thread: a holds rows x inner values, b inner x cols, c rows x cols, none of
// which is 0. Rows follow one another in each.
func Multiply(rows, inner, cols, left, right int, a, b, c []float64) {
	single()
	if max(rows, inner, cols) > math.MaxInt32 || len(a) < rows*inner || len(b) < inner*cols || len(c) < rows*cols {
		panic(fmt.Sprintf("openblas: (%d x %d) (%d x %d) in %d, %d and %d values", rows, inner, inner, cols, len(a), len(b), len(c)))
	}
	if left < 0 || right <= left || right > cols {
		panic(fmt.Sprintf("openblas: columns %d to %d of %d", left, right, cols))
	}
	C.cblas_dgemm(rowMajor, noTranspose, noTranspose, C.int(rows), C.int(right-left), C.int(inner), 1,
		(*C.double)(&a[0]), C.int(inner), (*C.double)(&b[left]), C.int(cols), 0, (*C.double)(&c[left]), C.int(cols))
}

// Threads is how many a product uses.
func Threads() int {
	single()
	return int(C.openblas_get_num_threads())
}

// Kernel is the name of the processor whose kernel OpenBLAS has chosen, such as Haswell.
func Kernel() string { return C.GoString(C.openblas_get_corename()) }

// Version is OpenBLAS's, such as 0.3.21.
func Version() string {
	words := strings.Fields(C.GoString(C.openblas_get_config()))
	if len(words) > 1 && words[0] == "OpenBLAS" {
		return words[1]
	}
	return "of an unknown version"
}

// Slow says, in a line, that the kernel uses less than this processor offers; empty if it does not, or is unknown here.
func Slow() string { return slow(Kernel(), offers()) }

// width is how much a kernel computes at once.
type width int

const (
	sse width = iota
	avx
	avx2 // with fused multiply-add
	avx512
)

func (w width) String() string {
	return [...]string{"vectors of two numbers (SSE) or none", "AVX", "AVX2", "AVX-512"}[w]
}

// best is the fastest kernel of each width, for OPENBLAS_CORETYPE.
var best = map[width]string{avx: "Sandybridge", avx2: "Haswell", avx512: "SkylakeX"}

// widths are those of OpenBLAS's kernels for x86-64.
var widths = map[string]width{
	"generic": sse, "katmai": sse, "coppermine": sse, "northwood": sse, "prescott": sse, "banias": sse, "atom": sse, "core2": sse,
	"penryn": sse, "dunnington": sse, "nehalem": sse, "athlon": sse, "opteron": sse, "opteron_sse3": sse, "barcelona": sse,
	"bobcat": sse, "nano": sse,
	"sandybridge": avx, "bulldozer": avx, "piledriver": avx, "steamroller": avx, "excavator": avx,
	"haswell": avx2, "zen": avx2,
	"skylakex": avx512, "cooperlake": avx512, "sapphirerapids": avx512,
}

// offers is the widest that this processor and its operating system have.
func offers() width {
	x := cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL:
		return avx512
	case x.HasAVX2 && x.HasFMA:
		return avx2
	case x.HasAVX:
		return avx
	}
	return sse
}

func slow(kernel string, has width) string {
	w, known := widths[strings.ToLower(kernel)]
	if !known || w >= has {
		return ""
	}
	return fmt.Sprintf("OpenBLAS has chosen its kernel for %s, with %v, but this processor has %v: OPENBLAS_CORETYPE=%s may be much faster",
		kernel, w, has, best[has])
}
