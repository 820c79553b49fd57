package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	schema  = "shiftwork checkpoint"
	version = 1
)

// Manifest describes one generation.
type Manifest struct {
	Schema     string `json:"schema"`
	Version    int    `json:"version"`
	Generation int    `json:"generation"`
	What       string `json:"what"`  // what the data belongs to, in words: a restart compares it
	Step       int    `json:"step"`  // sweeps or repetitions done
	State      []byte `json:"state"` // the program's own
	Arrays     int    `json:"arrays"`
	Parts      []Part `json:"parts"`

	dir string
}

// ErrNone is wrapped by the error of whoever finds no generation in a folder.
var ErrNone = errors.New("no checkpoint")

const (
	prefix   = "gen-"
	partial  = ".part" // being written
	outdated = ".old"  // being removed
	manifest = "manifest"
)

func name(generation int) string { return fmt.Sprintf("%s%08d", prefix, generation) }

func (m *Manifest) path(part int) string {
	return filepath.Join(m.dir, name(m.Generation), m.Parts[part].File)
}

// Generations lists the complete generations in a folder, the newest first. A folder that does not exist has none.
func Generations(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []int
	for _, e := range entries {
		if n, ok := number(e.Name()); ok && e.IsDir() {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// number is the generation that a folder holds, if it has the name of a complete one.
func number(folder string) (int, bool) {
	digits, ok := strings.CutPrefix(folder, prefix)
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && folder == name(n)
}

// Read reads the manifest of a generation and holds it against its checksum. Parts are not looked at: see CheckPart.
func Read(dir string, generation int) (*Manifest, error) {
	path := filepath.Join(dir, name(generation), manifest)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := Decode(dir, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m.Generation != generation {
		return nil, fmt.Errorf("%s: is that of generation %d", path, m.Generation)
	}
	return m, nil
}

// Decode makes a manifest of its text, as Encode returns it and as it stands in the file; dir is the folder with the generations.
func Decode(dir string, text []byte) (*Manifest, error) {
	at := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	body := text[:at]
	if string(text[at:]) != ending(body) {
		return nil, errors.New("is damaged: the checksum differs")
	}
	m := &Manifest{dir: dir}
	if err := json.Unmarshal(body, m); err != nil {
		return nil, err
	}
	if m.Schema != schema || m.Version != version {
		return nil, fmt.Errorf("is %q version %d, accepted is %q version %d", m.Schema, m.Version, schema, version)
	}
	for _, p := range m.Parts {
		if p.File != filepath.Base(p.File) {
			return nil, fmt.Errorf("part %q is not in the folder", p.File)
		}
		for _, b := range p.Blocks {
			if b.Array < 0 || b.Array >= m.Arrays || b.Lo > b.Hi || b.At < 0 || b.Bytes < 0 || b.Bytes > p.Bytes-b.At {
				return nil, fmt.Errorf("part %s has an impossible block %+v", p.File, b)
			}
		}
	}
	return m, nil
}

// Encode is the manifest's text: JSON, and a last line with the checksum of what stands before it.
func (m *Manifest) Encode() ([]byte, error) {
	m.Schema, m.Version = schema, version
	body, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	return append(body, ending(body)...), nil
}

func ending(body []byte) string { return fmt.Sprintf("crc64 %016x\n", crc64.Checksum(body, sums)) }

// Newest is the newest generation that is good in all its parts. The error says what is wrong with each that is newer or, if none
// is good, with each that there is; it then wraps ErrNone.
func Newest(dir string) (*Manifest, error) {
	all, err := Generations(dir)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, g := range all {
		m, err := Read(dir, g)
		if err == nil {
			for i := range m.Parts {
				err = errors.Join(err, m.CheckPart(i))
			}
		}
		if err == nil {
			return m, errors.Join(faults...)
		}
		faults = append(faults, err)
	}
	return nil, None(dir, faults)
}

// Unused is an error where a folder has checkpoints, which those of another run would replace.
func Unused(dir string) error {
	all, err := Generations(dir)
	if err == nil && len(all) > 0 {
		err = fmt.Errorf("there are checkpoints already, the newest is %s: go on from there, or take another folder", name(all[0]))
	}
	return err
}

// None is the error for a folder in which nothing good was found, and why.
func None(dir string, faults []error) error {
	if len(faults) == 0 {
		return fmt.Errorf("%w in %s", ErrNone, dir)
	}
	return fmt.Errorf("%w in %s that is good: %w", ErrNone, dir, errors.Join(faults...))
}
