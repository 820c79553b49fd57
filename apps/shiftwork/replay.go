package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"shiftwork/apps/internal/cli"
	"shiftwork/apps/shiftwork/internal/replay"
	"shiftwork/lb"
)

// replayVerb is shiftwork replay. Its settings are those of the programs, but left as they were recorded unless they are
// given, and not taken from the environment: what SHIFTWORK_FILTER says there is meant for the next run.
type replayVerb struct {
	Recording string `arg:"" placeholder:"FILE.jsonl" help:"What a program wrote for --record."`

	Balance     string        `default:"" enum:",on,off,rotate,random" env:"-" placeholder:"HOW" help:"on, off, rotate or random instead of the recorded policy (default: as recorded)."`
	Period      *cli.AutoTime `env:"-" placeholder:"DURATION" help:"Target period between interactions; auto or a duration such as 500ms (default: as recorded)."`
	Threshold   *cli.AutoPart `env:"-" placeholder:"FRACTION" help:"Imbalance from which on work moves; auto or a fraction from 0 to below 1 (default: as recorded)."`
	Filter      *cli.Filter   `env:"-" placeholder:"FILTER" help:"Rate filter, as in the programs: auto, state, fixed:H, step, levels, median:N, raw, or two as A+B (default: as recorded)."`
	CostBenefit string        `default:"" enum:",on,off" env:"-" placeholder:"on|off" help:"Move work only where that pays (default: as recorded)."`
	Interaction string        `default:"" enum:",pipelined,synchronous" env:"-" placeholder:"HOW" help:"pipelined or synchronous (default: as recorded)."`

	All  bool `env:"-" help:"List every interaction, also where both choices are the same (default: off, and at most 40)."`
	JSON bool `env:"-" name:"json" help:"Print JSON for tools, with all rows (default: off)."`
}

// Help says what cannot be said at a flag.
func (*replayVerb) Help() string {
	return "Without settings, every decision must be the recorded one in every field; the first difference is shown, and the exit " +
		"code is 1 then. With settings, it shows where the balancer would have chosen otherwise, and the exit code is 0.\n\n" +
		"That is open loop: nobody obeys the other choices. The statuses are those of the recorded run, so after the first " +
		"different move they are no longer what would have been measured."
}

// Run replays the recording and prints what it came to.
func (v *replayVerb) Run(stdout io.Writer) error {
	o := replay.Options{All: v.All}
	if v.other() {
		o.Change = v.change
	}
	result, err := v.replay(o)
	if err != nil {
		return usageError{fmt.Errorf("%s: %w; accepted is what a program has written for --record", v.Recording, err)}
	}
	if v.JSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(result)
	} else {
		err = replay.Write(stdout, result, v.other(), v.All)
	}
	if err == nil && !v.other() && !result.Identical() {
		err = errors.New("the replay gives other decisions than the recording")
	}
	return err
}

func (v *replayVerb) replay(o replay.Options) (result *replay.Result, err error) {
	file, err := os.Open(v.Recording)
	if err == nil {
		defer file.Close()
		result, err = replay.Run(file, o)
	}
	if system := (*fs.PathError)(nil); errors.As(err, &system) {
		err = system.Err // the path stands before it
	}
	return result, err
}

// other reports whether any setting was given.
func (v *replayVerb) other() bool {
	return v.Balance != "" || v.Period != nil || v.Threshold != nil || v.Filter != nil || v.CostBenefit != "" || v.Interaction != ""
}

// change puts the given settings in place of the recorded ones.
func (v *replayVerb) change(cfg lb.Config) lb.Config {
	if p, err := lb.ParsePolicy(v.Balance); err == nil {
		cfg.Policy = p
	}
	if v.Period != nil {
		cfg.Period = v.Period.Value.Seconds()
	}
	if v.Threshold != nil {
		cfg.Threshold = v.Threshold.Value
		cfg.NoThreshold = !v.Threshold.Auto && v.Threshold.Value == 0
	}
	if v.Filter != nil {
		cfg.Filter = v.Filter.String()
	}
	if v.CostBenefit != "" {
		cfg.NoCostBenefit = v.CostBenefit == "off"
	}
	if i, err := lb.ParseInteraction(v.Interaction); err == nil {
		cfg.Interaction = i
	}
	return cfg
}
