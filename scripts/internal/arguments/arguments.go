// Package arguments parses the command lines of the commands under scripts with kong.
package arguments

import (
	"bytes"

	"github.com/alecthomas/kong"
)

// Parse parses args, without the program's name, into target, a pointer to a struct with kong's tags. help is not empty if that
// was asked for; nothing is printed and the process goes on.
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
	_, err = k.Parse(args)
	return "", err
}
