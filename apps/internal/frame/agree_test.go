package frame

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/apps/internal/cli"
	"shiftwork/apps/internal/result"
	"shiftwork/comm"
	"shiftwork/comm/local"
	"shiftwork/loops"
)

// failsAs runs four ranks, again and again, since it is chance which of them comes to its end first.
func failsAs(t *testing.T, pattern string, run func(c comm.Comm) error) {
	t.Helper()
	for range 50 {
		err := local.Run(4, run)
		require.Error(t, err)
		require.Regexp(t, "^("+pattern+")$", err.Error())
	}
}

// printTo lets the test print into a file that is there.
func printTo(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("there is no %s on this system", path)
	}
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = f
	t.Cleanup(func() {
		os.Stdout = stdout
		assert.NoError(t, f.Close())
	})
}

// The failure is told by the rank that has it, whatever the others know of it, once and in one line.
func TestAgreeTellsOfTheRankThatHasFailed(t *testing.T) {
	for first := range 4 {
		for last := first; last < 4; last++ {
			failsAs(t, "rank "+string(rune('0'+first))+": full; closed", func(c comm.Comm) error {
				if c.Rank() != first && c.Rank() != last {
					return Agree(c, nil)
				}
				return Agree(c, errors.Join(errors.New("full"), errors.New("full\nclosed")))
			})
		}
	}
	require.NoError(t, local.Run(4, func(c comm.Comm) error { return Agree(c, nil) }))
	require.ErrorIs(t, local.Run(2, func(c comm.Comm) error { return Agree(c, io.ErrShortWrite) }), io.ErrShortWrite)
}

// What rank 0 cannot write, rank 0 tells of.
func TestFilesThatCannotBeWritten(t *testing.T) {
	printTo(t, os.DevNull)
	failsAs(t, "rank 0: --report: open /no/such/folder/[.]run[.]json[.][0-9]+: no such file or directory", func(c comm.Comm) error {
		return Finish(c, &cli.Shared{Quiet: true, Report: "/no/such/folder/run.json"}, result.Line{}, &loops.Report{}, nil)
	})
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no disk is full here")
	}
	failsAs(t, "rank 0: --record: write /dev/full: no space left on device", func(c comm.Comm) error {
		_, done, err := Recorder(c, &cli.Shared{Record: "/dev/full"}, Work{})
		if err != nil {
			return err
		}
		return Finish(c, &cli.Shared{Quiet: true}, result.Line{}, &loops.Report{}, done(nil))
	})
}

// A result that nobody gets is no success.
func TestTheResultLineIsLost(t *testing.T) {
	printTo(t, "/dev/full")
	failsAs(t, "rank 0: the result line is lost: write /dev/full: no space left on device", func(c comm.Comm) error {
		return Finish(c, &cli.Shared{Quiet: true}, result.Line{}, &loops.Report{}, nil)
	})
}

// No file may destroy another; only the result may take the place of what it was made from.
func TestFilesThatAreTheSame(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	require.NoError(t, os.WriteFile(in, nil, 0o600))
	inputs := []File{{"a", ""}, {"b", in}}
	check := func(s cli.Shared, output string) error {
		return local.Run(3, func(c comm.Comm) error { return CheckFiles(c, &s, output, inputs...) })
	}
	fresh := filepath.Join(dir, "new")
	assert.NoError(t, check(cli.Shared{}, in))
	assert.NoError(t, check(cli.Shared{Record: fresh}, in))
	assert.ErrorContains(t, check(cli.Shared{Record: in}, ""), "only another file than --b "+in)
	assert.ErrorContains(t, check(cli.Shared{Report: in}, ""), "only another file than --b "+in)
	assert.ErrorContains(t, check(cli.Shared{Trace: in}, ""), "only another file than --b "+in)
	assert.ErrorContains(t, check(cli.Shared{Trace: in}, in), "only another file than --output "+in)
	assert.ErrorContains(t, check(cli.Shared{Report: fresh}, fresh), "only another file than --output "+fresh)
	assert.ErrorContains(t, check(cli.Shared{Trace: fresh, Record: fresh}, ""), "only another file than --record "+fresh)
	assert.ErrorContains(t, check(cli.Shared{Filter: cli.Filter{File: in}}, in), "only another file than --filter "+in)
	part := filepath.Join(dir, "new.rank2.json")
	assert.ErrorContains(t, check(cli.Shared{Trace: fresh + ".json", Record: part}, ""), "only another file than "+part+", which --trace")
	assert.ErrorContains(t, check(cli.Shared{Trace: fresh + ".json"}, part), "only another file than "+part)
	assert.NoError(t, check(cli.Shared{Trace: fresh + ".json"}, filepath.Join(dir, "new.rank3.json")), "there are three ranks")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing is left there")
}
