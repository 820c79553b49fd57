package frame

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"shiftwork/apps/internal/cli"
	"shiftwork/checkpoint"
	"shiftwork/comm"
	"shiftwork/loops"
	"shiftwork/spmd"
)

// started is about when the process was: --time-limit counts from here.
var started = time.Now()

// timeLeft is how long the run may go on until its --time-limit.
func timeLeft(s *cli.Shared) time.Duration { return time.Duration(s.TimeLimit) - time.Since(started) }

// Checkpoint is what the flags ask for: stopping at a signal or before a time limit, writing checkpoints, going on from one. program
// says what a run must have in common with the one that wrote them.
func Checkpoint(app string, s *cli.Shared, program string) loops.Checkpoint {
	spmd.CatchStop(s.Checkpoint != "")
	k := loops.Checkpoint{Stop: spmd.Stopping, Dir: s.Checkpoint, Restart: s.Restart, Program: program}
	if k.Dir != "" {
		if filepath.Clean(k.Restart) == filepath.Clean(k.Dir) {
			k.Restart = k.Dir
		}
		k.Every = time.Duration(s.Every)
	}
	if s.TimeLimit > 0 {
		k.Limit = max(1, timeLeft(s))
	}
	k.Resumed = func(step int, passed error) {
		if passed != nil {
			fmt.Fprintf(os.Stderr, "%s: going on after step %d from %s; what is newer there is no good: %s\n", app, step, s.Restart, once(passed))
		}
	}
	k.Failed = func(err error) {
		left := "there is no checkpoint yet"
		if unwritten := (*loops.WriteError)(nil); errors.As(err, &unwritten) && unwritten.Good > 0 {
			left = fmt.Sprintf("the one after step %d stays", unwritten.Good)
		}
		fmt.Fprintf(os.Stderr, "%s: %s; going on, %s\n", app, once(err), left)
	}
	return k
}

// CheckFolders finds out, on rank 0 and before any file is written, whether there is a checkpoint to go on from and a place for new
// ones. The loop looks closer.
func CheckFolders(c comm.Comm, s *cli.Shared) error {
	var faults []error
	if c.Rank() == 0 && s.Restart != "" && (s.Checkpoint == "" || filepath.Clean(s.Restart) != filepath.Clean(s.Checkpoint)) {
		all, err := checkpoint.Generations(s.Restart)
		if err == nil && len(all) == 0 {
			err = checkpoint.None(s.Restart, nil)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("--restart: %w", err))
		}
	}
	if c.Rank() == 0 && s.Checkpoint != "" {
		info, err := os.Stat(s.Checkpoint)
		if errors.Is(err, os.ErrNotExist) {
			info, err = os.Stat(filepath.Dir(s.Checkpoint))
		}
		if err != nil || !info.IsDir() {
			faults = append(faults, cli.Refuse("checkpoint", s.Checkpoint, "a folder, or the name of a new one in a folder that exists"))
		} else if s.Restart == "" && checkpoint.Unused(s.Checkpoint) != nil {
			faults = append(faults, cli.Refuse("checkpoint", s.Checkpoint, "a folder without checkpoints, or --restart with the same folder, to go on from there"))
		}
	}
	return Refused(c, errors.Join(faults...))
}

// Unsaved tells the error of a loop that stopped, without its last checkpoint but with everything else, from one that says that there is no result.
func Unsaved(rep *loops.Report, loop error) (unsaved, failed error) {
	if rep != nil {
		return loop, nil
	}
	return nil, loop
}

// Ran makes the error of a loop that could not use the folders of its checkpoints bad usage.
func Ran(err error) error {
	if folder := (*loops.FolderError)(nil); errors.As(err, &folder) {
		return &spmd.UsageError{Err: folder}
	}
	return err
}
