//go:build openblas

package openblas

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMultiply(t *testing.T) {
	c := []float64{9, 9, 9, 9, 9, 9}
	Multiply(2, 1, 3, 0, 3, []float64{2, 3}, []float64{5, 7, 11}, c)
	assert.Equal(t, []float64{10, 14, 22, 15, 21, 33}, c)
	assert.Panics(t, func() { Multiply(2, 2, 3, 0, 3, []float64{2, 3}, c, c) })
}

func TestOneThread(t *testing.T) { assert.Equal(t, 1, Threads()) }

func TestTheLibraryNamesItself(t *testing.T) {
	assert.Regexp(t, `^\w+$`, Kernel())
	assert.Regexp(t, `^\d+\.\d+`, Version())
}

// A kernel that uses less than the processor has is named with a better one; one that is unknown here is trusted.
func TestSlowKernelsAreNamed(t *testing.T) {
	assert.Equal(t, "OpenBLAS has chosen its kernel for Haswell, with AVX2, but this processor has AVX-512: OPENBLAS_CORETYPE=SkylakeX may be much faster",
		slow("Haswell", avx512))
	assert.Contains(t, slow("Prescott", avx2), "OPENBLAS_CORETYPE=Haswell")
	assert.Contains(t, slow("Generic", avx), "OPENBLAS_CORETYPE=Sandybridge")
	assert.Empty(t, slow("SkylakeX", avx512))
	assert.Empty(t, slow("Zen", avx2))
	assert.Empty(t, slow("NEOVERSEN1", sse))
	assert.Empty(t, slow("Zen9", avx512))
}
