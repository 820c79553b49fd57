//go:build browser

package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"shiftwork/lb"
)

// tab is a page in a headless browser, and what the browser had to say of it.
type tab struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	faults   []string // exceptions and errors on the console
	requests []string // of anything but the page itself
}

// open loads a page, from a file as a user would.
func open(t *testing.T, path string) *tab {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Fatal("no browser: install chromium (make test-browser does)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WindowSize(1280, 1000))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to run as root otherwise
	}
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	p := &tab{Context: ctx, t: t}
	url := "file://" + path
	chromedp.ListenTarget(ctx, func(event any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			p.faults = append(p.faults, e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			p.faults = append(p.faults, fmt.Sprint("console: ", e.Type))
		case *network.EventRequestWillBeSent:
			if e.Request.URL != url {
				p.requests = append(p.requests, e.Request.URL)
			}
		}
	})
	p.do(network.Enable(), chromedp.Navigate(url), chromedp.WaitReady("body"))
	return p
}

func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Run(p, actions...))
}

// eval is the value of an expression in the page.
func eval[T any](p *tab, expression string) (v T) {
	p.t.Helper()
	p.do(chromedp.Evaluate(expression, &v))
	return v
}

// clean checks that nothing went wrong so far and nothing was fetched.
func (p *tab) clean() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.Empty(p.t, p.faults)
	assert.Empty(p.t, p.requests)
}

// colour counts the points of a chart's canvas that have a colour, or nearly: thin lines are blurred.
func (p *tab) colour(chart string, r, g, b int) int {
	return eval[int](p, fmt.Sprintf(`(() => {
		const c = document.querySelector("canvas.%s"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		let n = 0;
		for (let i = 0; i < d.length; i += 4) if (Math.abs(d[i] - %d) + Math.abs(d[i + 1] - %d) + Math.abs(d[i + 2] - %d) < 60 && d[i + 3] === 255) n++;
		return n;
	})()`, chart, r, g, b))
}

// at moves the mouse to a place in a chart, given in its own points, with a button pressed or not.
func (p *tab) at(chart string, kind input.MouseType, x, y float64, button input.MouseButton) {
	p.t.Helper()
	box := eval[[2]float64](p, fmt.Sprintf(`(() => { const c = document.querySelector("canvas.%s"); c.scrollIntoView({block: "center"}); const b = c.getBoundingClientRect(); return [b.left, b.top]; })()`, chart))
	event := input.DispatchMouseEvent(kind, box[0]+x, box[1]+y).WithButton(button)
	if button != input.None {
		event = event.WithButtons(1).WithClickCount(1)
	}
	p.do(event)
}

func (p *tab) tip() string { return eval[string](p, `tip.hidden ? "" : tip.textContent`) }

func (p *tab) picture(name string) {
	var shot []byte
	p.do(chromedp.FullScreenshot(&shot, 100))
	require.Greater(p.t, len(shot), 20000)
	if dir := os.Getenv("SHIFTWORK_TEST_PICTURES"); dir != "" {
		require.NoError(p.t, os.WriteFile(filepath.Join(dir, name), shot, 0o644))
	}
}

func written(t *testing.T, run *Run) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.html")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, Page(f, run, "run.jsonl"))
	require.NoError(t, f.Close())
	return path
}

// A real browser loads the page without an error, shows the run's numbers, tells the reason of a decision where the mouse
// points at its mark, and looks closer where it drags.
func TestInABrowser(t *testing.T) {
	recording, rep := recorded(t, lb.Auto())
	run := read(t, recording)
	l := run.Loops[0]
	p := open(t, written(t, run))
	text := eval[string](p, `document.body.innerText`)
	for _, want := range []string{
		l.Summary.Sentence, fmt.Sprintf("%.1f%%", 100*l.Summary.Parallel.Value), fmt.Sprintf("%.3f", rep.Ranks[2].Compute),
		fmt.Sprintf("heat: 3 ranks, %d interactions, %d moves", rep.Interactions, rep.Shifts),
	} {
		assert.Contains(t, text, want)
	}
	p.clean()
	for _, c := range []struct {
		chart   string
		r, g, b int
		least   int
	}{{"rate", 0x00, 0x9e, 0x73, 200}, {"rate", 0xd5, 0x5e, 0x00, 200}, {"share", 0x00, 0x9e, 0x73, 200}, {"gantt", 0x00, 0x72, 0xb2, 5000}, {"gantt", 0xc9, 0xc9, 0xc9, 500}, {"decisions", 0xd5, 0x5e, 0x00, 5}} {
		assert.Greater(t, p.colour(c.chart, c.r, c.g, c.b), c.least, c)
	}

	var move Decision
	for _, d := range l.Decisions {
		if d.Transfers > 0 {
			move = d
			break
		}
	}
	require.Positive(t, move.Transfers)
	x := eval[float64](p, fmt.Sprintf(`shiftwork[0].charts[3].x(%v)`, move.Time))
	p.at("decisions", input.MouseMoved, x, 100, input.None)
	tip := p.tip()
	assert.Contains(t, tip, fmt.Sprintf("interaction %d at %.3f s: moves", move.Interaction, move.Time))
	assert.Contains(t, tip, move.Reason)
	assert.Contains(t, tip, move.Between)
	x = eval[float64](p, `shiftwork[0].charts[0].x(2)`)
	p.at("rate", input.MouseMoved, x, 100, input.None)
	assert.Regexp(t, `rank 1: (29\d|30\d) units/s`, p.tip(), "it was slow then")
	p.at("gantt", input.MouseMoved, x, 41, input.None)
	assert.Regexp(t, `rank 1: computing [\d.]+%, waiting [\d.]+%, moving [\d.]+%`, p.tip())
	p.at("gantt", input.MouseMoved, 2, 2, input.None)
	assert.Empty(t, p.tip(), "beside the chart")

	whole := eval[[2]float64](p, `shiftwork[0].view`)
	p.at("rate", input.MousePressed, 300, 100, input.Left)
	p.at("rate", input.MouseMoved, 600, 100, input.Left)
	p.at("rate", input.MouseReleased, 600, 100, input.Left)
	part := eval[[2]float64](p, `shiftwork[0].view`)
	assert.Greater(t, part[0], whole[0])
	assert.Less(t, part[1], whole[1])
	assert.InDelta(t, eval[float64](p, `shiftwork[0].charts[3].x(shiftwork[0].view[0])`), 62, 0.5, "all charts share the axis")
	p.picture("closer.png")
	p.do(chromedp.Evaluate(`document.querySelector("canvas.rate").dispatchEvent(new MouseEvent("dblclick"))`, nil))
	assert.Equal(t, whole, eval[[2]float64](p, `shiftwork[0].view`))
	p.picture("page.png")
	p.clean()
}

// 64 ranks and 10 000 interactions: the page opens and redraws quickly, and each rank and move can be pointed at.
func TestALongRunStaysUsable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.html")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	p := open(t, path) // skips before the work begins

	run := long(t, 64, 10000)
	page := pageOf(t, run)
	require.NoError(t, os.WriteFile(path, []byte(page), 0o644))

	p.do(chromedp.Navigate("file://"+path), chromedp.WaitReady("body"))
	loading := eval[float64](p, `performance.getEntriesByType("navigation")[0].loadEventEnd`)
	redraw := eval[float64](p, `(() => { const a = performance.now(); for (let i = 0; i < 5; i++) { shiftwork[0].zoom(10 * i, 400 - i); } shiftwork[0].zoom(0, 0); return (performance.now() - a) / 6; })()`)
	t.Logf("a page of %d kB loads in %.0f ms, and redraws in %.0f ms", len(page)>>10, loading, redraw)
	// On a machine of one's own it is a tenth of this.
	assert.Less(t, loading, 15000.0)
	assert.Less(t, redraw, 2000.0)
	assert.Greater(t, p.colour("gantt", 0x00, 0x72, 0xb2), 50000)
	assert.True(t, strings.Contains(eval[string](p, `document.body.innerText`), "64 ranks, 10000 interactions"))

	var load Decision
	for _, d := range run.Loops[0].Decisions {
		if d.Transfers > 0 {
			load = d
		}
	}
	p.at("decisions", input.MouseMoved, eval[float64](p, fmt.Sprintf(`shiftwork[0].charts[3].x(%v)`, load.Time)), 100, input.None)
	assert.Contains(t, p.tip(), "moves")
	x := eval[float64](p, `shiftwork[0].charts[0].x(50)`)
	p.at("rate", input.MouseMoved, x, 8+10*37.5, input.None)
	assert.Contains(t, p.tip(), "rank 37 on nodeb: ")
	p.picture("long.png")
	p.clean()
}
