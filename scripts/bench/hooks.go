package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"shiftwork/scripts/internal/arguments"
)

type hookFlags struct {
	Builds string  `default:"build" placeholder:"FOLDER" help:"Where nohooks and idlehooks are, folders with sor and mm built with these tags (default ${default})."`
	Length float64 `default:"3" placeholder:"SECONDS" help:"About how long all runs of a way in a round take (default ${default})."`
}

// build is a way to build sor and mm, and to run them.
type build struct {
	name    string // as in the table
	tag     string // of go build; empty: the usual build
	balance string
}

// hookTurns are the runs that make a time of a round. What is looked for is one percent, and the speed of a core changes by ten within seconds where its host has other
// guests: runs of half a second that take turns have the same of it.
const hookTurns = 5

// none is what the others are held against.
var (
	none   = build{"none", "nohooks", "off"}
	builds = []build{none, {"idle", "idlehooks", "on"}, {"off", "", "off"}}
)

// hooked is a program whose hooks are looked at.
type hooked struct {
	name    string
	program string
	most    int                      // of what flags takes
	flags   func(count int) []string // of a run whose time grows with count
	block   bool                     // the block size that the program chooses is given to all builds
}

func repeated(flag string, n int) func(int) []string {
	return func(count int) []string { return []string{"--n", strconv.Itoa(n), flag, strconv.Itoa(count)} }
}

// once is a single product of which so many steps of 100 x 100 x 100 are done: near enough, in steps of 20 rows.
func once(count int) []string {
	return []string{"--n", strconv.Itoa(max(20, 20*int(math.Round(5*math.Cbrt(float64(count))))))}
}

var hookedPrograms = []hooked{
	{"sor 1000", "sor", 1e6, repeated("--iterations", 1000), true},
	{"sor 2000", "sor", 1e6, repeated("--iterations", 2000), true},
	{"mm 1000, repeated", "mm", 1e5, repeated("--repeat", 1000), false},
	{"mm, once", "mm", 343e3, once, false}, // 7000 rows: 2 GB
}

// hooks holds builds of sor and mm with hooks that never interact against the one that has none: the same loops, block sizes and
// static halves on two ranks.
func (b *bench) hooks(ctx context.Context, f hookFlags) error {
	if !(f.Length > 0 && f.Length <= 100) {
		return arguments.Refuse("--length=%g: seconds above 0 up to 100 are accepted", f.Length)
	}
	dir, err := filepath.Abs(f.Builds)
	if err != nil {
		return err
	}
	folder := func(d build) string {
		if d.tag == "" {
			return b.bin
		}
		return filepath.Join(dir, d.tag)
	}
	if err := sameSource(folder); err != nil {
		return err
	}
	b.turns = hookTurns
	if err := b.quiet(); err != nil {
		return err
	}
	if err := b.sameChecksums(ctx, folder); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n%-18s %7s %-6s %8s | %s\n%-18s %7s %-6s %8s | %7s %7s %7s\n",
		"", "block", "hooks", "time_s", "time over that without hooks", "", "", "", "median", "least", "median", "largest")
	for _, h := range hookedPrograms {
		if err := b.holdHooks(ctx, h, folder, f.Length); err != nil {
			return err
		}
	}
	return nil
}

// run is a run of a build of the program on two ranks, a core each.
func (h hooked) run(ctx context.Context, folder func(build) string, d build, flags ...string) (map[string]string, error) {
	command := append([]string{filepath.Join(folder(d), h.program), "--balance", d.balance, "--quiet"}, flags...)
	return lineOf(ctx, nil, "mpirun", launch(2, boundToCores, command)...)
}

// sameChecksums runs each build with --verify, and requires the same bits of all.
func (b *bench) sameChecksums(ctx context.Context, folder func(build) string) error {
	for _, h := range []hooked{{program: "sor"}, {program: "mm"}} {
		sum := ""
		for _, d := range builds {
			line, err := h.run(ctx, folder, d, "--n", "203", "--verify")
			if err != nil {
				return err
			}
			if line["verified"] != "true" || line["checksum"] == "" || sum != "" && line["checksum"] != sum {
				return fmt.Errorf("%s, hooks %s: checksum %s, verified %s, but another build has %s",
					h.program, d.name, line["checksum"], line["verified"], sum)
			}
			sum = line["checksum"]
		}
	}
	return nil
}

func (b *bench) holdHooks(ctx context.Context, h hooked, folder func(build) string, seconds float64) error {
	seconds /= hookTurns
	if b.short {
		seconds /= 100
	}
	block := ""
	count, err := sized(seconds, h.most, func(count int) (float64, error) {
		line, err := h.run(ctx, folder, none, h.flags(count)...)
		if err != nil {
			return 0, err
		}
		block = line["block"]
		return timeIn(line)
	})
	if err != nil {
		return err
	}
	flags := h.flags(count)
	if h.block {
		flags = append(flags, "--block", block)
	} else {
		block = ""
	}
	var ways []way
	for _, d := range builds {
		ways = append(ways, way{d.name, func(ctx context.Context) (float64, error) {
			line, err := h.run(ctx, folder, d, flags...)
			if err != nil {
				return 0, err
			}
			if n := line["interactions"]; n != "0" {
				return 0, fmt.Errorf("hooks that must not interact did so %s times", n)
			}
			return timeIn(line)
		}})
	}
	times, err := b.measure(ctx, h.name, ways)
	if err != nil {
		return err
	}
	for k, d := range builds {
		name := h.name
		if k > 0 {
			name, block = "", ""
		}
		if _, err := fmt.Fprintf(b.out, "%-18s %7s %-6s %8.3f | %v\n", name, block, d.name,
			spreadOf(times[k]).median, spreadOf(ratios(times[k], times[0]))); err != nil {
			return err
		}
	}
	return nil
}

// sameSource refuses programs that were not built with the tag that their folder promises, or from different commits.
func sameSource(folder func(build) string) error {
	const tags, commit = "-tags", "vcs.revision"
	was := map[string]string{}
	for _, d := range builds {
		for _, program := range []string{"sor", "mm"} {
			name := filepath.Join(folder(d), program)
			info, err := buildinfo.ReadFile(name)
			if err != nil {
				return arguments.Refuse("%v (make bench-hooks builds it)", err)
			}
			is := map[string]string{}
			for _, s := range info.Settings {
				is[s.Key] = s.Value
			}
			if is[tags] != d.tag {
				return arguments.Refuse("%s was built with tags %q, %q is accepted (make bench-hooks builds it)", name, is[tags], d.tag)
			}
			if was[commit] != "" && is[commit] != was[commit] {
				return arguments.Refuse("%s was built from %s and another program from %s (make bench-hooks builds all)", name, is[commit], was[commit])
			}
			was = is
		}
	}
	return nil
}
