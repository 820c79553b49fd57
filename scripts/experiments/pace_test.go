package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// told is a pace whose program says that it took as long as tell has said last.
func told(t *testing.T, times string) *pace {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "sor")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "times"), []byte(times), 0o600))
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho result: app=sor time_s=$(cat "+dir+"/times) rate_per_s=1\n"), 0o700))
	return &pace{program: program}
}

func (p *pace) tell(t *testing.T, times string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(p.program), "times"), []byte(times), 0o600))
}

// What a processor takes is held against the tenth part of all looks that was shortest: one that was shorter by chance says nothing.
func TestPaceIsHeldAgainstTheQuietest(t *testing.T) {
	p := told(t, "0.1")
	look := func() float64 {
		x, err := p.look(t.Context())
		if err != nil {
			t.Skip(err) // no taskset, or a system without numbers of CPUs
		}
		return x
	}
	assert.InDelta(t, 1, look(), 1e-9)
	p.tell(t, "0.15")
	assert.InDelta(t, 1.5, look(), 1e-9)
	for range 20 {
		p.tell(t, "0.1")
		look()
	}
	p.note(0.05)
	assert.InDelta(t, 1, look(), 1e-9)
	p.tell(t, "none")
	_, err := p.look(t.Context())
	assert.ErrorContains(t, err, "no result line with a time_s above 0")
}

// A series that goes on while others are busy knows how it was before.
func TestPaceRemembers(t *testing.T) {
	var known []beside
	for range 100 {
		known = append(known, beside{Before: 1, After: 1, Quiet: 0.1})
	}
	first := told(t, "0.2")
	p, err := newPace(t.Context(), first.program, time.Hour, known)
	if err != nil {
		t.Skip(err)
	}
	assert.InDelta(t, 0.1, p.quiet(), 1e-9)
}

// A round of which one run was disturbed is done again, all of it, and only then counts.
func TestADisturbedRoundIsDoneAgain(t *testing.T) {
	p := told(t, "0.1")
	for range firstLooks {
		if _, err := p.look(t.Context()); err != nil {
			t.Skip(err)
		}
	}
	p.patience = time.Hour
	s := newSession(&store{folder: t.TempDir(), sizes: map[string]size{"sor-100": {"sor-100", 1}}, runs: map[key]run{}}, "", "", io.Discard)
	s.pace, s.scale = p, scale{1, 1}
	ran := 0
	s.once = func(_ context.Context, c cell, v variant, round int, _ size) taken {
		ran++
		p.tell(t, "0.1")
		if ran == 2 {
			p.tell(t, "0.2")
			time.AfterFunc(time.Second, func() { p.tell(t, "0.1") })
		}
		return taken{run: someRun(c.part, c.name, v.name, round, float64(ran))}
	}
	require.NoError(t, s.measure(t.Context(), cell{part: "idle", name: "x", work: sor(100), rounds: 2, variants: []variant{on, off}}))
	var kept []bool
	for _, b := range s.store.paces {
		kept = append(kept, b.Kept)
	}
	assert.Equal(t, []bool{false, false, true, true, true, true}, kept)
	assert.InDelta(t, 3, s.store.runs[key{"idle", "x", "on", 0}].Time, 0)
	assert.InDelta(t, 5, s.store.runs[key{"idle", "x", "off", 1}].Time, 0, "the second round begins with the other one")
	read, err := load(s.store.folder)
	require.NoError(t, err)
	assert.Len(t, read.order, 4)
	assert.Less(t, s.pace.patience, time.Hour)
}

// Whoever has no patience goes on at once; who has some waits until others are done.
func TestCalmWaitsAsLongAsPatienceLasts(t *testing.T) {
	s := &session{pace: told(t, "0.1"), out: io.Discard}
	if _, err := s.pace.look(t.Context()); err != nil {
		t.Skip(err)
	}
	s.pace.tell(t, "0.2")
	began := time.Now()
	x, err := s.calm(t.Context())
	require.NoError(t, err)
	assert.InDelta(t, 2, x, 1e-9)
	assert.Less(t, time.Since(began), pause)

	s.pace.patience = time.Hour
	time.AfterFunc(time.Second, func() { s.pace.tell(t, "0.1") })
	x, err = s.calm(t.Context())
	require.NoError(t, err)
	assert.InDelta(t, 1, x, 1e-9)
	assert.Less(t, s.pace.patience, time.Hour)

	nobody := &session{}
	x, err = nobody.calm(t.Context())
	require.NoError(t, err)
	assert.Zero(t, x)
}

// The document says of how many runs somebody knows what the host did beside them.
func TestBesides(t *testing.T) {
	s := &store{folder: t.TempDir(), runs: map[key]run{}}
	s.note(someRun("idle", "x", "on", 0, 1))
	s.note(someRun("idle", "x", "on", 1, 1))
	for _, b := range []beside{
		{"idle", "x", "on", 0, 1.4, 1, 1.5, 0.1, false}, {"idle", "x", "on", 0, 1, 1.1, 1, 0.1, true}, {"idle", "x", "on", 1, 1, 1.3, 1, 0.1, true},
		{"slow", "x", "on", 0, 1, 1, 1, 0.1, true}, // forgotten since
	} {
		require.NoError(t, s.addPace(b))
	}
	all, again, kept := s.besides()
	assert.Equal(t, []int{3, 1, 1}, []int{all, again, kept})
	assert.Contains(t, tableMachine(s), "of 3 runs beside which it was looked for, 1 were done again, 1 more were kept")
	read, err := load(s.folder)
	require.NoError(t, err)
	assert.Equal(t, s.paces, read.paces)
}
