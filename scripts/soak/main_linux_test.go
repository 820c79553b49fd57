package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBadUsageIsOneLine(t *testing.T) {
	for _, args := range [][]string{{"--period", "0s"}, {"--for", "-1s"}, {"--growth", "NaN"}, {"--ranks", "1"}, {"--n", "5"}, {"30m"}, {"--program", "/nowhere/sor"}} {
		var out, err bytes.Buffer
		assert.Equal(t, 2, run(args, &out, &err), "%v", args)
		assert.Empty(t, out.String(), "%v", args)
		assert.Equal(t, 1, strings.Count(err.String(), "\n"), "%v: %s", args, err.String())
	}
}
