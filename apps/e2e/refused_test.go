package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// npy is a file with the header and the number of bytes of values.
func npy(descr, shape string, bytesOfValues int) []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	dict += strings.Repeat(" ", 117-len(dict)) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, uint16(len(dict))) // to memory
	b.WriteString(dict)
	b.Write(make([]byte, bytesOfValues))
	return b.Bytes()
}

// refusal is a command line that must be refused. Names in {} stand for files in a folder of the test.
type refusal struct {
	name string
	args []string
	says []string
}

func refusals() []refusal {
	return []refusal{
		{"unknown flag", []string{"sor", "--blocks", "3"}, []string{"unknown flag --blocks"}},
		{"stray argument", []string{"mm", "5"}, []string{"unexpected argument 5"}},
		{"n below 3", []string{"sor", "--n", "2"}, []string{"--n", `"2"`, "from 3 on"}},
		{"two faults", []string{"sor", "--n", "2", "--omega", "2"}, []string{"--n", "; --omega", `"2"`}},
		{"block 0", []string{"sor", "--block", "0"}, []string{"--block", `"0"`, "auto or a whole number from 1 on"}},
		{"threshold 1", []string{"sor", "--threshold", "1"}, []string{"--threshold", `"1"`, "below 1"}},
		{"filter", []string{"mm", "--filter", "fixed:2"}, []string{"--filter", `"fixed:2"`, "fixed:H with 0 <= H <= 1"}},
		{"direct sor", []string{"sor", "--movement", "direct"}, []string{"--movement", "adjacent"}},
		{"adjacent mm", []string{"mm", "--movement", "adjacent"}, []string{"--movement", "direct"}},
		{"nobody computes", []string{"sor", "--master", "dedicated", "--ranks", "1"}, []string{"--master", `"dedicated"`, "1 rank"}},
		{"no such file", []string{"sor", "--input", "{no.npy}"}, []string{"no.npy: no such file", "accepted is a .npy file"}},
		{"truncated", []string{"sor", "--input", "{truncated.npy}"}, []string{"truncated.npy", "is truncated"}},
		{"cut header", []string{"sor", "--input", "{header.npy}"}, []string{"header.npy", "is truncated"}},
		{"empty file", []string{"sor", "--input", "{empty.npy}"}, []string{"empty.npy", "is not a .npy file"}},
		{"float32", []string{"sor", "--input", "{float32.npy}"}, []string{"float32.npy", "<f4", "accepted"}},
		{"three dimensions", []string{"sor", "--input", "{cube.npy}"}, []string{"cube.npy", "3 dimensions (4, 4, 4)", "two dimensions"}},
		{"too small", []string{"sor", "--input", "{small.npy}"}, []string{"small.npy", "(2, 9)", "at least 3 rows and 3 columns"}},
		{"a folder", []string{"sor", "--input", "{.}"}, []string{"not a regular file"}},
		{"inner dimensions", []string{"mm", "--a", "{a.npy}", "--b", "{a.npy}"},
			[]string{"a.npy is 4 x 5", "as many rows as A has columns"}},
		{"A without B", []string{"mm", "--a", "{a.npy}"}, []string{"--b", "because --a is given"}},
		{"B is bad", []string{"mm", "--a", "{a.npy}", "--b", "{cube.npy}"}, []string{"cube.npy", "3 dimensions"}},
		{"no folder for output", []string{"sor", "--output", "{no/out.npy}"}, []string{"no/out.npy", "no does not exist", "existing folder"}},
		{"no folders at all", []string{"mm", "--output", "{no/out.npy}", "--report", "{no/out.txt}"},
			[]string{"no/out.npy", "; ", "no/out.txt"}},
		{"too many numbers", []string{"sor", "--n", "100000000"}, []string{"100000000 x 100000000", "80.0 PB", "more than can be addressed", "fewer rows or columns"}},
		{"more than an int", []string{"mm", "--n", "10000000000"}, []string{"10000000000 x 10000000000", "800.0 EB"}},
		{"record is input", []string{"sor", "--input", "{plate.npy}", "--record", "{plate.npy}"},
			[]string{"--record", "only another file than --input", "plate.npy"}},
		{"trace is input", []string{"mm", "--a", "{square.npy}", "--b", "{square.npy}", "--trace", "{./square.npy}"},
			[]string{"--trace", "only another file than --a"}},
		{"one name for all", []string{"sor", "--record", "{new.json}", "--report", "{new.json}", "--trace", "{new.json}"},
			[]string{"--report", "; --trace", "only another file than --record"}},
		{"record is output", []string{"mm", "--record", "{new.npy}", "--output", "{new.npy}"}, []string{"--record", "only another file than --output"}},
		{"output is a folder", []string{"sor", "--output", "{.}"}, []string{"not a regular file"}},
	}
}

// prepare makes the files of the refusals, in dir, and an empty folder in which a refused run leaves nothing.
func prepare(t *testing.T) (dir, outputs string) {
	t.Helper()
	dir, outputs = t.TempDir(), t.TempDir()
	for name, data := range map[string][]byte{
		"truncated.npy": npy("<f8", "(4, 4)", 4*4*8-1),
		"header.npy":    npy("<f8", "(4, 4)", 0)[:60],
		"empty.npy":     nil,
		"float32.npy":   npy("<f4", "(4, 4)", 4*4*4),
		"cube.npy":      npy("<f8", "(4, 4, 4)", 4*4*4*8),
		"small.npy":     npy("<f8", "(2, 9)", 2*9*8),
		"a.npy":         npy("<f8", "(4, 5)", 4*5*8),
		"square.npy":    npy("<f8", "(4, 4)", 4*4*8),
		"plate.npy":     npy("<f8", "(4, 4)", 4*4*8),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return dir, outputs
}

// commandLine puts in the files, and asks for every output that the case does not itself ask for.
func (r refusal) commandLine(dir, outputs string) []string {
	var args []string
	has := map[string]bool{} // for look-ups only
	for _, a := range r.args {
		if name, ok := strings.CutPrefix(a, "{"); ok {
			a = filepath.Join(dir, strings.TrimSuffix(name, "}"))
		}
		args, has[a] = append(args, a), true
	}
	for _, o := range [][2]string{{"--output", "out.npy"}, {"--record", "out.jsonl"}, {"--report", "out.json"}} {
		if !has[o[0]] {
			args = append(args, o[0], filepath.Join(outputs, o[1]))
		}
	}
	return args
}

// nothingIn checks that a refused run left no file, hidden ones included.
func nothingIn(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// contents are the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := map[string]string{}
	for _, e := range entries {
		all[e.Name()] = content(t, filepath.Join(dir, e.Name()))
	}
	return all
}

func TestRefused(t *testing.T) {
	dir, outputs := prepare(t)
	before := contents(t, dir)
	for _, r := range refusals() {
		t.Run(r.name, func(t *testing.T) {
			args := r.commandLine(dir, outputs)
			alone(t, args[0], append([]string{"--ranks", "3"}, args[1:]...)...).refused(t, r.says...)
			nothingIn(t, outputs)
		})
	}
	assert.Equal(t, before, contents(t, dir), "nothing is added, and nothing destroyed")
}

// An mpirun of another MPI starts processes each of which is rank 0 of 1; a program without MPI is never more.
func TestWrongLauncher(t *testing.T) {
	says := "built without MPI"
	if withMPI {
		says = "started 4 ranks, but in MPI each of them is rank 0 of 1"
	}
	for rank := range 4 {
		env := []string{"PMI_SIZE=4", fmt.Sprintf("PMI_RANK=%d", rank)}
		o := start(t, env, filepath.Join(programs, "sor"), "--n", "50")
		if rank == 0 {
			o.refused(t, says)
			continue
		}
		assert.Equal(t, 2, o.code)
		assert.Empty(t, o.stdout)
		assert.Empty(t, ours(o.stderr), "only rank 0 speaks")
	}
}
