package lb

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the decisions in testdata")

// The scripts in testdata say what happens, and behind a line "----" what the balancer decided. Rewrite that part with
//
//	go test ./lb -run Golden -update
//
// and read the difference. Lines of a script, # begins a comment:
//
//	loop RANKS adjacent|direct|free ITERATIONS [interact SECONDS] [quantum SECONDS]
//	config [period=S] [threshold=X] [filter=F] [costbenefit=off] [interaction=synchronous] [policy=P]
//	speed U U ...           units/s of each rank from the start
//	at T speed U U ...      and from time T on, s
//	noise X                 relative standard deviation of the measured rates
//	move A B                a move stops all ranks for A + B (fraction of the work moved) seconds
//	sweeps N                of the loop; unknown without this line
//	run T                   until time T, s, or the end
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			script, want, _ := strings.Cut(string(text), "----\n")
			got := play(t, script)
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(script+"----\n"+got), 0o644))
				return
			}
			require.Equal(t, want, got, "if this is meant: go test ./lb -run Golden -update")
		})
	}
}

type change struct {
	at     float64
	speeds []float64
	line   string
}

func play(t *testing.T, script string) string {
	var cfg Config
	var loop Loop
	var changes []change
	iterations, sweeps, until := 0, -1, 0.0
	noise, moveFixed, moveAll := 0.0, 0.0, 0.0
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)
		return x
	}
	numbers := func(fields []string) (out []float64) {
		for _, f := range fields {
			out = append(out, number(f))
		}
		return out
	}
	for _, line := range strings.Split(script, "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		switch f[0] {
		case "loop":
			loop.Ranks, iterations = int(number(f[1])), int(number(f[3]))
			loop.Free = f[2] == "free"
			loop.Movement = Direct
			if f[2] == "adjacent" {
				loop.Movement = Adjacent
			}
			for k := 4; k+1 < len(f); k += 2 {
				switch f[k] {
				case "interact":
					loop.Interact = number(f[k+1])
				case "quantum":
					loop.Quantum = number(f[k+1])
				default:
					t.Fatalf("unknown word %q", f[k])
				}
			}
		case "config":
			for _, option := range f[1:] {
				configure(t, &cfg, option)
			}
		case "speed":
			changes = append(changes, change{0, numbers(f[1:]), line})
		case "at":
			changes = append(changes, change{number(f[1]), numbers(f[3:]), strings.TrimSpace(line)})
		case "noise":
			noise = number(f[1])
		case "move":
			moveFixed, moveAll = number(f[1]), number(f[2])
		case "sweeps":
			sweeps = int(number(f[1]))
		case "run":
			until = number(f[1])
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	s := newSim(t, cfg, loop, iterations)
	s.noise, s.moveFixed, s.moveAll, s.sweeps = noise, moveFixed, moveAll, sweeps
	s.rng = rand.New(rand.NewPCG(1, 1))
	s.speed = func(r int, at float64) float64 {
		speed := 0.0
		for _, c := range changes {
			if at >= c.at {
				speed = c.speeds[r]
			}
		}
		return speed
	}
	return transcript(s, changes, until)
}

func configure(t *testing.T, cfg *Config, option string) {
	key, value, _ := strings.Cut(option, "=")
	var err error
	switch key {
	case "period":
		cfg.Period, err = strconv.ParseFloat(value, 64)
	case "threshold":
		cfg.Threshold, err = strconv.ParseFloat(value, 64)
		cfg.NoThreshold = cfg.Threshold == 0
	case "filter":
		cfg.Filter = value
	case "costbenefit":
		cfg.NoCostBenefit = value == "off"
	case "interaction":
		cfg.Interaction, err = ParseInteraction(value)
	case "policy":
		cfg.Policy, err = ParsePolicy(value)
	default:
		t.Fatalf("unknown option %q", option)
	}
	require.NoError(t, err)
}

// transcript runs s and writes a line per decision that moves work or says something new; the others are counted.
func transcript(s *sim, changes []change, until float64) string {
	var out strings.Builder
	silent, last := 0, ""
	hush := func() {
		if silent > 0 {
			fmt.Fprintf(&out, "      ... %d more like it\n", silent)
		}
		silent = 0
	}
	next := 1
	for s.t < until && !s.final && s.sweeps != 0 {
		d := s.step()
		for next < len(changes) && s.t >= changes[next].at {
			hush()
			fmt.Fprintf(&out, "      %s\n", changes[next].line)
			next++
		}
		kind, _, _ := strings.Cut(d.Reason, ":")
		kind = strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' {
				return -1
			}
			return c
		}, kind)
		if !d.Moved() && kind == last {
			silent++
			continue
		}
		hush()
		last = kind
		fmt.Fprintf(&out, "%4d  t=%.2f owned=%.4g period=%.3g(%s) hook=%d: %s\n", s.k-1, s.t, s.owned, d.Period, d.Limit, d.NextHook, d.Reason)
		if d.Moved() {
			fmt.Fprintf(&out, "      moves %v\n", d.Transfers)
		}
		if d.Final {
			fmt.Fprintf(&out, "      final\n")
		}
	}
	hush()
	fmt.Fprintf(&out, "end   t=%.2f owned=%.4g moves=%d done=%.0f\n", s.t, s.owned, s.moves, s.done)
	return out.String()
}

func BenchmarkDecide(b *testing.B) {
	for _, ranks := range []int{8, 1000, 100_000} {
		b.Run(fmt.Sprintf("quiet/P=%d", ranks), func(b *testing.B) {
			balancer, st := steady(b, ranks)
			b.ReportAllocs()
			for b.Loop() {
				balancer.Decide(st)
			}
		})
		b.Run(fmt.Sprintf("moving/P=%d", ranks), func(b *testing.B) {
			balancer, st := steady(b, ranks)
			balancer.cfg.NoThreshold, balancer.cfg.NoCostBenefit = true, true
			rng := rand.New(rand.NewPCG(1, 1))
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for r := range st {
					st[r].Compute = 1 + rng.Float64()
				}
				b.StartTimer()
				if d := balancer.Decide(st); len(d.Transfers) == 0 && ranks > 8 {
					b.Fatal(d.Reason)
				}
			}
		})
	}
}
