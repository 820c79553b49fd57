package cli

import (
	"fmt"
	"path/filepath"
)

// mostRanks is how many ranks may be goroutines of one process: more is a slip of the finger.
const mostRanks = 4096

// Shared are the flags of all SPMD programs; embed it in the struct of a program's own.
type Shared struct {
	Balance     string   `default:"on" enum:"on,off,rotate,random" placeholder:"HOW" help:"on: move work where it is done soonest; off: never; rotate, random: for no reason, to test the mechanism (default ${default})."`
	Ranks       Count    `placeholder:"COUNT" help:"Goroutine ranks when no launcher started the program (default: one a core)."`
	Master      string   `default:"shared" enum:"shared,dedicated" placeholder:"WHERE" help:"shared: rank 0 computes and balances; dedicated: rank 0 only balances (default ${default})."`
	Block       AutoInt  `default:"auto" placeholder:"COUNT" help:"Block size of strips, in iterations of the strip mined loop; auto or a count from 1 on (default ${default})."`
	Period      AutoTime `default:"auto" placeholder:"DURATION" help:"Target period between interactions; auto or a duration such as 500ms (default ${default})."`
	Threshold   AutoPart `default:"auto" placeholder:"FRACTION" help:"Imbalance from which on work moves; auto or a fraction from 0 to below 1 (default ${default})."`
	Filter      Filter   `default:"auto" placeholder:"FILTER" help:"Rate filter: auto, levels (remembers levels), state (state machine; state:@FILE with a table of your own), fixed:H (history counts H, from 0 to 1, a new rate the rest), median:N (of N samples), step (change points), raw, or A+B: A, then B (default ${default})."`
	CostBenefit string   `default:"on" enum:"on,off" placeholder:"on|off" help:"Move work only where that pays (default ${default})."`
	Interaction string   `default:"pipelined" enum:"pipelined,synchronous" placeholder:"HOW" help:"pipelined: obey the instruction computed from the previous status; synchronous: wait for the newest (default ${default})."`
	Movement    string   `default:"auto" enum:"auto,adjacent,direct" placeholder:"HOW" help:"adjacent: shift between neighbouring ranks; direct: transfer between any two, DOALL only; auto: as the loop allows (default ${default})."`
	Record      string   `placeholder:"FILE.jsonl" help:"Write every event and decision, one JSON object a line (default: not)."`
	Trace       string   `placeholder:"FILE.json" help:"Write where each rank's time went, for ui.perfetto.dev or chrome://tracing (default: not)."`
	TraceLimit  Count    `placeholder:"COUNT" help:"Spans that a trace keeps of each rank, from 100 on; where there are more, short ones are drawn together (default: 100000)."`
	Report      string   `placeholder:"FILE" help:"Write a summary at the end, to a name that ends in .json or .txt (default: not)."`
	Checkpoint  string   `placeholder:"DIR" help:"Write the state of the run into this folder now and then, and when it is stopped by a signal (SIGUSR1, SIGTERM) or --time-limit; the two newest are kept (default: not)."`
	Every       Time     `default:"10m" placeholder:"DURATION" help:"Time between two checkpoints (default ${default})."`
	Restart     string   `placeholder:"DIR" help:"Go on from the newest good checkpoint in this folder, on any number of ranks; if this is --checkpoint's and still empty, begin (default: begin)."`
	TimeLimit   Time     `placeholder:"DURATION" help:"Stop at the end of a sweep or repetition, in time to be done by then, counted from the start of the program, such as 55m (default: never)."`
	Verify      bool     `help:"Compare the result with a serial run, bit for bit (default: off)."`
	Quiet       bool     `xor:"output" help:"Print nothing but the result line (default: off)."`
	Progress    bool     `xor:"output" help:"Print a line a second on standard error (default: off)."`
}

// check finds what kong's tags cannot say. It is not called Validate, because a program's struct that embeds Shared
// would then have it, or by having its own lose it.
func (s *Shared) check() error {
	if ext := filepath.Ext(s.Report); s.Report != "" && ext != ".json" && ext != ".txt" {
		return Refuse("report", s.Report, "a file name that ends in .json or .txt")
	}
	if s.Ranks > mostRanks {
		return Refuse("ranks", s.Ranks, fmt.Sprintf("a whole number from 1 to %d", mostRanks))
	}
	if s.TraceLimit != 0 && s.TraceLimit < 100 {
		return Refuse("trace-limit", s.TraceLimit, "a whole number from 100 on")
	}
	return nil
}

func (s *Shared) shared() *Shared { return s }

// Refuse is the error for a flag (without dashes) whose value is not accepted.
func Refuse(flag string, value any, accepted string) error {
	return fmt.Errorf("--%s: %w", flag, refused(fmt.Append(nil, value), accepted))
}
