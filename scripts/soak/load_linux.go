package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// compete lets a load compute for 1 to 20 s on a random one of the processors, rests as long, and so on until done is closed.
func compete(program string, cpus []int, seed, number uint64, done <-chan struct{}) error {
	random := rand.New(rand.NewPCG(seed, number))
	for {
		length, pause := 1+19*random.Float64(), 1+19*random.Float64()
		// All of its threads, so before it starts; and it ends with us, also where we are killed.
		cmd := exec.Command("setpriv", "--pdeathsig", "KILL", "taskset", "-c", strconv.Itoa(cpus[random.IntN(len(cpus))]), program, "--for", fmt.Sprintf("%.3fs", length))
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("load: %w", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-done:
			_ = cmd.Process.Kill()
			<-ended
			return nil
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("load: %s: %w", strings.Join(cmd.Args, " "), err)
			}
		}
		select {
		case <-done:
			return nil
		case <-time.After(time.Duration(pause * float64(time.Second))):
		}
	}
}
