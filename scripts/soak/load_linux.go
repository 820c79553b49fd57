package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"
)

// compete lets a load compute for 1 to 20 s on a random processor, rests as long, and so on until done is closed.
func compete(program string, seed, number uint64, done <-chan struct{}) {
	random := rand.New(rand.NewPCG(seed, number))
	for {
		length, pause := 1+19*random.Float64(), 1+19*random.Float64()
		// All of its threads, so before it starts.
		cmd := exec.Command("taskset", "-c", strconv.Itoa(random.IntN(runtime.NumCPU())), program, "--for", fmt.Sprintf("%.3fs", length))
		if err := cmd.Start(); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "soak: load:", err)
			return
		}
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		select {
		case <-done:
			_ = cmd.Process.Kill()
			<-ended
			return
		case <-ended:
		}
		select {
		case <-done:
			return
		case <-time.After(time.Duration(pause * float64(time.Second))):
		}
	}
}
