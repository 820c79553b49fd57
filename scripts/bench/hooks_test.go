package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/internal/mpirun"
	"shiftwork/internal/testcache"
	"shiftwork/scripts/internal/arguments"
)

// Builds with hooks that never interact, and without any, compute what the usual one does, also where they are asked to balance,
// and move nothing.
func TestBuildsForMeasuringComputeTheSame(t *testing.T) {
	runs := map[string][][]string{
		"sor": {{"--n", "203", "--iterations", "40"}, {"--n", "120", "--iterations", "200", "--tolerance", "1e-3"}},
		"mm":  {{"--n", "203"}, {"--n", "90", "--repeat", "7"}},
	}
	sums := map[string]string{}
	require.NoError(t, testcache.Depend("../.."))
	dir := t.TempDir()
	folder := func(d build) string { return filepath.Join(dir, "usual", d.tag) }
	for _, d := range builds {
		tags := "nompi"
		if d.tag != "" {
			tags += "," + d.tag
		}
		into := folder(d) + string(filepath.Separator)
		cmd := exec.Command("go", "build", "-tags="+tags, "-o", into, "shiftwork/apps/sor", "shiftwork/apps/mm")
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	// The usual build with balancing is what the others are held against.
	for _, d := range append([]build{{name: "usual", balance: "on"}, {name: "none", tag: none.tag, balance: "rotate"}}, builds...) {
		for program, all := range runs {
			for i, flags := range all {
				flags = append([]string{"--ranks", "3", "--quiet", "--verify", "--balance", d.balance}, flags...)
				out, err := exec.Command(filepath.Join(folder(d), program), flags...).Output()
				require.NoError(t, err, "%s, hooks %s: %v", program, d.name, flags)
				line := mpirun.Fields(string(out))
				assert.Equal(t, "true", line["verified"])
				which := program + string(rune('0'+i))
				if sums[which] == "" {
					sums[which] = line["checksum"]
				}
				assert.Equal(t, sums[which], line["checksum"], "%s, hooks %s: %v", program, d.name, flags)
				if d.name != "usual" {
					assert.Equal(t, "0", line["interactions"])
					assert.Equal(t, "0", line["iterations_moved"])
				}
			}
		}
	}
	assert.ErrorIs(t, sameSource(folder), arguments.ErrRefused, "these have the tag nompi")
	assert.ErrorContains(t, sameSource(func(build) string { return t.TempDir() }), "make bench-hooks")
}
