package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"shiftwork/apps/internal/cli"
)

// verbs are what shiftwork can do.
type verbs struct {
	Hooks  hooksVerb  `cmd:"" help:"Say where the hook goes in loops that are marked //shiftwork:distribute, and what to insert."`
	Replay replayVerb `cmd:"" help:"Feed a recorded run through the balancer again: the same decisions, or, with other settings, what would have been decided."`
	Report reportVerb `cmd:"" help:"Make a page of a recorded run, for a browser: summary, rates, shares, how time was spent, decisions with their reasons."`

	chosen verb `kong:"-"`
}

// AfterApply learns from kong which verb was given.
func (v *verbs) AfterApply(ctx *kong.Context) error {
	v.chosen = ctx.Selected().Target.Addr().Interface().(verb)
	return nil
}

// verb is what each of them is: its errors are failures, or usage errors.
type verb interface {
	Run(stdout io.Writer) error
}

// usageError is an error of the user: exit code 2.
type usageError struct{ error }

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program; it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	var v verbs
	err := cli.Parse("shiftwork", "Tools for programs that shift work.", args, &v)
	if help := (*cli.Help)(nil); errors.As(err, &help) {
		_, err = io.WriteString(stdout, help.Text)
	} else if err != nil {
		err = usageError{err}
	} else {
		err = v.chosen.Run(stdout)
	}
	switch usage := (usageError{}); {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		_, _ = fmt.Fprintln(stderr, "shiftwork:", err)
		return 2
	default:
		_, _ = fmt.Fprintln(stderr, "shiftwork:", err)
		return 1
	}
}
