//go:build cgo && !nompi

package mpi_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	gompi "github.com/sbromberger/gompi"

	"shiftwork/comm"
	"shiftwork/comm/commtest"
	"shiftwork/comm/mpi"
	"shiftwork/internal/machine"
	"shiftwork/internal/mpirun"
)

// The tests start this binary again under mpirun; there it is a rank and runs what SHIFTWORK_TEST_RANK names.
const rankEnv = "SHIFTWORK_TEST_RANK"

func TestMain(m *testing.M) {
	what := os.Getenv(rankEnv)
	if what == "" {
		os.Exit(m.Run())
	}
	if what == "single" {
		gompi.Start(false)
	}
	c, err := mpi.Start()
	if err == nil {
		err = rank(c, what)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if c != nil {
			c.Abort(1)
		}
		os.Exit(1)
	}
	c.Stop()
}

func rank(c *mpi.Comm, what string) error {
	switch what {
	case "conformance":
		for _, k := range commtest.Cases() {
			if c.Size() < k.MinRanks {
				continue
			}
			if err := k.Body(c); err != nil {
				return fmt.Errorf("rank %d: %s: %w", c.Rank(), k.Name, err)
			}
			if err := comm.Barrier(c); err != nil {
				return err
			}
		}
		if c.Rank() == 0 {
			fmt.Println("conforms")
		}
	case "crowded":
		_, err := fmt.Printf("rank %d crowded=%v\n", c.Rank(), comm.IsCrowded(c))
		return err
	case "memory":
		_, err := fmt.Printf("rank %d reads=%v\n", c.Rank(), comm.CanRead(c, (c.Rank()+1)%c.Size()))
		return err
	case "shared":
		s, err := comm.Share(c, 1)
		if err == nil {
			_, err = fmt.Printf("rank %d shares=%v\n", c.Rank(), s.Of[(c.Rank()+1)%c.Size()] != nil)
		}
		return err
	case "lender dies":
		return lenderDies(c)
	case "abort":
		if c.Rank() == 1 {
			c.Abort(7)
		}
		_, err := c.Recv(1, 0, nil) // never comes: the abort must end this rank
		return err
	case "gompi":
		return besideGompi(c)
	case "pingpong":
		return pingPong(c)
	case "wait":
		return longWait(c)
	case "allocate":
		return allocate(c)
	case "seldom":
		return countOthers(c)
	case "long":
		return longMessages(c)
	case "forgotten":
		return forgotten(c)
	case "ahead":
		return ahead(c)
	default:
		return fmt.Errorf("unknown test %q", what)
	}
	return nil
}

func job(t *testing.T, limit time.Duration, ranks int, what string, flags ...string) mpirun.Result {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	r, err := mpirun.RunFlags(limit, ranks, flags, []string{rankEnv + "=" + what}, exe)
	require.NoError(t, err)
	return r
}

func TestConformance(t *testing.T) {
	for _, ranks := range []int{2, 3, 4} {
		t.Run(fmt.Sprintf("ranks=%d", ranks), func(t *testing.T) {
			r := job(t, 2*time.Minute, ranks, "conformance")
			require.Equal(t, 0, r.Code, r.Stderr)
			require.Contains(t, r.Stdout, "conforms")
		})
	}
}

// Ranks that share processors read each other's memory where the system lets them, but not where the user wants messages to go another way.
func TestWhoseMemoryIsRead(t *testing.T) {
	ranks := runtime.NumCPU() + 1
	reads := func(flags ...string) int {
		r := job(t, time.Minute, ranks, "memory", flags...)
		require.Equal(t, 0, r.Code, r.Stderr)
		n := strings.Count(r.Stdout, "reads=true")
		require.Equal(t, ranks-n, strings.Count(r.Stdout, "reads=false"), r.Stdout)
		return n
	}
	require.Zero(t, reads("--mca", "btl", "tcp,self"))
	require.Zero(t, reads("--mca", "btl", "^vader"))
	require.Zero(t, reads("--mca", "btl_vader_single_copy_mechanism", "none"))
	n := reads()
	if n == 0 {
		t.Skip("this system lets no process read another's memory")
	}
	require.Equal(t, ranks, n, "some read, and others do not know of it")
	require.Equal(t, ranks, reads("--mca", "btl", "vader,self"))
}

// Ranks on one machine have memory in common unless the user wants messages to go another way.
func TestWhoSharesMemory(t *testing.T) {
	const ranks = 3
	for _, k := range []struct {
		flags []string
		want  int
	}{
		{nil, ranks},
		{[]string{"--mca", "btl", "vader,self"}, ranks},
		{[]string{"--mca", "btl_vader_single_copy_mechanism", "none"}, ranks},
		{[]string{"--mca", "btl", "tcp,self"}, 0},
		{[]string{"--mca", "btl", "^vader"}, 0},
	} {
		r := job(t, time.Minute, ranks, "shared", k.flags...)
		require.Equal(t, 0, r.Code, r.Stderr)
		require.Equal(t, k.want, strings.Count(r.Stdout, "shares=true"), "%v: %s", k.flags, r.Stdout)
		require.Equal(t, ranks-k.want, strings.Count(r.Stdout, "shares=false"), "%v: %s", k.flags, r.Stdout)
	}
}

// lenderDies kills rank 1, which has lent something, and reads it all the same.
func lenderDies(c *mpi.Comm) error {
	const tag, bytes = 1, 64 << 20
	switch c.Rank() {
	case 0:
	case 1:
		if err := c.Send(0, tag, []byte(strconv.Itoa(os.Getpid()))); err != nil {
			return err
		}
		q, err := comm.Lend(c, 0, tag, make([]byte, bytes))
		if err != nil {
			return err
		}
		if _, err = q.Wait(); err != nil {
			return err
		}
		return comm.Barrier(c)
	default:
		return comm.Barrier(c)
	}
	text := make([]byte, 20)
	st, err := c.Recv(1, tag, text)
	if err != nil {
		return err
	}
	process, err := strconv.Atoi(string(text[:st.Len]))
	if err != nil {
		return err
	}
	room := make([]byte, bytes)
	found, err := c.Probe(1, tag)
	if err != nil {
		return err
	}
	if err := syscall.Kill(process, syscall.SIGKILL); err != nil {
		return err
	}
	for { // until it has no memory left
		if left, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", process)); err != nil || strings.HasPrefix(string(left), "0 ") {
			break
		}
	}
	if _, err = comm.Borrow(c, found, func(int) []byte { return room }); err != nil {
		return err
	}
	return comm.Barrier(c)
}

// It is mpirun that tells of a rank that is gone, not the rank that was about to read its memory.
func TestALenderDies(t *testing.T) {
	r := job(t, time.Minute, runtime.NumCPU()+1, "lender dies")
	require.NotEqual(t, 0, r.Code)
	require.NotContains(t, r.Stderr, "borrow")
	require.Regexp(t, `exited on signal 9 \(Killed\)|EXIT STRING: Killed \(signal 9\)`, r.Stdout+r.Stderr)
}

// The ways to wait that experiments may choose all carry messages; others are refused.
func TestOtherWaysToWait(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, way := range []string{"auto", "spin", "yield", "sleep", "block", "hope"} {
		env := []string{rankEnv + "=allocate", mpi.WaitVariable + "=" + way}
		r, err := mpirun.Run(time.Minute, 2, env, exe)
		require.NoError(t, err)
		if way == "hope" {
			require.NotEqual(t, 0, r.Code)
			require.Contains(t, r.Stderr, "SHIFTWORK_WAIT=hope: auto, spin, yield, sleep or block are accepted")
		} else {
			require.Equal(t, 0, r.Code, "%s: %s", way, r.Stderr)
		}
	}
}

// All ranks hear it.
func TestMoreRanksThanProcessorsAreCrowded(t *testing.T) {
	processors := runtime.NumCPU()
	all := []int{1}
	if processors <= 16 { // more would be a load for the machine
		all = append(all, processors, processors+1)
	}
	for _, ranks := range all {
		r := job(t, time.Minute, ranks, "crowded")
		require.Equal(t, 0, r.Code, r.Stderr)
		for rank := range ranks {
			require.Contains(t, r.Stdout, fmt.Sprintf("rank %d crowded=%v\n", rank, ranks > processors))
		}
	}
}

// An abort on one rank ends the others, which wait for a message that never comes.
func TestAbortEndsTheJob(t *testing.T) {
	r := job(t, 30*time.Second, 3, "abort")
	require.Equal(t, 7, r.Code, r.Stderr)
}

// A program that uses gompi's world keeps its messages apart from ours, whatever the tags.
func TestBesideGompi(t *testing.T) {
	r := job(t, 30*time.Second, 2, "gompi")
	require.Equal(t, 0, r.Code, r.Stderr)
}

// MPI that was started for a program of one thread is not used from many.
func TestOneThreadIsRefused(t *testing.T) {
	r := job(t, 30*time.Second, 1, "single")
	require.NotZero(t, r.Code)
	require.Contains(t, r.Stderr, "MPI was started for programs of one thread")
}

func besideGompi(c *mpi.Comm) error {
	world := gompi.NewCommunicator(nil)
	const tag = 5
	if c.Rank() == 0 {
		q, err := c.Isend(1, tag, []byte("ours"))
		if err != nil {
			return err
		}
		world.SendBytes([]byte("theirs"), 1, tag)
		_, err = q.Wait()
		return err
	}
	theirs, _ := world.RecvBytes(0, tag)
	b := make([]byte, 10)
	st, err := c.Recv(0, tag, b)
	if err != nil {
		return err
	}
	if string(theirs) != "theirs" || string(b[:st.Len]) != "ours" {
		return fmt.Errorf("got %q from gompi and %q from ours", theirs, b[:st.Len])
	}
	return nil
}

// MPI counts in ints, our messages may be longer.
func TestMessagesOfMoreThanTwoGiB(t *testing.T) {
	if machine.MemoryLeft() < 8<<30 {
		t.Skip("less than 8 GiB of memory are left")
	}
	r := job(t, 2*time.Minute, 2, "long")
	require.Equal(t, 0, r.Code, r.Stderr)
}

func longMessages(c *mpi.Comm) error {
	const tag, parts = 7, 3
	for _, bytes := range []int{10, math.MaxInt32 + 12345} {
		b := make([]byte, bytes+c.Rank()) // the receiver has room for one more
		at := func(part int) int { return part * (bytes - 1) / (parts - 1) }
		if c.Rank() == 0 {
			for part := range parts {
				b[at(part)] = byte(1 + part)
			}
			if err := c.Send(1, tag, b); err != nil {
				return err
			}
			continue
		}
		found, err := c.Probe(0, tag)
		if err != nil {
			return err
		}
		st, err := c.Recv(0, tag, b)
		if err != nil {
			return err
		}
		if found.Len != bytes || st.Len != bytes {
			return fmt.Errorf("%d bytes: found %d, received %d", bytes, found.Len, st.Len)
		}
		for part := range parts {
			if b[at(part)] != byte(1+part) {
				return fmt.Errorf("%d bytes: byte %d is %d", bytes, at(part), b[at(part)])
			}
		}
	}
	return nil
}

// What a program forgets to wait for, as after an error, MPI still writes to: the buffer stays where it is, and the garbage collector has no complaint.
func TestForgottenRequests(t *testing.T) {
	r := job(t, time.Minute, 2, "forgotten")
	require.Equal(t, 0, r.Code, r.Stderr)
}

func forgotten(c *mpi.Comm) error {
	const tag = 8
	if c.Rank() == 0 {
		for range 100 {
			if _, err := c.Irecv(1, tag, make([]byte, 1000)); err != nil {
				return err
			}
		}
	}
	for range 3 {
		runtime.GC()
	}
	if err := comm.Barrier(c); err != nil {
		return err
	}
	for range 100 * c.Rank() {
		if err := c.Send(0, tag, bytes.Repeat([]byte{1}, 1000)); err != nil {
			return err
		}
	}
	return comm.Barrier(c)
}

// BenchmarkPingPong compares the latency of comm/mpi with raw blocking gompi, two ranks a core each, in one run.
// The job prints both and their ratio.
func BenchmarkPingPong(b *testing.B) {
	exe, err := os.Executable()
	require.NoError(b, err)
	for b.Loop() {
		r, err := mpirun.RunFlags(time.Minute, 2, []string{"--bind-to", "core"}, []string{rankEnv + "=pingpong"}, exe)
		require.NoError(b, err)
		require.Equal(b, 0, r.Code, r.Stderr)
		var ours, raw, ratio float64
		_, err = fmt.Sscanf(r.Stdout, "ours_ns=%f gompi_ns=%f ratio=%f", &ours, &raw, &ratio)
		require.NoError(b, err)
		b.ReportMetric(ours, "ns/message")
		b.ReportMetric(raw, "gompi-ns/message")
		b.ReportMetric(ratio, "ratio")
	}
}

func pingPong(c *mpi.Comm) error {
	const rounds, pairs, bytes = 20000, 7, 8
	world := gompi.NewCommunicator(nil)
	buf, peer := make([]byte, bytes), 1-c.Rank()
	ours := func() error {
		for range rounds {
			if c.Rank() == 0 {
				if err := c.Send(peer, 1, buf); err != nil {
					return err
				}
			}
			if _, err := c.Recv(peer, 1, buf); err != nil {
				return err
			}
			if c.Rank() == 1 {
				if err := c.Send(peer, 1, buf); err != nil {
					return err
				}
			}
		}
		return nil
	}
	theirs := func() error {
		for range rounds {
			if c.Rank() == 0 {
				world.SendBytes(buf, peer, 1)
			}
			world.RecvPreallocBytes(buf, peer, 1)
			if c.Rank() == 1 {
				world.SendBytes(buf, peer, 1)
			}
		}
		return nil
	}
	var ratios, a, b []float64
	for i := range pairs + 1 { // the first warms up
		var took [2]float64
		for k, f := range []func() error{ours, theirs} {
			began := time.Now()
			if err := f(); err != nil {
				return err
			}
			took[k] = time.Since(began).Seconds() / (2 * rounds) * 1e9
		}
		if i > 0 {
			a, b, ratios = append(a, took[0]), append(b, took[1]), append(ratios, took[0]/took[1])
		}
	}
	if c.Rank() == 0 {
		fmt.Printf("ours_ns=%.0f gompi_ns=%.0f ratio=%.3f\n", median(a), median(b), median(ratios))
	}
	return nil
}

func median(x []float64) float64 {
	x = append([]float64(nil), x...)
	for i := range x {
		for j := i; j > 0 && x[j] < x[j-1]; j-- {
			x[j], x[j-1] = x[j-1], x[j]
		}
	}
	return x[len(x)/2]
}

// BenchmarkLongWait reports the CPU use of a rank that waits 5 s for its neighbour.
func BenchmarkLongWait(b *testing.B) {
	exe, err := os.Executable()
	require.NoError(b, err)
	for b.Loop() {
		r, err := mpirun.Run(time.Minute, 2, []string{rankEnv + "=wait"}, exe)
		require.NoError(b, err)
		require.Equal(b, 0, r.Code, r.Stderr)
		var percent float64
		_, err = fmt.Sscanf(r.Stdout, "cpu_percent=%f", &percent)
		require.NoError(b, err)
		b.ReportMetric(percent, "%CPU")
	}
}

func longWait(c *mpi.Comm) error {
	if c.Rank() == 1 {
		time.Sleep(5 * time.Second)
		return c.Send(0, 1, nil)
	}
	began, before := time.Now(), cpu()
	if _, err := c.Recv(1, 1, nil); err != nil {
		return err
	}
	fmt.Printf("cpu_percent=%.2f\n", 100*(cpu()-before).Seconds()/time.Since(began).Seconds())
	return nil
}

func cpu() time.Duration {
	t, err := machine.CPUTime()
	if err != nil {
		panic(err)
	}
	return t
}
