package commtest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"shiftwork/comm"
	"shiftwork/comm/commtest"
	"shiftwork/comm/local"
)

// faulty is a transport that keeps the contract but for the operations that a fault replaces.
type faulty struct {
	comm.Comm
	recv    func(c comm.Comm, from, tag int, b []byte) (comm.Status, error)
	waitAny func(c comm.Comm, reqs []comm.Request) (int, comm.Status, error)
	iprobe  func(c comm.Comm, from, tag int) (comm.Status, bool, error)
	send    func(c comm.Comm, to, tag int, b []byte) error
	now     func(c comm.Comm) time.Duration
	share   func(c comm.Comm, bytes int) (comm.Shared, error)
}

func (f faulty) Recv(from, tag int, b []byte) (comm.Status, error) {
	if f.recv == nil {
		return f.Comm.Recv(from, tag, b)
	}
	return f.recv(f.Comm, from, tag, b)
}

func (f faulty) WaitAny(reqs []comm.Request) (int, comm.Status, error) {
	if f.waitAny == nil {
		return f.Comm.WaitAny(reqs)
	}
	return f.waitAny(f.Comm, reqs)
}

func (f faulty) Iprobe(from, tag int) (comm.Status, bool, error) {
	if f.iprobe == nil {
		return f.Comm.Iprobe(from, tag)
	}
	return f.iprobe(f.Comm, from, tag)
}

func (f faulty) Send(to, tag int, b []byte) error {
	if f.send == nil {
		return f.Comm.Send(to, tag, b)
	}
	return f.send(f.Comm, to, tag, b)
}

func (f faulty) Now() time.Duration {
	if f.now == nil {
		return f.Comm.Now()
	}
	return f.now(f.Comm)
}

func (f faulty) Share(bytes int) (comm.Shared, error) {
	if f.share == nil {
		return comm.Share(f.Comm, bytes)
	}
	return f.share(f.Comm, bytes)
}

// The suite can fail: each fault is found by the case that is there for it.
func TestTheSuiteFindsFaults(t *testing.T) {
	for name, k := range map[string]struct {
		fault faulty
		found string // in the name of the case
	}{
		"Recv mistakes the tag": {
			faulty{recv: func(c comm.Comm, from, tag int, b []byte) (comm.Status, error) {
				if tag == 103 {
					tag = 101
				}
				return c.Recv(from, tag, b)
			}},
			"order is kept per source and tag",
		},
		"Recv spins": {
			faulty{recv: func(c comm.Comm, from, tag int, b []byte) (comm.Status, error) {
				for {
					if _, found, err := c.Iprobe(from, tag); found || err != nil {
						return c.Recv(from, tag, b)
					}
				}
			}},
			"waiting sleeps",
		},
		"Recv cuts off silently": {
			faulty{recv: func(c comm.Comm, from, tag int, b []byte) (comm.Status, error) {
				st, err := c.Recv(from, tag, b)
				if errors.Is(err, comm.ErrTruncated) {
					err = nil
				}
				return st, err
			}},
			"too long for its buffer",
		},
		"WaitAny takes the highest": {
			faulty{waitAny: func(c comm.Comm, reqs []comm.Request) (int, comm.Status, error) {
				for i := len(reqs) - 1; i >= 0; i-- {
					if reqs[i] != nil {
						if st, done, err := reqs[i].Test(); done {
							return i, st, err
						}
					}
				}
				return c.WaitAny(reqs)
			}},
			"WaitAny returns the lowest",
		},
		"Iprobe consumes": {
			faulty{iprobe: func(c comm.Comm, from, tag int) (comm.Status, bool, error) {
				st, found, err := c.Iprobe(from, tag)
				if found {
					_, err = c.Recv(st.Source, tag, make([]byte, st.Len))
				}
				return st, found, err
			}},
			"Iprobe is false before",
		},
		"Send pads empty messages": {
			faulty{send: func(c comm.Comm, to, tag int, b []byte) error {
				if len(b) == 0 {
					b = []byte{0}
				}
				return c.Send(to, tag, b)
			}},
			"empty messages",
		},
		"Send takes any rank": {
			faulty{send: func(c comm.Comm, to, tag int, b []byte) error {
				if to < 0 || to >= c.Size() {
					return nil
				}
				return c.Send(to, tag, b)
			}},
			"a peer or tag",
		},
		"Share gives each rank all memory anew": {
			faulty{share: func(c comm.Comm, bytes int) (comm.Shared, error) {
				s := comm.Shared{Of: make([][]byte, c.Size())}
				for r := range s.Of {
					s.Of[r] = make([]byte, bytes)
				}
				return s, nil
			}},
			"into shared memory others read",
		},
		"the clock goes back": {
			faulty{now: func(c comm.Comm) time.Duration { return -c.Now() }},
			"Now does not go back",
		},
	} {
		t.Run(name, func(t *testing.T) {
			matched := 0
			for _, c := range commtest.Cases() {
				if !strings.Contains(c.Name, k.found) {
					continue
				}
				matched++
				var err error
				for try := 0; err == nil && try < 5; try++ { // one that spins gets too little of a busy machine to be seen, at times
					err = local.Run(2, func(c0 comm.Comm) error {
						f := k.fault
						f.Comm = c0
						return c.Body(f)
					})
				}
				require.Error(t, err)
				t.Log(err)
			}
			require.Equal(t, 1, matched, "cases named %q", k.found)
		})
	}
}
