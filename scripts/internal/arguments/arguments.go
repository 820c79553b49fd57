// Package arguments parses the command lines of the commands under scripts with kong, and says what is refused.
package arguments

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// ErrRefused is in the errors that say that the input, or the machine, cannot give what was asked for: exit code 2. Nothing was started, and
// nothing is left behind.
var ErrRefused = errors.New("refused")

// refusal is an ErrRefused whose text is the reason alone.
type refusal struct{ reason string }

func (r refusal) Error() string        { return r.reason }
func (r refusal) Is(target error) bool { return target == ErrRefused }

// Refuse is an [ErrRefused] with that text, on one line.
func Refuse(format string, args ...any) error {
	return refusal{strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")}
}

// Parse parses args, without the program's name, into target, a pointer to a struct with kong's tags. help is not empty if that
// was asked for; nothing is printed and the process goes on. An error is an [ErrRefused].
func Parse(name, description string, vars kong.Vars, args []string, target any) (help string, err error) {
	var text bytes.Buffer
	type exit struct{}
	defer func() {
		if p := recover(); p != nil { // kong calls Exit in the midst of parsing
			if _, ok := p.(exit); !ok {
				panic(p)
			}
			help = text.String()
		}
	}()
	k := kong.Must(target, kong.Name(name), kong.Description(description), vars,
		kong.Writers(&text, &text), kong.Exit(func(int) { panic(exit{}) }),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110}))
	if _, err = k.Parse(args); err != nil {
		return "", Refuse("%v", err)
	}
	return "", nil
}
