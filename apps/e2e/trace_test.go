package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/apps/internal/result"
	"shiftwork/internal/mpirun"
	"shiftwork/trace"
)

// traced is an event of a trace.
type traced struct {
	Ph, Name string
	Pid, Tid int
	Ts, Dur  float64 // µs
}

// A run's trace says, for every rank, where its time went: what the report says, too.
func TestTrace(t *testing.T) {
	const ranks = 3
	for _, c := range []struct {
		name  string
		flags []string
		note  string // on standard error
	}{
		{"sor", []string{"--n", "300", "--iterations", "200", "--balance", "rotate", "--period", "1ms"}, ""},
		{"sor", []string{"--n", "300", "--iterations", "500", "--trace-limit", "100", "--block", "50"}, "at most 100 a rank"},
		{"mm", []string{"--n", "300", "--repeat", "10"}, ""},
		{"mm", []string{"--n", "300", "--balance", "off"}, ""},
	} {
		t.Run(c.name+strings.Join(c.flags, ""), func(t *testing.T) {
			dir := t.TempDir()
			path, report := filepath.Join(dir, "run.json"), filepath.Join(dir, "report.json")
			program, flags := filepath.Join(programs, c.name), append(c.flags, "--trace", path, "--report", report)
			var o outcome
			if withMPI {
				command := slices.Concat(mpirun.Command(ranks), []string{program}, flags)
				o = start(t, nil, command[0], command[1:]...)
			} else {
				o = start(t, nil, program, append(flags, "--ranks", fmt.Sprint(ranks))...)
			}
			require.Zero(t, o.code, o.stderr)
			_, err := result.Find(o.stdout)
			require.NoError(t, err)
			assert.Contains(t, o.stderr, c.note)
			assert.Equal(t, c.note != "", strings.Contains(o.stderr, path), "what is drawn together is told, once")
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			var f struct {
				TraceEvents []traced
				OtherData   trace.Summary
			}
			require.NoError(t, json.Unmarshal(b, &f))
			b, err = os.ReadFile(report)
			require.NoError(t, err)
			var rep struct {
				Run struct {
					Ranks []struct {
						Compute float64 `json:"compute_s"`
					} `json:"ranks"`
				} `json:"run"`
			}
			require.NoError(t, json.Unmarshal(b, &rep))
			require.Len(t, rep.Run.Ranks, ranks)
			require.Len(t, f.OtherData.Ranks, ranks)
			for rank, r := range rep.Run.Ranks {
				compute, last := 0.0, 0.0
				for _, e := range f.TraceEvents {
					if e.Ph == "X" && e.Pid == rank && e.Tid == 0 {
						require.GreaterOrEqual(t, e.Ts+1e-2, last, "spans of rank %d overlap", rank)
						if last = e.Ts + e.Dur; e.Name == "compute" {
							compute += e.Dur
						}
					}
				}
				// A drift of the clock that was measured over so short a time is not more than its two errors.
				assert.InEpsilon(t, r.Compute*1e6, compute, 0.02, "rank %d", rank)
				assert.InDelta(t, r.Compute, f.OtherData.Ranks[rank].Compute, 1e-6, "rank %d", rank)
			}
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Len(t, left, 2, "the parts are gone")
		})
	}
}

func TestTraceThatCannotBeWritten(t *testing.T) {
	start(t, nil, filepath.Join(programs, "sor"), "--ranks", "2", "--trace", "/no/such/folder/run.json").refused(t, "/no/such/folder")
}

// What a run that is killed leaves can be read: an array without its end, and perhaps the beginning of an event.
func TestTraceOfARunThatIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "sor"), "--n", "300", "--iterations", "100000000", "--ranks", "2", "--trace", path)
	cmd.Env = environment()
	require.NoError(t, cmd.Start())
	part := func(rank int) string {
		b, err := os.ReadFile(fmt.Sprintf("%s.rank%d.json", strings.TrimSuffix(path, ".json"), rank))
		if err != nil {
			return ""
		}
		return string(b)
	}
	deadline := time.Now().Add(limit)
	for !strings.Contains(part(0), `"compute"`) || !strings.Contains(part(1), `"compute"`) {
		if !assert.Less(t, time.Now(), deadline, "nothing is written") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	require.NoError(t, cmd.Process.Kill())
	assert.Error(t, cmd.Wait())
	for rank := range 2 {
		var all []traced
		events := part(rank)
		if json.Unmarshal([]byte(events+"]"), &all) != nil {
			whole := events[:strings.LastIndex(events, ",\n")]
			require.NoError(t, json.Unmarshal([]byte(whole+"]"), &all))
		}
		assert.Equal(t, rank, all[len(all)-1].Pid)
	}
}
