package e2e

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/lb"
	"shiftwork/loops"
	"shiftwork/spmd"
)

// The tests start their own binary again as a program of three ranks that fails as rankEnv says, in rank 1.
const rankEnv = "SHIFTWORK_E2E_RANK"

func mainRank() {
	spmd.Main(3, func(c comm.Comm) error {
		fail := os.Getenv(rankEnv)
		u := loops.NewMatrix(30, 30)
		passes := 0
		sweep := loops.DOACROSS{
			Name: "plate", Outer: 100, Rows: loops.Span(1, 29), Strip: loops.Span(1, 29), Arrays: []loops.Array{u}, Block: 7,
			Body: func(loops.Range, loops.Range) {
				if passes++; fail == "body" && c.Rank() == 1 && passes == 10 {
					panic("negative temperature")
				}
			},
		}
		if _, err := sweep.Run(c, lb.Config{Policy: lb.Off}); err != nil {
			return err
		}
		switch {
		case fail == "usage":
			return &spmd.UsageError{Err: errors.Join(errors.New("one fault"), errors.New("another fault"))}
		case fail == "error of all":
			return errors.New("nothing to do")
		case c.Rank() != 1:
		case fail == "usage of one":
			return &spmd.UsageError{Err: errors.New("no file on this node")}
		case fail == "error":
			return errors.New("the disk is full")
		case fail == "panic":
			panic("nobody expected this")
		}
		return comm.Barrier(c) // for which rank 1 never comes
	})
}

// failures are how a program fails, and what is then said, once.
var failures = []struct {
	how   string
	code  int
	first string // the first line
	lines int    // 0: a stack follows
	names string // what the stack names
}{
	{"body", 1, `rank 1: panic in loop "plate", phase 9: negative temperature`, 0, "panic_test.go"},
	{"panic", 1, "rank 1: panic: nobody expected this", 0, "panic_test.go"},
	{"error", 1, "rank 1: the disk is full", 1, ""},
	{"error of all", 1, "nothing to do", 1, ""},
	{"usage", 2, "one fault; another fault", 1, ""},
	{"usage of one", 2, "no file on this node", 1, ""},
}

// checkFailure looks at what a run that failed as failures[i] left.
func checkFailure(t *testing.T, i int, o outcome) {
	t.Helper()
	f := failures[i]
	assert.Equal(t, f.code, o.code)
	assert.Empty(t, withoutNotes(o.stdout))
	lines := ours(o.stderr)
	require.NotEmpty(t, lines)
	program, said, _ := strings.Cut(lines[0], ": ")
	assert.Contains(t, program, "test", "the program's name")
	if f.how == "error of all" { // goroutines: whichever is first
		said = regexp.MustCompile(`^rank \d: `).ReplaceAllString(said, "")
	}
	assert.Equal(t, f.first, said)
	assert.Equal(t, 1, strings.Count(o.stderr, f.first), "said once:\n%s", o.stderr)
	if f.lines > 0 {
		assert.Len(t, lines, f.lines)
	} else {
		assert.Contains(t, o.stderr, f.names)
	}
}

func TestFailures(t *testing.T) {
	for i, f := range failures {
		t.Run(f.how, func(t *testing.T) {
			checkFailure(t, i, start(t, []string{fmt.Sprintf("%s=%s", rankEnv, f.how)}, os.Args[0]))
		})
	}
}
