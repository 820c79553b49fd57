package cli

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"shiftwork/filter"
)

// flags stands for a program: one flag of its own and a check of its own.
type flags struct {
	N int `default:"1001" placeholder:"ROWS" help:"Rows (default ${default})."`
	Shared
}

func (f *flags) Validate() error {
	var faults []error
	if f.N < 3 {
		faults = append(faults, Refuse("n", f.N, "a whole number from 3 on"))
	}
	if f.N%2 == 0 {
		faults = append(faults, Refuse("n", f.N, "an odd number"))
	}
	return errors.Join(faults...)
}

// parse runs without whatever SHIFTWORK_ variables the tester has.
func parse(t *testing.T, args ...string) (flags, error) {
	t.Helper()
	for _, e := range os.Environ() {
		if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, "SHIFTWORK_") {
			require.NoError(t, os.Unsetenv(name))
			t.Cleanup(func() { _ = os.Setenv(name, value) })
		}
	}
	return parseHere(args...)
}

func parseHere(args ...string) (flags, error) {
	var f flags
	err := Parse("sor", "relaxes", args, &f)
	return f, err
}

func TestDefaults(t *testing.T) {
	f, err := parse(t)
	require.NoError(t, err)
	assert.Equal(t, flags{N: 1001, Shared: Shared{
		Balance: "on", Master: "shared", Block: AutoInt{Auto: true}, Period: AutoTime{Auto: true},
		Threshold: AutoPart{Auto: true}, Filter: Filter{}, CostBenefit: "on", Interaction: "pipelined", Movement: "auto",
		Every: Time(10 * time.Minute),
	}}, f)
}

func TestEveryFlagIsParsed(t *testing.T) {
	f, err := parse(t, "--n", "5", "--balance", "rotate", "--ranks", "3", "--master=dedicated", "--block", "36", "--period", "500ms",
		"--threshold", "0.1", "--filter", "fixed:0.25", "--cost-benefit", "off", "--interaction", "synchronous",
		"--movement", "direct", "--record", "a.jsonl", "--report", "b.txt", "--trace", "c.json", "--trace-limit", "100", "--verify", "--progress",
		"--checkpoint", "d", "--every", "30s", "--restart", "e", "--time-limit", "55m")
	require.NoError(t, err)
	fixed, err := filter.Parse("fixed:0.25")
	require.NoError(t, err)
	assert.Equal(t, flags{N: 5, Shared: Shared{
		Balance: "rotate", Ranks: 3, Master: "dedicated", Block: AutoInt{Value: 36}, Period: AutoTime{Value: time.Second / 2},
		Threshold: AutoPart{Value: 0.1}, Filter: Filter{Spec: fixed}, CostBenefit: "off", Interaction: "synchronous",
		Movement: "direct", Record: "a.jsonl", Report: "b.txt", Trace: "c.json", TraceLimit: 100, Verify: true, Progress: true,
		Checkpoint: "d", Every: Time(30 * time.Second), Restart: "e", TimeLimit: Time(55 * time.Minute),
	}}, f)
	assert.Equal(t, "36 500ms 0.1 fixed:0.25", strings.Join([]string{
		f.Block.String(), f.Period.String(), f.Threshold.String(), f.Filter.String()}, " "))
}

func TestValuesOnTheEdge(t *testing.T) {
	for _, args := range [][]string{
		{"--threshold", "0"}, {"--threshold", "0.999"}, {"--filter", "fixed:0"}, {"--filter", "fixed:1"}, {"--filter", "raw"}, {"--filter", "step"}, {"--filter", "state"},
		{"--block", "1"}, {"--ranks", "1"}, {"--period", "1ns"}, {"--n", "3"}, {"--quiet"},
	} {
		_, err := parse(t, args...)
		assert.NoError(t, err, args)
	}
}

func TestBadUsageIsOneLineThatNamesFlagValueAndWhatIsAccepted(t *testing.T) {
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"--block", "0"}, []string{"--block", `"0"`, "auto or a whole number from 1 on"}},
		{[]string{"--block", "-4"}, []string{"--block", `"-4"`, "auto or a whole number from 1 on"}},
		{[]string{"--block=4.5"}, []string{"--block", `"4.5"`}},
		{[]string{"--block=x\ny"}, []string{"--block", `"x\ny"`}},
		{[]string{"--block="}, []string{"--block", `""`}},
		{[]string{"--ranks", "0"}, []string{"--ranks", `"0"`, "a whole number from 1 on"}},
		{[]string{"--ranks", "-1"}, []string{"--ranks", `"-1"`, "a whole number from 1 on"}},
		{[]string{"--ranks", "4097"}, []string{"--ranks", `"4097"`, "from 1 to 4096"}},
		{[]string{"--period", "0s"}, []string{"--period", `"0s"`, "duration above 0"}},
		{[]string{"--period", "5"}, []string{"--period", `"5"`, "with its unit"}},
		{[]string{"--period", "-1s"}, []string{"--period", `"-1s"`}},
		{[]string{"--threshold", "1"}, []string{"--threshold", `"1"`, "from 0 to below 1"}},
		{[]string{"--threshold", "1.01"}, []string{"--threshold", `"1.01"`, "from 0 to below 1"}},
		{[]string{"--threshold", "-.1"}, []string{"--threshold", `"-.1"`}},
		{[]string{"--threshold", "NaN"}, []string{"--threshold", `"NaN"`}},
		{[]string{"--filter", "fixed:1.1"}, []string{"--filter", `"fixed:1.1"`, "fixed:H with 0 <= H <= 1"}},
		{[]string{"--filter", "fixed:-0.1"}, []string{"--filter", `"fixed:-0.1"`, "fixed:H"}},
		{[]string{"--filter", "state:@/no/such/table"}, []string{"--filter", "/no/such/table", "no such file", "a file with the table of a state machine"}},
		{[]string{"--filter="}, []string{"--filter", `""`, "fixed:H"}},
		{[]string{"--filter", "fixed"}, []string{"--filter", `"fixed"`}},
		{[]string{"--filter", "raw:1"}, []string{"--filter", `"raw:1"`}},
		{[]string{"--filter", "fixed:NaN"}, []string{"--filter", `"fixed:NaN"`}},
		{[]string{"--balance", "maybe"}, []string{"--balance", `"maybe"`, `"on","off","rotate","random"`}},
		{[]string{"--master", "x"}, []string{"--master", `"x"`, `"shared","dedicated"`}},
		{[]string{"--cost-benefit", "x"}, []string{"--cost-benefit", `"x"`, `"on","off"`}},
		{[]string{"--interaction", "x"}, []string{"--interaction", `"x"`, `"pipelined","synchronous"`}},
		{[]string{"--movement", "x"}, []string{"--movement", `"x"`, `"auto","adjacent","direct"`}},
		{[]string{"--report", "x.pdf"}, []string{"--report", `"x.pdf"`, ".json or .txt"}},
		{[]string{"--trace-limit", "99"}, []string{"--trace-limit", `"99"`, "from 100 on"}},
		{[]string{"--every", "0s"}, []string{"--every", `"0s"`, "a duration above 0"}},
		{[]string{"--time-limit", "5"}, []string{"--time-limit", `"5"`, "with its unit"}},
		{[]string{"--verify=maybe"}, []string{"--verify", `"maybe"`}},
		{[]string{"--n", "x"}, []string{"--n", `"x"`, "a whole number"}},
		{[]string{"--n", "2"}, []string{"--n", `"2"`, "from 3 on"}},
		{[]string{"--n", "-2"}, []string{"--n", `"-2"`, "from 3 on; --n: ", "odd"}}, // two faults
		{[]string{"--n"}, []string{"--n", "expected"}},
		{[]string{"--quiet", "--progress"}, []string{"--quiet", "--progress"}},
		{[]string{"--blocks", "3"}, []string{"unknown flag --blocks", "--block"}},
		{[]string{"--un\nknown"}, []string{"unknown flag --un known"}},
		{[]string{"stray"}, []string{"unexpected argument stray"}},
		{[]string{"--", "-1"}, []string{"unexpected argument -1"}},
	} {
		_, err := parse(t, c.args...)
		require.Error(t, err, c.args)
		for _, s := range c.says {
			assert.ErrorContains(t, err, s, c.args)
		}
		assert.NotContains(t, err.Error(), "\n", c.args)
		var help *Help
		assert.False(t, errors.As(err, &help), c.args)
	}
}

func TestEnvironment(t *testing.T) {
	_, err := parse(t) // clears
	require.NoError(t, err)
	t.Setenv("SHIFTWORK_COST_BENEFIT", "off")
	t.Setenv("SHIFTWORK_BLOCK", "7")
	t.Setenv("SHIFTWORK_VERIFY", "true")
	f, err := parseHere("--block", "8")
	require.NoError(t, err)
	assert.Equal(t, "off", f.CostBenefit)
	assert.True(t, f.Verify)
	assert.Equal(t, 8, f.Block.Value, "the command line wins")
	t.Setenv("SHIFTWORK_BLOCK", "none")
	_, err = parseHere()
	assert.ErrorContains(t, err, "SHIFTWORK_BLOCK", "the user must find where the value comes from")
	t.Setenv("SHIFTWORK_BLOCK", "7")
	t.Setenv("SHIFTWORK_COST_BENEFIT", "maybe")
	_, err = parseHere()
	assert.EqualError(t, err, `--cost-benefit must be one of "on","off" but got "maybe" (from envar SHIFTWORK_COST_BENEFIT="maybe")`)
	_, err = parseHere("--cost-benefit", "often")
	assert.EqualError(t, err, `--cost-benefit must be one of "on","off" but got "often"`)
}

func TestHelpShowsEveryFlagWithItsDefaultAndVariable(t *testing.T) {
	_, err := parse(t, "--block", "3", "--help")
	var help *Help
	require.ErrorAs(t, err, &help)
	text := strings.Join(strings.Fields(help.Text), " ")
	assert.Contains(t, text, "relaxes")
	shared := reflect.TypeFor[Shared]()
	for i := range shared.NumField() {
		name := kebab(shared.Field(i).Name)
		at := strings.Index(text, " --"+name)
		require.GreaterOrEqual(t, at, 0, name)
		variable := "($SHIFTWORK_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + ")"
		end := strings.Index(text, variable)
		require.Greater(t, end, at, variable)
		assert.Regexp(t, `\(default:? [^)]+\)`, text[at:end], "%s has a default in its help", name)
	}
}

// kebab is CostBenefit as cost-benefit.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

func TestFaultsOfTheStructPanic(t *testing.T) {
	var bad struct {
		X string `enum:"a,b"`
	}
	assert.Panics(t, func() { _ = Parse("x", "", nil, &bad) })
}

// Whatever the arguments, Parse returns, never prints or exits, and its error is one line.
func TestAnyArguments(t *testing.T) {
	words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"--block", "--n", "--verify", "--filter", "auto", "fixed:", "fixed:1", "-1", "--", "-", "--block=", "1e400", "-h"}))
	rapid.Check(t, func(t *rapid.T) {
		_, err := parseHere(rapid.SliceOfN(words, 0, 6).Draw(t, "arguments")...)
		var help *Help
		if err != nil && !errors.As(err, &help) {
			require.NotContains(t, err.Error(), "\n")
		}
	})
}

// A file that is no table is named, with the line, and not printed.
func TestAFileThatIsNoTable(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table")
	require.NoError(t, os.WriteFile(table, []byte("# of mine\nstart a\na sideways 0.5 a\na decrease 0.5 a\n"), 0o600))
	_, err := parse(t, "--n", "5", "--filter", "state:@"+table)
	require.ErrorContains(t, err, table)
	require.ErrorContains(t, err, `table line 3: input "sideways"`)
	assert.NotContains(t, err.Error(), "decrease 0.5")
}
