package main

import (
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

// What a processor takes is held against the shortest time so far.
func TestPaceIsHeldAgainstTheBest(t *testing.T) {
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
	p.tell(t, "0.05")
	assert.InDelta(t, 1, look(), 1e-9)
	p.tell(t, "0.1")
	assert.InDelta(t, 2, look(), 1e-9)
	p.tell(t, "none")
	_, err := p.look(t.Context())
	assert.ErrorContains(t, err, "no result line with a time_s above 0")
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
		{"idle", "x", "on", 0, 1.4, 1.5, false}, {"idle", "x", "on", 0, 1, 1.1, true}, {"idle", "x", "on", 1, 1, 1.3, true},
		{"slow", "x", "on", 0, 1, 1, true}, // forgotten since
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
