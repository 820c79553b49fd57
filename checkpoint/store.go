package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Store is a folder that a run writes generations to, as rank 0 sees it.
type Store struct {
	dir     string
	lock    *os.File
	next    int // the number of the generation that comes next
	trusted int // the newest generation that is held to be good; -1: none

	// step is called before each operation on the disk; tests end the process, or what stands for it, there.
	step func(what string) error
}

// Open makes the folder, if only its own folder exists, and removes what a run that was killed has left in it. Only one run may
// have it open at a time. End with Close.
func Open(dir string) (*Store, error) {
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%w; accepted is a folder, or the name of a new one in a folder that exists", err)
	}
	lock, err := acquire(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, lock: lock, trusted: -1, step: func(string) error { return nil }}
	if err := s.look(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// look finds out which generations there are, and removes what is no generation.
func (s *Store) look() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		base := strings.TrimSuffix(strings.TrimSuffix(e.Name(), partial), outdated)
		if g, ok := number(base); ok && e.IsDir() {
			s.next = max(s.next, g+1)
			if base != e.Name() {
				if err := os.RemoveAll(filepath.Join(s.dir, e.Name())); err != nil {
					return err
				}
			}
		}
	}
	all, err := Generations(s.dir)
	if err != nil {
		return err
	}
	for _, g := range all {
		if m, err := Read(s.dir, g); err == nil && m.allThere() == nil {
			s.trusted = g
			break
		}
	}
	return nil
}

// allThere reports whether all parts have the length that was written.
func (m *Manifest) allThere() error {
	for i, p := range m.Parts {
		info, err := os.Stat(m.path(i))
		if err != nil {
			return err
		}
		if info.Size() != p.Bytes {
			return fmt.Errorf("%s: has %d bytes, %d were written", m.path(i), info.Size(), p.Bytes)
		}
	}
	return nil
}

// Next is the number of the generation that is to be written next. It grows by one with each Commit and each Discard.
func (s *Store) Next() int { return s.next }

// Trust says that this generation was read and found good: it is the one that the next Commit keeps.
func (s *Store) Trust(generation int) { s.trusted = generation }

// Commit makes generation Next of the parts that m lists, which all ranks have closed. Then it removes all older
// generations but one, which is good. After an error nothing of this generation is left, unless the error is that of removing.
func (s *Store) Commit(m *Manifest) error {
	m.dir, m.Generation = s.dir, s.next
	from, to := filepath.Join(s.dir, name(s.next)+partial), filepath.Join(s.dir, name(s.next))
	if err := s.complete(m, from, to); err != nil {
		return errors.Join(err, s.Discard())
	}
	kept := s.trusted
	s.trusted = s.next
	s.next++
	return s.remove(kept)
}

// complete is Commit up to the moment from which on the generation exists.
func (s *Store) complete(m *Manifest, from, to string) error {
	for _, p := range m.Parts {
		info, err := os.Stat(filepath.Join(from, p.File))
		if err != nil || info.Size() != p.Bytes {
			return fmt.Errorf("rank 0 does not see %s as it was written: all ranks must have %s on the same disk",
				filepath.Join(from, p.File), s.dir)
		}
	}
	text, err := m.Encode()
	if err == nil {
		err = s.write(filepath.Join(from, manifest), text)
	}
	if err == nil {
		err = s.sync(from)
	}
	if err == nil {
		err = s.do("rename", func() error { return os.Rename(from, to) })
	}
	if err == nil {
		err = s.sync(s.dir)
	}
	return err
}

func (s *Store) do(what string, f func() error) error {
	if err := s.step(what); err != nil {
		return err
	}
	return f()
}

// write creates a file and brings it to the disk.
func (s *Store) write(path string, text []byte) error {
	return s.do("manifest", func() error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		if err == nil {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	})
}

// sync brings the names in a folder to the disk. Not every system can, and the files are complete either way, so a refusal
// is no fault.
func (s *Store) sync(dir string) error {
	return s.do("sync", func() error {
		if d, err := os.Open(dir); err == nil {
			_ = d.Sync()
			_ = d.Close()
		}
		return nil
	})
}

// remove removes all generations but the newest and the given one. Each loses its name first: what is half removed
// is not taken for a generation.
func (s *Store) remove(kept int) error {
	all, err := Generations(s.dir)
	if err != nil {
		return err
	}
	for _, g := range all {
		if g == kept || g == s.trusted {
			continue
		}
		path := filepath.Join(s.dir, name(g))
		if err := s.do("retire", func() error { return os.Rename(path, path+outdated) }); err != nil {
			return err
		}
		if err := s.do("remove", func() error { return os.RemoveAll(path + outdated) }); err != nil {
			return err
		}
	}
	return nil
}

// Discard removes what was written of generation Next, after a rank could not write its part.
func (s *Store) Discard() error {
	path := filepath.Join(s.dir, name(s.next)+partial)
	s.next++
	return os.RemoveAll(path)
}

// Close lets other runs write here.
func (s *Store) Close() error { return s.lock.Close() }
