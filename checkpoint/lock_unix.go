//go:build unix

package checkpoint

import (
	"errors"
	"os"
	"syscall"
)

// acquire takes the lock, which the system gives back when the process ends, however it ends.
func acquire(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	// A file system that has no locks is no reason not to write.
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(errors.New("another run is writing there"), f.Close())
	}
	return f, nil
}
