//go:build cgo && !nompi && linux

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/internal/testcache"
)

// The real program and the real load on workstations of different speeds, with real MPI: the work moves, everything is
// accounted for, and the result is the same through shared memory and over the network.
func TestSORBetweenWorkstations(t *testing.T) {
	needWorkstations(t)
	require.NoError(t, testcache.Depend("../.."))
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-o", dir+"/", "../../apps/sor", "../../apps/load").CombinedOutput()
	require.NoError(t, err, string(out))
	sor := []string{filepath.Join(dir, "sor"), "--quiet",
		"--n", "1501", "--iterations", "300", "--balance", "rotate", "--period", "400ms"}
	checksums := map[string]bool{}
	for name, flags := range map[string][]string{
		"shared memory":                  nil,
		"network":                        {"--network", "--bandwidth", "1gbit"},
		"network and a dedicated master": {"--network", "--master", "dedicated"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--speeds", "1:2:2", "--cpu", "0.3", "--load", "ws=0 on=300ms off=100ms",
				"--load-program", filepath.Join(dir, "load"), "--sequential", "2"}, flags...)
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), append(append(args, "--"), sor...), &stdout, &stderr)
			require.Zero(t, code, stderr.String())
			assert.Empty(t, stderr.String())
			assert.Regexp(t, `^result: app=sor .* transport=mpi .*\s+workstation: ws=0 cpu=0\.3 speed=1 `, stdout.String())
			assert.Regexp(t, `\nlab: workstations=3 .* efficiency=[0-9.]+ checksum=[0-9a-f]{16}\n$`, stdout.String())
			assert.NotRegexp(t, `iterations_moved=0`, stdout.String())
			assert.NotRegexp(t, `ws=0 .* load_cpu_s=0 `, stdout.String())
			assert.NotRegexp(t, `app_cpu_s=0 `, stdout.String())
			checksums[stdout.String()[stdout.Len()-17:]] = true
		})
	}
	assert.Len(t, checksums, 1)
}
