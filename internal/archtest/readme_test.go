package archtest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The code in the README is the code of the tested examples, to the letter.
func TestTheREADMEShowsTheExamples(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	blocks := strings.Split(string(readme), "```go\n")[1:]
	require.Len(t, blocks, 2)
	for i, file := range []string{"../../loops/example_test.go", "../../hooks/example_test.go"} {
		code, _, closed := strings.Cut(blocks[i], "```")
		require.True(t, closed)
		example, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(example), code, file)
		assert.LessOrEqual(t, strings.Count(code, "\n"), 30, "the README's examples stay short")
	}
}
