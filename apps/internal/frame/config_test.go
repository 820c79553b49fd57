package frame

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/apps/internal/cli"
	"shiftwork/lb"
)

// parsed are the shared flags of a command line.
func parsed(t *testing.T, args ...string) *cli.Shared {
	var f struct{ cli.Shared }
	require.NoError(t, cli.Parse("sor", "", args, &f))
	return &f.Shared
}

func TestConfigIsWhatTheFlagsSay(t *testing.T) {
	for _, c := range []struct {
		args []string
		want lb.Config
	}{
		{nil, lb.Config{Filter: "auto"}},
		{[]string{"--threshold", "0"}, lb.Config{Filter: "auto", NoThreshold: true}},
		{[]string{"--threshold", "0.2", "--cost-benefit", "off"}, lb.Config{Filter: "auto", Threshold: 0.2, NoCostBenefit: true}},
		{[]string{"--period", "2s", "--master", "dedicated", "--balance", "off", "--interaction", "synchronous", "--filter", "raw"},
			lb.Config{Filter: "raw", Period: (2 * time.Second).Seconds(), DedicatedMaster: true, Policy: lb.Off, Interaction: lb.Synchronous}},
	} {
		got, err := Config(4, parsed(t, c.args...))
		require.NoError(t, err)
		assert.Equal(t, c.want, got, c.args)
	}
}
