// Package cli holds the flags that the SPMD programs share, and parses a program's flags without printing or exiting:
// the same program runs on every rank, and one rank prints.
//
//	type flags struct {
//		N int `default:"1000" placeholder:"ROWS" help:"Rows of the grid, boundary included (default ${default})."`
//		cli.Shared
//	}
//	var f flags
//	err := cli.Parse("sor", "what it does", os.Args[1:], &f)
//	var help *cli.Help
//	switch {
//	case errors.As(err, &help): // rank 0 prints help.Text on standard output; exit code 0
//	case err != nil:            // rank 0 prints the line on standard error; exit code 2
//	}
//
// Each flag has the environment variable SHIFTWORK_FLAG, in capitals with _ for -, which a flag on the command line
// overrides. A struct may have a method Validate() error for what concerns several flags; [Refuse] words its errors.
//
// # Units and invariants
//
// Durations are Go's (1.5s, 200ms); fractions are plain numbers, not percent. An error is one line that names the
// flag, the value and what is accepted, whatever the value contains. After an error the target means nothing.
//
// # What it does not do
//
// It does not turn flags into the configuration of the balancer: it knows only how filters are written (package
// filter). It opens no file but a filter's table.
package cli
