package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/apps/internal/gridfile"
	"shiftwork/apps/internal/kernel"
	"shiftwork/apps/internal/problem"
)

var rankCounts = []int{1, 2, 3, 5, 7, 8}

// variants are flags that must not change a result.
func variants(ranks int) [][]string {
	all := [][]string{{"--balance", "off"}}
	masters := []string{"shared", "dedicated"}
	if ranks == 1 {
		masters = masters[:1] // nobody would compute
	}
	for _, balance := range []string{"on", "rotate", "random"} {
		for _, master := range masters {
			for _, interaction := range []string{"pipelined", "synchronous"} {
				all = append(all, []string{"--balance", balance, "--master", master, "--interaction", interaction, "--period", "50us"})
			}
		}
	}
	return all
}

// Every number of ranks, policy, master and interaction: the same bits, and those of the serial run.
func TestTheSameAnswerAlways(t *testing.T) {
	for _, program := range [][]string{
		{"sor", "--n", "97", "--m", "113", "--iterations", "12"},
		{"mm", "--n", "101"},
		{"mm", "--n", "53", "--repeat", "4"},
	} {
		first := alone(t, program[0], append(program[1:], "--ranks", "1", "--verify")...).verified(t)
		for _, ranks := range rankCounts {
			for _, flags := range variants(ranks) {
				args := append(append([]string{"--ranks", strconv.Itoa(ranks), "--verify", "--quiet"}, program[1:]...), flags...)
				l := alone(t, program[0], args...).verified(t)
				assert.Equal(t, first.Checksum, l.Checksum, args)
				assert.Equal(t, ranks, l.Ranks, args)
				assert.Equal(t, "local", l.Transport)
			}
		}
	}
}

// Sizes that nothing divides, and all flags as they are by default.
func TestOddSizes(t *testing.T) {
	for _, program := range [][]string{
		{"sor", "--n", "997", "--m", "1013", "--iterations", "4"},
		{"mm", "--n", "211"},
	} {
		first := alone(t, program[0], append(program[1:], "--ranks", "1", "--verify")...).verified(t)
		for _, ranks := range rankCounts[1:] {
			l := alone(t, program[0], append(program[1:], "--ranks", strconv.Itoa(ranks), "--verify")...).verified(t)
			assert.Equal(t, first.Checksum, l.Checksum, "%d ranks", ranks)
		}
	}
}

// As many ranks as rows, more, and far more.
func TestMoreRanksThanRows(t *testing.T) {
	for _, program := range [][]string{
		{"sor", "--n", "3", "--m", "7"}, {"sor", "--n", "5", "--m", "3"}, {"sor", "--n", "10"},
		{"mm", "--n", "1"}, {"mm", "--n", "3", "--repeat", "5"}, {"mm", "--n", "8"},
	} {
		for _, flags := range variants(8) {
			args := append(append([]string{"--ranks", "8", "--verify", "--quiet"}, program[1:]...), flags...)
			alone(t, program[0], args...).verified(t)
		}
	}
}

func TestNoSweepsLeaveTheInput(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.npy")
	alone(t, "sor", "--input", plate(), "--iterations", "0", "--ranks", "3", "--verify", "--output", out).verified(t)
	assert.Equal(t, content(t, plate()), content(t, out))
}

// The policies that exist to test the mechanism do move work, and sor at every interaction. There are too few rows for blocks to
// lean: each strip has its hook.
func TestRotateAndRandomMoveWork(t *testing.T) {
	for _, balance := range []string{"rotate", "random"} {
		for _, ranks := range []string{"2", "3", "8"} {
			flags := []string{"--balance", balance, "--ranks", ranks, "--period", "1us", "--quiet", "--verify"}
			l := alone(t, "sor", append(flags, "--n", "33", "--m", "113", "--iterations", "260", "--block", "20")...).verified(t)
			assert.GreaterOrEqual(t, l.Interactions, 1000)
			assert.GreaterOrEqual(t, l.Shifts, l.Interactions-1, "every interaction moves work, but for the last, whose answer nobody obeys")
			assert.GreaterOrEqual(t, l.Moved, l.Shifts)
			// Long enough for every rank to have had a core several times before the first one is done.
			l = alone(t, "mm", append(flags, "--n", "501", "--repeat", "300")...).verified(t)
			assert.Positive(t, l.Moved, "%v", l)
		}
	}
}

// plate is the bundled problem.
func plate() string { return filepath.Join(root, "data", "heat-plate.npy") }

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// The bundled plate, relaxed until it is steady, is the known solution; every number of ranks writes the same file.
func TestHeatPlateBecomesSteady(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "1.npy")
	flags := []string{"--input", plate(), "--tolerance", "1e-10", "--iterations", "5000", "--quiet"}
	l := alone(t, "sor", append(flags, "--ranks", "1", "--output", out)...).line(t)
	assert.Less(t, l.Iterations, 5000, "it stops when it is steady")
	steady := content(t, out)
	for _, ranks := range []string{"2", "5"} {
		more := filepath.Join(dir, ranks+".npy")
		other := alone(t, "sor", append(flags, "--ranks", ranks, "--output", more, "--balance", "random", "--period", "1ms")...).line(t)
		assert.Equal(t, l.Checksum, other.Checksum)
		assert.Equal(t, l.Iterations, other.Iterations)
		assert.True(t, steady == content(t, more), "%s ranks write the same file", ranks)
	}

	p := problem.Bundled
	values := matrix(t, out, p.Rows, p.Cols)
	worst, fromExact := 0.0, 0.0
	for j := range p.Rows {
		for i := range p.Cols {
			worst = max(worst, math.Abs(values[j*p.Cols+i]-p.Discrete(j, i)))
			fromExact = max(fromExact, math.Abs(values[j*p.Cols+i]-p.Exact(j, i)))
		}
	}
	assert.Less(t, worst, 1e-7, "degrees from the solution of the five-point scheme")
	assert.Less(t, fromExact, p.ErrorBound()+1e-7, "degrees from the physical plate")
	assert.Greater(t, fromExact, worst, "the discretisation is what is left")
}

// sor stops where the largest change of the sweep before is below the tolerance, for every number of ranks and wherever rows go meanwhile, and not much later than need be.
func TestItStopsWhenChangesAreSmall(t *testing.T) {
	const n, omega, tolerance = 240, 1.97, 1e-3
	u := make([]float64, n*n)
	for p := range u {
		u[p] = problem.Plate{Rows: n, Cols: n}.Initial(p/n, p%n)
	}
	plain, inside := kernel.NewSOR(omega, false), kernel.Span{Lo: 1, Hi: n - 1}
	var changes []float64 // of each sweep
	for range 1200 {
		changes = append(changes, plain.RelaxPlain(u, n, inside, inside))
	}
	first := slices.IndexFunc(changes, func(change float64) bool { return change < tolerance }) + 1
	require.Greater(t, first, 400, "long enough to be looked at more seldom")
	for _, ranks := range []string{"1", "2", "3"} {
		for _, balance := range []string{"on", "random"} {
			l := alone(t, "sor", "--n", strconv.Itoa(n), "--omega", fmt.Sprint(omega), "--tolerance", fmt.Sprint(tolerance), "--iterations", "5000", "--ranks", ranks,
				"--balance", balance, "--period", "1ms", "--quiet", "--verify").verified(t)
			assert.Less(t, changes[l.Iterations-1], tolerance)
			assert.GreaterOrEqual(t, l.Iterations, first)
			assert.Less(t, l.Iterations, first+first/8)
		}
	}
}

// A grid that was written is read again: two runs of 5 sweeps are one of 10, and a file may replace itself.
func TestOutputIsInput(t *testing.T) {
	dir := t.TempDir()
	half, whole := filepath.Join(dir, "half.npy"), filepath.Join(dir, "whole.npy")
	alone(t, "sor", "--n", "61", "--m", "83", "--iterations", "10", "--ranks", "3", "--output", whole).line(t)
	alone(t, "sor", "--n", "61", "--m", "83", "--iterations", "5", "--ranks", "2", "--output", half).line(t)
	l := alone(t, "sor", "--input", half, "--iterations", "5", "--ranks", "4", "--output", half, "--verify").verified(t)
	assert.Equal(t, [2]int{61, 83}, [2]int{l.N, l.M}, "the file's size replaces the flags")
	assert.True(t, content(t, whole) == content(t, half))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 2, "no temporary files are left")
}

// Two matrices of different shapes from files, against the product by definition.
func TestMultipliesFiles(t *testing.T) {
	const n, inner, m = 37, 53, 29
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(5, 8))
	a, b := writeMatrix(t, filepath.Join(dir, "a.npy"), n, inner, random), writeMatrix(t, filepath.Join(dir, "b.npy"), inner, m, random)
	files := ""
	for _, ranks := range []int{1, 3, 8} {
		out := filepath.Join(dir, fmt.Sprintf("c%d.npy", ranks))
		l := alone(t, "mm", "--a", filepath.Join(dir, "a.npy"), "--b", filepath.Join(dir, "b.npy"), "--output", out,
			"--ranks", strconv.Itoa(ranks), "--verify").verified(t)
		assert.Equal(t, [2]int{n, m}, [2]int{l.N, l.M})
		c := matrix(t, out, n, m)
		for i := range n {
			for j := range m {
				want, size := 0.0, 0.0
				for k := range inner {
					want += a[i*inner+k] * b[k*m+j]
					size += math.Abs(a[i*inner+k] * b[k*m+j])
				}
				// Two sums of the same terms in different orders, each within inner roundings of the exact one.
				require.InDelta(t, want, c[i*m+j], 2*inner*size*0x1p-53)
			}
		}
		if files == "" {
			files = content(t, out)
		}
		assert.True(t, files == content(t, out), "%d ranks write the same file", ranks)
	}
}

// matrix reads a file of the program.
func matrix(t *testing.T, path string, rows, cols int) []float64 {
	t.Helper()
	f, err := gridfile.Open(path, rows, cols)
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, [2]int{rows, cols}, [2]int{f.Rows(), f.Cols()})
	values := make([]float64, rows*cols)
	require.NoError(t, f.ReadRows(0, rows, values))
	return values
}

func writeMatrix(t *testing.T, path string, rows, cols int, random *rand.Rand) []float64 {
	t.Helper()
	values := make([]float64, rows*cols)
	for i := range values {
		values[i] = random.NormFloat64()
	}
	temp, err := gridfile.Create(path, rows, cols)
	require.NoError(t, err)
	out, err := gridfile.OpenOutput(temp, rows, cols)
	require.NoError(t, err)
	require.NoError(t, out.WriteRows(0, values))
	require.NoError(t, out.Close())
	require.NoError(t, gridfile.Commit(temp, path))
	return values
}
