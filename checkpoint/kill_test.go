//go:build unix

package checkpoint

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writerEnv makes a process of this test write generations for ever into the folder that it names.
const writerEnv = "SHIFTWORK_TEST_CHECKPOINT_WRITER"

func TestMain(m *testing.M) {
	dir := os.Getenv(writerEnv)
	if dir == "" {
		// Each check brings dozens of files to the disk.
		if err := flag.Set("rapid.checks", "30"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	s, err := Open(dir)
	step := 0
	if err == nil && s.trusted >= 0 {
		var m *Manifest
		if m, err = Newest(dir); m != nil {
			step = m.Step
		}
	}
	for said := false; err == nil; said = true {
		step++
		err = write(s, step)
		if !said {
			fmt.Println("writing")
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// A process that does nothing but write is killed at 50 random moments, each of them in the midst of a write. A restart always
// finds a good generation, and never an older one than before.
func TestKilledAtFiftyRandomMoments(t *testing.T) {
	const kills = 50
	dir := filepath.Join(t.TempDir(), "c")
	random := rand.New(rand.NewPCG(1, 2))
	last, amidst := 0, 0
	for range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerEnv+"="+dir)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line, _ := bufio.NewReader(out).ReadString('\n')
		assert.Equal(t, "writing\n", line)
		time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		require.Empty(t, said.String())

		m, err := Newest(dir)
		require.NoError(t, err)
		require.NoError(t, content(m))
		require.GreaterOrEqual(t, m.Step, last)
		last = m.Step
		if left, err := filepath.Glob(filepath.Join(dir, "gen-*.*")); assert.NoError(t, err) && len(left) > 0 {
			amidst++
		}
	}
	t.Logf("%d generations; %d of %d kills left a generation half written or half removed", last, amidst, kills)
	assert.Greater(t, amidst, kills/2)
	assert.GreaterOrEqual(t, last, kills, "it wrote at all")
}
