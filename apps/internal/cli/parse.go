package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"
)

// helpWidth is fixed, because the output of a launched rank is a terminal of no particular width.
const helpWidth = 110

// Help is the error of Parse when --help was given.
type Help struct{ Text string }

func (h *Help) Error() string { return "help was asked for" }

// Parse parses a program's arguments, without its name, into target, a pointer to a struct with kong's tags. The error
// is a *Help, or one line for the user. Other faults, of the struct itself, panic.
func Parse(name, description string, args []string, target any) (err error) {
	var text bytes.Buffer
	type exit struct{}
	// kong prints the help and then calls Exit in the midst of parsing.
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(exit); !ok {
				panic(p)
			}
			err = &Help{Text: text.String()}
		}
	}()
	k := kong.Must(target,
		kong.Name(name), kong.Description(description),
		kong.DefaultEnvars("SHIFTWORK"),
		kong.Writers(&text, &text),
		kong.Exit(func(int) { panic(exit{}) }),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: helpWidth}),
	)
	if _, err := k.Parse(joinNegative(args)); err != nil {
		return oneLine(namingVariable(err))
	}
	if s, ok := target.(interface{ shared() *Shared }); ok {
		return s.shared().check()
	}
	return nil
}

// namingVariable adds to an error of kong's about a word that is none of those which a flag accepts the environment variable that it came from. kong
// does that for all other values.
func namingVariable(err error) error {
	var fault *kong.ParseError
	if !errors.As(err, &fault) {
		return err
	}
	for _, f := range fault.Context.Flags() {
		for _, name := range f.Envs {
			word, set := os.LookupEnv(name)
			if set && f.Enum != "" && strings.HasPrefix(err.Error(), f.ShortSummary()+" must be ") && strings.HasSuffix(err.Error(), fmt.Sprintf(" got %q", word)) {
				return fmt.Errorf("%w (from envar %s=%q)", err, name, word)
			}
		}
	}
	return err
}

// oneLine removes the type of kong's error, which would let callers depend on it, and whatever could break the line. The
// lines of several joined errors stand behind one another.
func oneLine(err error) error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var texts []string
		for _, one := range joined.Unwrap() {
			texts = append(texts, oneLine(one).Error())
		}
		return errors.New(strings.Join(texts, "; "))
	}
	return errors.New(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, ours(err.Error())))
}

// noNumber is what kong says of a value that is no number.
var noNumber = regexp.MustCompile(`^(--[a-z-]+): expected a (float|valid 64 bit int) but got ("(?:[^"\\]|\\.)*")(?: \(string\))?`)

// ours puts kong's words for a value that is no number as refusals are put here.
func ours(text string) string {
	m := noNumber.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	kind := "a whole number"
	if m[2] == "float" {
		kind = "a number as a float64 can be"
	}
	return fmt.Sprintf("%s: %s is not accepted, only %s%s", m[1], m[3], kind, text[len(m[0]):])
}

// joinNegative makes --flag -1 into --flag=-1. kong takes -1 for a flag of that name; none of ours are digits, and the
// user should hear that -1 is not accepted rather than what kong guesses.
func joinNegative(args []string) []string {
	joined := make([]string, 0, len(args))
	for i, a := range args {
		if a == "--" { // only arguments from here on
			return append(joined, args[i:]...)
		}
		last := len(joined) - 1
		if len(a) > 1 && a[0] == '-' && (a[1] == '.' || a[1] >= '0' && a[1] <= '9') &&
			last >= 0 && strings.HasPrefix(joined[last], "--") && !strings.Contains(joined[last], "=") {
			joined[last] += "=" + a
			continue
		}
		joined = append(joined, a)
	}
	return joined
}
