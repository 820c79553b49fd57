package result

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"shiftwork/apps/internal/checksum"
)

// Prefix starts the line.
const Prefix = "result: "

// Line is what the line says. All of it is about the whole run, not about one rank.
type Line struct {
	App        string // name of the program
	N, M       int    // rows and columns of the grid, or of C
	Iterations int    // sweeps of sor; how often mm ran its loop
	Ranks      int
	Transport  string        // "mpi", "local" or "sim"
	Balance    string        // value of --balance
	Block      int           // iterations a strip has; 0 for a loop without strips
	Period     time.Duration // target period at the end of the run; 0 without balancing
	Time       time.Duration // from a barrier after set-up and calibration to one after the last iteration
	Rate       float64       // work units a second, all ranks together

	Interactions int           // executed
	Shifts       int           // instructions that moved work
	Moved        int           // iterations moved, each counted as often as it moved from rank to rank
	MoveTime     time.Duration // spent moving work, by the rank that spent most
	MasterCPU    time.Duration // CPU time spent in deciding

	Setup     time.Duration // before Time: reading or making the data
	Calibrate time.Duration // before Time: measuring costs
	Finish    time.Duration // after Time, until the line is printed: checksum, output, traces, the serial run
	Checksum  checksum.Sum
	Stopped   string  // why the run ended before its last iteration: "signal" or "time-limit"; empty if it did not
	BLAS      string  // what products were computed with; empty for gonum's BLAS, or without products
	Bound     float64 // the largest difference from the serial run that counts as equal; 0: bit for bit
	Verified  *bool   // whether the result equals that of a serial run; nil if nobody looked
}

// String returns the line, without its end.
func (l Line) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sapp=%s n=%d m=%d iterations=%d ranks=%d transport=%s balance=%s block=%d",
		Prefix, l.App, l.N, l.M, l.Iterations, l.Ranks, l.Transport, l.Balance, l.Block)
	fmt.Fprintf(&b, " period_s=%.3g time_s=%.3f rate_per_s=%.3g", l.Period.Seconds(), l.Time.Seconds(), l.Rate)
	fmt.Fprintf(&b, " interactions=%d shifts=%d iterations_moved=%d", l.Interactions, l.Shifts, l.Moved)
	fmt.Fprintf(&b, " move_s=%.3f master_cpu_s=%.3f", l.MoveTime.Seconds(), l.MasterCPU.Seconds())
	fmt.Fprintf(&b, " setup_s=%.3f calibrate_s=%.3f finish_s=%.3f checksum=%s", l.Setup.Seconds(), l.Calibrate.Seconds(), l.Finish.Seconds(), l.Checksum)
	if l.Stopped != "" {
		fmt.Fprintf(&b, " stopped=%s", l.Stopped)
	}
	if l.BLAS != "" {
		fmt.Fprintf(&b, " blas=%s", l.BLAS)
	}
	if l.Bound > 0 {
		fmt.Fprintf(&b, " bound=%.3g", l.Bound)
	}
	if l.Verified != nil {
		fmt.Fprintf(&b, " verified=%t", *l.Verified)
	}
	return b.String()
}

// MarshalJSON writes an object with the keys and the units of the line: times in seconds, the checksum as text because
// JSON's numbers hold no more than 53 bits of it. Nothing is rounded.
func (l Line) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		App          string  `json:"app"`
		N            int     `json:"n"`
		M            int     `json:"m"`
		Iterations   int     `json:"iterations"`
		Ranks        int     `json:"ranks"`
		Transport    string  `json:"transport"`
		Balance      string  `json:"balance"`
		Block        int     `json:"block"`
		Period       float64 `json:"period_s"`
		Time         float64 `json:"time_s"`
		Rate         float64 `json:"rate_per_s"`
		Interactions int     `json:"interactions"`
		Shifts       int     `json:"shifts"`
		Moved        int     `json:"iterations_moved"`
		MoveTime     float64 `json:"move_s"`
		MasterCPU    float64 `json:"master_cpu_s"`
		Setup        float64 `json:"setup_s"`
		Calibrate    float64 `json:"calibrate_s"`
		Finish       float64 `json:"finish_s"`
		Checksum     string  `json:"checksum"`
		Stopped      string  `json:"stopped,omitempty"`
		BLAS         string  `json:"blas,omitempty"`
		Bound        float64 `json:"bound,omitempty"`
		Verified     *bool   `json:"verified,omitempty"`
	}{
		l.App, l.N, l.M, l.Iterations, l.Ranks, l.Transport, l.Balance, l.Block, l.Period.Seconds(), l.Time.Seconds(), l.Rate,
		l.Interactions, l.Shifts, l.Moved, l.MoveTime.Seconds(), l.MasterCPU.Seconds(), l.Setup.Seconds(), l.Calibrate.Seconds(),
		l.Finish.Seconds(), l.Checksum.String(), l.Stopped, l.BLAS, l.Bound, l.Verified,
	})
}

// Parse reads a line as String writes it. Every key but stopped, blas, bound and verified must be there, once.
func Parse(line string) (Line, error) {
	rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), Prefix)
	if !ok {
		return Line{}, fmt.Errorf("not a result line: %q does not start with %q", line, Prefix)
	}
	values := map[string]string{}
	for _, field := range strings.Fields(rest) {
		key, value, ok := strings.Cut(field, "=")
		if !ok || key == "" || value == "" {
			return Line{}, fmt.Errorf("result line: %q is not key=value", field)
		}
		if _, twice := values[key]; twice {
			return Line{}, fmt.Errorf("result line: key %s is there twice", key)
		}
		values[key] = value
	}
	p := parser{values: values}
	l := Line{
		App: p.text("app"), N: p.count("n"), M: p.count("m"), Iterations: p.count("iterations"), Ranks: p.count("ranks"),
		Transport: p.text("transport"), Balance: p.text("balance"), Block: p.count("block"),
		Period: p.seconds("period_s"), Time: p.seconds("time_s"), Rate: p.number("rate_per_s"),
		Interactions: p.count("interactions"), Shifts: p.count("shifts"), Moved: p.count("iterations_moved"),
		MoveTime: p.seconds("move_s"), MasterCPU: p.seconds("master_cpu_s"),
		Setup: p.seconds("setup_s"), Calibrate: p.seconds("calibrate_s"), Finish: p.seconds("finish_s"), Checksum: p.sum("checksum"),
	}
	if _, there := values["stopped"]; there {
		l.Stopped = p.text("stopped")
	}
	if _, there := values["blas"]; there {
		l.BLAS = p.text("blas")
	}
	if _, there := values["bound"]; there {
		l.Bound = p.number("bound")
	}
	if _, there := values["verified"]; there {
		v := p.truth("verified")
		l.Verified = &v
	}
	return l, p.err
}

// Find parses the result line in the output of a program. It must be the last line, and the only one of its kind.
func Find(output string) (Line, error) {
	lines := strings.Split(strings.TrimRight(output, "\r\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		if strings.HasPrefix(line, Prefix) {
			return Line{}, fmt.Errorf("a result line that is not the last line: %q", line)
		}
	}
	return Parse(lines[len(lines)-1])
}

// parser takes values by key and keeps the first error.
type parser struct {
	values map[string]string
	err    error
}

func (p *parser) text(key string) string {
	v, ok := p.values[key]
	if !ok && p.err == nil {
		p.err = fmt.Errorf("result line: key %s is missing", key)
	}
	return v
}

func parsed[T any](p *parser, key, what string, parse func(string) (T, error)) T {
	text := p.text(key)
	v, err := parse(text)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("result line: %s=%s is not %s", key, text, what)
	}
	return v
}

func (p *parser) count(key string) int { return parsed(p, key, "a count", strconv.Atoi) }

func (p *parser) truth(key string) bool { return parsed(p, key, "true or false", strconv.ParseBool) }

func (p *parser) number(key string) float64 {
	return parsed(p, key, "a number", func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

func (p *parser) seconds(key string) time.Duration {
	return time.Duration(p.number(key) * float64(time.Second))
}

func (p *parser) sum(key string) checksum.Sum {
	return parsed(p, key, "16 hexadecimal digits", func(s string) (checksum.Sum, error) {
		if len(s) != 16 {
			return 0, strconv.ErrSyntax
		}
		v, err := strconv.ParseUint(s, 16, 64)
		return checksum.Sum(v), err
	})
}
