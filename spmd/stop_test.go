//go:build unix

package spmd

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stopEnv makes a process of this test one that is asked to stop, and does not.
const stopEnv = "SHIFTWORK_TEST_STOP"

func TestMain(m *testing.M) {
	how := os.Getenv(stopEnv)
	if how == "" {
		os.Exit(m.Run())
	}
	CatchStop(false)
	if how == "terminate" {
		CatchStop(true)
	}
	fmt.Println("ready" + Stopping())
	for Stopping() == "" {
		time.Sleep(time.Millisecond)
	}
	fmt.Println(Stopping())
	time.Sleep(time.Minute)
}

// The first signal asks, one that is heard twice asks once, and one that comes later ends the process.
func TestCatchStop(t *testing.T) {
	for _, c := range []struct {
		how   string
		first syscall.Signal
		ends  bool // at the first signal
	}{
		{"warning", syscall.SIGUSR1, false},
		{"terminate", syscall.SIGUSR1, false},
		{"terminate", syscall.SIGTERM, false},
		{"warning", syscall.SIGTERM, true},
	} {
		t.Run(fmt.Sprint(c.how, " ", c.first), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), stopEnv+"="+c.how)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			lines := bufio.NewReader(out)
			line, _ := lines.ReadString('\n')
			require.Equal(t, "ready\n", line)
			require.NoError(t, cmd.Process.Signal(c.first))
			if !c.ends {
				line, _ = lines.ReadString('\n')
				assert.Equal(t, StoppedBySignal+"\n", line)
				require.NoError(t, cmd.Process.Signal(c.first)) // the same one, heard twice
				ended := make(chan error, 1)
				go func() { _, err := lines.ReadByte(); ended <- err }()
				select {
				case <-ended:
					t.Error("the same signal, heard twice, has ended it")
				case <-time.After(sameSignal + 500*time.Millisecond):
				}
				require.NoError(t, cmd.Process.Signal(c.first))
			}
			_ = cmd.Wait() // the state tells
			if c.ends {
				assert.Equal(t, c.first, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
			} else {
				assert.Equal(t, 128+int(c.first), cmd.ProcessState.ExitCode())
			}
		})
	}
}
