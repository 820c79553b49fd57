package cli

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"shiftwork/filter"
)

// auto is the value that leaves a choice to the program.
const auto = "auto"

// refused is the error of a value; kong puts the flag in front.
func refused(text []byte, accepted string) error {
	return fmt.Errorf("%q is not accepted, only %s", text, accepted)
}

// Count is a whole number from 1 on; 0 means that it was not given.
type Count int

// UnmarshalText parses a count.
func (c *Count) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return refused(text, "a whole number from 1 on")
	}
	*c = Count(n)
	return nil
}

// AutoInt is auto or a whole number from 1 on.
type AutoInt struct {
	Auto  bool
	Value int // 0 if Auto
}

// UnmarshalText parses auto or a count.
func (a *AutoInt) UnmarshalText(text []byte) error {
	if string(text) == auto {
		*a = AutoInt{Auto: true}
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return refused(text, "auto or a whole number from 1 on")
	}
	*a = AutoInt{Value: n}
	return nil
}

func (a AutoInt) String() string { return orAuto(a.Auto, a.Value) }

// AutoTime is auto or a duration above 0.
type AutoTime struct {
	Auto  bool
	Value time.Duration // 0 if Auto
}

// UnmarshalText parses auto or a duration.
func (a *AutoTime) UnmarshalText(text []byte) error {
	if string(text) == auto {
		*a = AutoTime{Auto: true}
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return refused(text, "auto or a duration above 0 with its unit, such as 500ms or 2s")
	}
	*a = AutoTime{Value: d}
	return nil
}

func (a AutoTime) String() string { return orAuto(a.Auto, a.Value) }

// Time is a duration above 0; 0 means that it was not given.
type Time time.Duration

// UnmarshalText parses a duration.
func (t *Time) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return refused(text, "a duration above 0 with its unit, such as 500ms or 2h")
	}
	*t = Time(d)
	return nil
}

func (t Time) String() string { return time.Duration(t).String() }

// AutoPart is auto or a fraction from 0 to below 1.
type AutoPart struct {
	Auto  bool
	Value float64 // 0 if Auto
}

// UnmarshalText parses auto or a fraction.
func (a *AutoPart) UnmarshalText(text []byte) error {
	if string(text) == auto {
		*a = AutoPart{Auto: true}
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v >= 1 {
		return refused(text, "auto or a fraction from 0 to below 1, such as 0.1")
	}
	*a = AutoPart{Value: v}
	return nil
}

func (a AutoPart) String() string { return orAuto(a.Auto, a.Value) }

func orAuto(isAuto bool, value any) string {
	if isAuto {
		return auto
	}
	return fmt.Sprint(value)
}

// Filter is a rate filter in the notation of filter.Parse.
type Filter struct {
	filter.Spec
	File string // that its table was read from, if it was
}

// UnmarshalText parses the notation of a filter. state:@FILE is a state machine with the table in a file: the text is read
// here, because the configuration that all ranks must agree on is the table and not the file's name.
func (f *Filter) UnmarshalText(text []byte) error {
	accepted := filter.Accepted + ", such as fixed:0.5 or median:3+state; state:@FILE reads the table from a file"
	notation, file := string(text), ""
	if before, rest, ok := strings.Cut(notation, "state:@"); ok {
		var after string
		file, after, _ = strings.Cut(rest, "+")
		table, err := os.ReadFile(file)
		if err == nil {
			_, err = filter.ParseTable(string(table))
		}
		if err != nil {
			return fmt.Errorf("%q: %w; accepted is a file with the table of a state machine", text, err)
		}
		notation = before + "state:" + tableLine(table)
		if after != "" {
			notation += "+" + after
		}
	}
	spec, err := filter.Parse(notation)
	if err != nil || len(text) == 0 {
		return refused(text, accepted)
	}
	f.Spec, f.File = spec, file
	return nil
}

// tableLine is a table without comments and empty lines, its lines separated by semicolons.
func tableLine(table []byte) string {
	var lines []string
	for _, line := range strings.Split(string(table), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, ";")
}
