package trace

import (
	"errors"
	"io/fs"
	"os"
)

// part is the file in which a rank keeps its spans while the loop runs, for the case that it does not come to its end. What
// is written, and when, is decided in the rank's time; the writing is not done there. A part that cannot be written is no
// reason to stop: the run goes on without, and err says why.
type part struct {
	path   string
	file   *os.File
	to     encoder
	given  int  // spans of the list that the writer has had
	anew   bool // the list has become another one
	jobs   chan job
	buffer chan []span // the one that there is, while no job has it
	done   chan struct{}
	err    error // the first; read it when done
}

// job is what the writer does at once.
type job struct {
	spans []span
	loops []string
	anew  bool
}

func startPart(path string, to encoder) *part {
	p := &part{path: path, to: to}
	if p.file, p.err = os.Create(path); p.err != nil {
		return p
	}
	p.jobs, p.buffer, p.done = make(chan job, 1), make(chan []span, 1), make(chan struct{})
	p.buffer <- nil
	p.to.b = append(p.to.b, '[')
	p.to.heading()
	p.flush()
	go p.run()
	return p
}

// again says that all must be written anew.
func (p *part) again() { p.given, p.anew = 0, true }

// offer gives the writer what is new and does not change any more, unless it is at work still.
func (p *part) offer(l *spans, loops []string) {
	if p.jobs == nil {
		return
	}
	select {
	case b := <-p.buffer:
		p.give(b, l.list[p.given:l.open], loops)
	default:
	}
}

// give hands spans to the writer, which waits for them.
func (p *part) give(b []span, news []span, loops []string) {
	p.jobs <- job{append(b[:0], news...), loops, p.anew}
	p.given += len(news)
	p.anew = false
}

// close waits until all is written, and ends the writer. It may be called again.
func (p *part) close(l *spans, loops []string) {
	if p.jobs == nil {
		return
	}
	p.give(<-p.buffer, l.list[p.given:], loops)
	close(p.jobs)
	<-p.done
	p.jobs = nil
	p.err = errors.Join(p.err, p.file.Close())
}

// remove removes the part when it is not needed any more.
func (p *part) remove() error {
	if p.done == nil {
		return nil // there never was one
	}
	err := os.Remove(p.path)
	if e := os.Remove(p.path + ".new"); err == nil && !errors.Is(e, fs.ErrNotExist) {
		err = e
	}
	return err
}

func (p *part) run() {
	defer close(p.done)
	for j := range p.jobs {
		if p.err == nil {
			p.write(j)
		}
		p.buffer <- j.spans
	}
}

func (p *part) write(j job) {
	if j.anew {
		p.restart()
	}
	p.to.loops(j.loops)
	for i := range j.spans {
		p.to.span(&j.spans[i])
	}
	p.flush()
	if j.anew && p.err == nil {
		p.err = os.Rename(p.file.Name(), p.path) // there is a whole part at any time
	}
}

// restart goes on with a new file.
func (p *part) restart() {
	err := p.file.Close()
	if p.file, p.err = os.Create(p.path + ".new"); p.err == nil {
		p.err = err
	}
	p.to.b = append(p.to.b[:0], '[')
	p.to.heading()
}

// flush writes whole events, at once.
func (p *part) flush() {
	if p.err == nil {
		_, p.err = p.file.Write(p.to.b)
	}
	p.to.b = p.to.b[:0]
}
