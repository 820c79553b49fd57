package loops

import (
	"errors"
	"fmt"
	"math"
	"time"

	"shiftwork/checkpoint"
	"shiftwork/comm"
	"shiftwork/hooks"
)

const (
	// tagPause is the tag of what this file sends, below those of exchange.go.
	tagPause = hooks.MaxTag - 9
	// pauseInterval is how long a wish to stop, or a checkpoint that is due, may go unheard where sweeps are short.
	pauseInterval = 50 * time.Millisecond
	// pauseShare is the part of the leader's time that telling the others may take.
	pauseShare = 0.005
)

// pauses is one rank's part in agreeing on the steps (sweeps, repetitions) between which all ranks stop or write a checkpoint. At a
// step that all know, the leader tells what is to happen, at which later step, and when it will tell the next time. The others hear
// it `delay` steps later:
//
//	leader   a: tell ........................ do it
//	rank r          ........ a+delay: hear .. do it
//
// Nobody waits if no rank with rows is more than delay steps ahead of the leader; otherwise those that are wait for it.
type pauses struct {
	c      comm.Comm
	k      *Checkpoint
	what   string // which loop a checkpoint belongs to
	arrays []hooks.Array
	leader int
	delay  int
	lead   int // a decision must be known so many steps before it is carried out
	first  int // steps done before this run
	total  int // steps of the loop

	from  *checkpoint.Manifest // restart from here; nil: none
	store *checkpoint.Store    // on rank 0, if there is a folder
	next  int                  // number of the next generation

	ask, answer int // the step at which the leader tells, and that at which it is heard; -1: never again
	asked       bool
	mine        decision // what the leader has told
	todo        decision // what was heard, until it is carried out
	wished      bool     // this rank has told the leader that it wants to stop
	byes        int      // ranks that have come to the end, as the leader sees it
	reqs        []comm.Request

	opened  time.Duration // when Run was called
	since   time.Duration // of step sinceAt, on the leader
	sinceAt int
	spacing int           // steps between the last two decisions
	telling time.Duration // what telling took last
	written time.Duration // the latest checkpoint, or that the loop began
	took    time.Duration // by the last checkpoint
	count   int
	good    int // steps done when the latest good checkpoint in the folder was written; 0: there is none
	spent   time.Duration
	stopped string
	unsaved error // a *WriteError: the checkpoint of a stop could not be written
}

// decision is what happens between two steps.
type decision struct {
	write bool
	stop  string // the reason; "": go on
	at    int    // the number of steps done then
	next  int    // the step at which the leader decides again
}

// something reports whether anything happens at all.
func (d decision) something() bool { return d.write || d.stop != "" }

// same is where ranks meet before what they do next depends on their arguments: they must agree on the kind of the loop and on its pauses.
func (k *Checkpoint) same(c comm.Comm, kind string) error {
	return comm.Same(c, fmt.Sprintf("%s, stop %v, limit %v, checkpoints in %q every %v, restart from %q of %q", kind, k.Stop != nil,
		k.Limit > 0, k.Dir, k.Every, k.Restart, k.Program))
}

// open looks for the checkpoint to restart from and prepares the folder to write to. Every rank calls it. End with close.
func (p *pauses) open() (err error) {
	k := p.k
	p.ask, p.answer, p.opened = -1, -1, p.c.Now()
	if k.Program != "" {
		p.what += "; " + k.Program
	}
	if k.Restart != "" {
		if err := p.openRestart(); err != nil {
			return &FolderError{"restart from", k.Restart, err}
		}
	}
	if k.Dir == "" {
		return nil
	}
	next := make([]float64, 1)
	if p.c.Rank() == 0 {
		if k.Restart != k.Dir {
			err = checkpoint.Unused(k.Dir)
		}
		if err == nil {
			p.store, err = checkpoint.Open(k.Dir)
		}
		if err == nil {
			if p.from != nil && k.Restart == k.Dir {
				p.store.Trust(p.from.Generation)
			}
			next[0] = float64(p.store.Next())
		}
	}
	if err := comm.Agree(p.c, err); err != nil {
		return &FolderError{"checkpoints in", k.Dir, err}
	}
	if err := comm.Bcast(p.c, 0, comm.BytesOf(next)); err != nil {
		return err
	}
	p.next = int(next[0])
	return nil
}

func (p *pauses) openRestart() (err error) {
	var passed error
	if p.from, passed, err = find(p.c, p.k.Restart); err != nil {
		return err
	}
	switch m := p.from; {
	case m == nil && p.k.Restart == p.k.Dir:
		return nil
	case m == nil:
		return checkpoint.None(p.k.Restart, nil)
	case m.What != p.what:
		return fmt.Errorf("the checkpoint is of another run: %s; this is %s", m.What, p.what)
	case m.Arrays != len(p.arrays):
		return fmt.Errorf("the checkpoint has %d arrays, this run %d", m.Arrays, len(p.arrays))
	case m.Step > p.total:
		return fmt.Errorf("the checkpoint was written after step %d, asked for are %d in all", m.Step, p.total)
	}
	p.first = p.from.Step
	if p.k.Restart == p.k.Dir {
		p.good = p.first
	}
	if p.k.Resumed != nil && p.c.Rank() == 0 {
		p.k.Resumed(p.first, passed)
	}
	return nil
}

func (p *pauses) close() {
	if p.store != nil {
		_ = p.store.Close() // gives the lock back; what was written is on disk
	}
}

// load makes the rows that this rank has those of the checkpoint to restart from, if there is one.
func (p *pauses) load(own Range) error {
	if p.from == nil {
		return nil
	}
	err := readRows(p.from, p.arrays, own)
	if p.k.Restore != nil && err == nil {
		err = p.k.Restore(p.from.State)
	}
	if err = comm.Agree(p.c, err); err != nil {
		return &FolderError{"restart from", p.k.Restart, err}
	}
	return nil
}

// begin is called when the loop begins.
func (p *pauses) begin() {
	if p.k.pausing() && p.first < p.total {
		p.ask, p.spacing = p.first, 1
		p.since, p.sinceAt = p.c.Now(), p.first
		p.written = p.since
	}
}

// at is called on every rank between two steps, with the number of those that are done, and returns what is to happen there. It
// need not be called between all steps, but at the same ones on all ranks, and at meet.
func (p *pauses) at(step int) (decision, error) {
	if p.asked && step >= p.answer {
		if err := p.hear(); err != nil {
			return decision{}, err
		}
	}
	if p.ask >= 0 && step >= p.ask && !p.asked {
		if step+p.delay >= p.total { // the loop ends first
			p.ask = -1
			return decision{}, nil
		}
		p.asked, p.answer = true, step+p.delay
		if p.c.Rank() == p.leader {
			if err := p.tell(step); err != nil {
				return decision{}, err
			}
		}
		if p.delay == 0 {
			if err := p.hear(); err != nil {
				return decision{}, err
			}
		}
	}
	if p.todo.something() && p.todo.at == step {
		return p.todo, nil
	}
	return decision{}, nil
}

// meet is the step at which all ranks meet, as far as it is known; the loop's end, if at none.
func (p *pauses) meet() int {
	if p.todo.something() {
		return p.todo.at
	}
	return p.total
}

// tell is how the leader decides.
func (p *pauses) tell(step int) error {
	if err := p.reap(); err != nil {
		return err
	}
	reason, err := p.wishes()
	if err != nil {
		return err
	}
	now := p.c.Now()
	if p.k.Stop != nil && reason == "" {
		reason = p.k.Stop()
	}
	each := 0.0 // s per step
	if step > p.sinceAt {
		each = (now - p.since).Seconds() / float64(step-p.sinceAt)
		interval := max(pauseInterval.Seconds(), p.telling.Seconds()/pauseShare)
		// It grows slowly: the first sweeps may not be like those that follow.
		p.spacing = int(max(1, min(interval/each, float64(4*p.spacing), math.MaxInt32)))
	}
	p.since, p.sinceAt = now, step
	ahead := max(p.delay, p.lead)
	left := seconds(each * float64(p.spacing+ahead))
	// At least one step is done, or a chain of runs would never come to its end.
	if p.k.Limit > 0 && reason == "" && step > p.first && now+left+p.took-p.opened >= p.k.Limit {
		reason = StoppedByTime
	}
	d := decision{stop: reason, at: step + ahead, next: step + max(p.spacing, p.delay)}
	d.write = p.k.Dir != "" && (reason != "" || p.k.Every > 0 && now-p.written >= p.k.Every)
	switch {
	case d.at >= p.total: // the loop ends first
		d.write, d.stop = false, ""
	case d.something():
		d.next = max(d.next, d.at+1)
	}
	p.mine = d

	var e comm.Encoder
	e.Bool(d.write)
	e.Int(d.at)
	e.Int(d.next)
	e.Text(d.stop)
	for r := range p.c.Size() {
		if r == p.leader {
			continue
		}
		q, err := p.c.Isend(r, tagPause, e.Message())
		if err != nil {
			return err
		}
		p.reqs = append(p.reqs, q)
	}
	p.telling = p.c.Now() - now
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// reap forgets the messages that have left, without waiting for those to ranks that are behind.
func (p *pauses) reap() error {
	kept := p.reqs[:0]
	for _, q := range p.reqs {
		if _, done, err := q.Test(); err != nil {
			return err
		} else if !done {
			kept = append(kept, q)
		}
	}
	clear(p.reqs[len(kept):])
	p.reqs = kept
	return nil
}

// wishes is the reason of a rank that wants to stop, if one has told the leader.
func (p *pauses) wishes() (reason string, err error) {
	for {
		_, there, err := p.c.Iprobe(comm.Any, tagPause)
		if err != nil || !there {
			return reason, err
		}
		said, err := p.listen()
		if err != nil {
			return "", err
		}
		if said != "" {
			reason = said
		}
	}
}

// listen receives what a rank tells the leader: why it wants to stop or, with no reason, that it is at the end.
func (p *pauses) listen() (string, error) {
	st, err := p.c.Probe(comm.Any, tagPause)
	if err != nil {
		return "", err
	}
	b := make([]byte, st.Len)
	if _, err := p.c.Recv(st.Source, tagPause, b); err != nil {
		return "", err
	}
	if len(b) == 0 {
		p.byes++
	}
	return string(b), nil
}

// hear is how ranks learn what was decided. Who hears it may tell that it wants to stop.
func (p *pauses) hear() error {
	p.asked = false
	d := p.mine
	if p.c.Rank() != p.leader {
		b, err := comm.RecvAll(p.c, p.leader, tagPause)
		if err != nil {
			return err
		}
		in := comm.NewDecoder(b)
		d = decision{write: in.Bool(), at: in.Int(), next: in.Int(), stop: in.Text()}
		if err := in.Finish(); err != nil {
			return fmt.Errorf("pause: %w", err)
		}
	}
	p.todo, p.ask = d, d.next
	if p.c.Rank() == p.leader {
		return nil
	}
	if d.stop == "" && !p.wished && p.k.Stop != nil {
		if reason := p.k.Stop(); reason != "" {
			p.wished = true
			q, err := p.c.Isend(p.leader, tagPause, []byte(reason))
			if err != nil {
				return err
			}
			p.reqs = append(p.reqs, q)
		}
	}
	return nil
}

// end is called on every rank after the loop and takes in the messages that are under way.
func (p *pauses) end() error {
	if !p.k.pausing() {
		return nil
	}
	if p.c.Rank() != p.leader {
		if p.asked { // the loop ended between question and answer
			if err := p.hear(); err != nil {
				return err
			}
		}
		q, err := p.c.Isend(p.leader, tagPause, nil)
		if err != nil {
			return err
		}
		return waitAll(append(p.reqs, q))
	}
	for p.byes < p.c.Size()-1 {
		if _, err := p.listen(); err != nil {
			return err
		}
	}
	return waitAll(p.reqs)
}

// carryOut does what was decided when a rank has come to the step. Its rows are those of this step, and stay
// so while it is here.
func (p *pauses) carryOut(d decision, step int, own []Range) error {
	if !d.something() {
		return nil
	}
	p.stopped, p.todo = d.stop, decision{}
	if !d.write {
		return nil
	}
	began := p.c.Now()
	err := p.write(step, own)
	now := p.c.Now()
	p.took = now - began
	p.spent += p.took
	p.written = now
	p.since += p.took // no part of the steps' time
	if err == nil {
		p.count++
		p.good = step
		return nil
	}
	err = &WriteError{step, p.good, err}
	switch {
	case d.stop != "":
		p.unsaved = err // all else is as after any stop
	case p.k.Failed == nil:
		return err
	case p.c.Rank() == 0:
		p.k.Failed(err)
	}
	return nil
}

// write writes a generation. The error is every rank's.
func (p *pauses) write(step int, own []Range) error {
	var state []byte
	var err error
	if p.k.Save != nil {
		state, err = p.k.Save()
	}
	part, failed := writeRows(p.k.Dir, p.next, p.c.Rank(), p.arrays, own)
	err = errors.Join(err, failed)
	p.next++
	var e comm.Encoder
	e.Bool(err == nil)
	if err == nil {
		e.Bytes(encodePart(part))
	} else {
		e.Text(err.Error())
	}
	all, failed := comm.Gather(p.c, 0, e.Message())
	if failed != nil {
		return failed
	}
	if p.c.Rank() == 0 {
		err = p.commit(step, state, all)
	}
	// Rank 0 knows what was wrong on any rank.
	return comm.Agree(p.c, err)
}

// commit makes a generation of what all ranks have written, on rank 0.
func (p *pauses) commit(step int, state []byte, all [][]byte) error {
	m := &checkpoint.Manifest{What: p.what, Step: step, State: state, Arrays: len(p.arrays)}
	var faults []error
	for r, b := range all {
		in := comm.NewDecoder(b)
		good := in.Bool()
		said := in.Bytes()
		if err := in.Finish(); err != nil {
			return err
		}
		if !good {
			faults = append(faults, fmt.Errorf("rank %d: %s", r, said))
			continue
		}
		part, err := decodePart(said)
		if err != nil {
			return err
		}
		m.Parts = append(m.Parts, part)
	}
	if len(faults) > 0 {
		return errors.Join(errors.Join(faults...), p.store.Discard())
	}
	return p.store.Commit(m)
}

// report adds what happened to the loop's report.
func (p *pauses) report(r *Report) {
	r.Stopped, r.Resumed, r.Checkpoints, r.CheckpointTime = p.stopped, p.first, p.count, p.spent.Seconds()
}
