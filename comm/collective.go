package comm

import (
	"fmt"
	"math"
)

// One tag per collective: see "Collectives" in the package's documentation for why one is enough.
const (
	tagBarrier = MaxUserTag + iota
	tagBcast
	tagGather
	tagAllGather
	tagAllreduce
	tagTaken // no collective: Lend
)

// Barrier returns when every rank has called it.
func Barrier(c Comm) error {
	return disseminate(c, tagBarrier, nil, nil, func() {})
}

// Bcast copies the root's b to the b of every other rank. All must give the same length.
//
// Ranks are numbered from the root, v = r - root (mod P). The parent of v is v without its lowest set bit, and the
// children of v are v + 2^k for every 2^k below that bit (below P, for the root):
//
//	0 ─┬─ 4 ─┬─ 6 ── 7
//	   │     └─ 5
//	   ├─ 2 ── 3
//	   └─ 1
func Bcast(c Comm, root int, b []byte) error {
	if err := checkRoot(c, "bcast", root); err != nil {
		return err
	}
	size := c.Size()
	v := (c.Rank() - root + size) % size
	bit := 1
	for bit < size && v&bit == 0 {
		bit <<= 1
	}
	if v != 0 {
		st, err := c.Recv((v-bit+root)%size, tagBcast, b)
		if err != nil {
			return err
		}
		if st.Len != len(b) {
			return &Error{Op: "bcast", Rank: c.Rank(), Peer: root, Tag: tagBcast,
				Err: fmt.Errorf("the root sent %d bytes where this rank expects %d", st.Len, len(b))}
		}
	}
	// The farthest subtree first: it has the longest way to go. All sends are under way before the first is
	// waited for, so that a late child does not hold up its siblings.
	var sends []Request
	for bit >>= 1; bit > 0; bit >>= 1 {
		if v+bit < size {
			r, err := c.Isend((v+bit+root)%size, tagBcast, b)
			if err != nil {
				return err
			}
			sends = append(sends, r)
		}
	}
	for _, r := range sends {
		if _, err := r.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// Gather returns every rank's b, indexed by rank, at the root and nil elsewhere. Lengths may differ. The root's own
// entry is b itself, not a copy.
func Gather(c Comm, root int, b []byte) ([][]byte, error) {
	if err := checkRoot(c, "gather", root); err != nil {
		return nil, err
	}
	if c.Rank() != root {
		return nil, c.Send(root, tagGather, b)
	}
	all := make([][]byte, c.Size())
	for r := range all {
		if r == root {
			all[r] = b
			continue
		}
		var err error
		if all[r], err = RecvAll(c, r, tagGather); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// AllGather returns every rank's b, indexed by rank, on every rank. Lengths may differ. The rank's own entry is b
// itself, not a copy.
//
// Bruck's algorithm: a rank r that holds the blocks r ... r+m-1 (mod P) sends as many of them as are still wanted, from
// the first on, to rank r-m and receives the blocks from r+m on from rank r+m: m doubles until it is P.
func AllGather(c Comm, b []byte) ([][]byte, error) {
	rank, size := c.Rank(), c.Size()
	all := make([][]byte, size)
	all[rank] = b
	for m := 1; m < size; m *= 2 {
		n := min(m, size-m)
		var e Encoder
		for i := range n {
			e.Bytes(all[(rank+i)%size])
		}
		send, err := c.Isend((rank-m+size)%size, tagAllGather, e.Message())
		if err != nil {
			return nil, err
		}
		from := (rank + m) % size
		message, err := RecvAll(c, from, tagAllGather)
		if err != nil {
			return nil, err
		}
		d := NewDecoder(message)
		for i := range n {
			all[(from+i)%size] = d.Bytes()
		}
		if err := d.Finish(); err != nil {
			return nil, &Error{Op: "all-gather", Rank: rank, Peer: from, Tag: tagAllGather, Err: err}
		}
		if _, err := send.Wait(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// AllreduceMax returns the greatest x of all ranks, the same bits on each; NaN if one is NaN.
func AllreduceMax(c Comm, x float64) (float64, error) {
	return allreduce(c, x, func(a, b float64) float64 { return max(a, b) })
}

// AllreduceMin returns the least x of all ranks, the same bits on each; NaN if one is NaN.
func AllreduceMin(c Comm, x float64) (float64, error) {
	return allreduce(c, x, func(a, b float64) float64 { return min(a, b) })
}

// allreduce needs a choose whose result does not depend on the order of the values nor on how often each is given,
// because in a dissemination some arrive twice unless the number of ranks is a power of two.
func allreduce(c Comm, x float64, choose func(a, b float64) float64) (float64, error) {
	mine, theirs := []float64{x}, []float64{0}
	err := disseminate(c, tagAllreduce, BytesOf(mine), BytesOf(theirs), func() {
		mine[0] = choose(mine[0], theirs[0])
	})
	if math.IsNaN(mine[0]) {
		return math.NaN(), err // one NaN among the many, so that all ranks return the same bits
	}
	return mine[0], err
}

// disseminate sends `out` and receives `in`, which have the same length on all ranks, in the rounds described in the
// package's documentation, and calls merge after each.
func disseminate(c Comm, tag int, out, in []byte, merge func()) error {
	rank, size := c.Rank(), c.Size()
	for m := 1; m < size; m *= 2 {
		send, err := c.Isend((rank+m)%size, tag, out)
		if err != nil {
			return err
		}
		if _, err := c.Recv((rank-m+size)%size, tag, in); err != nil {
			return err
		}
		if _, err := send.Wait(); err != nil { // before merge changes what is being sent
			return err
		}
		merge()
	}
	return nil
}

// RecvAll receives a message of any length.
func RecvAll(c Comm, from, tag int) ([]byte, error) {
	st, err := c.Probe(from, tag)
	if err != nil {
		return nil, err
	}
	b := make([]byte, st.Len)
	_, err = c.Recv(st.Source, tag, b)
	return b, err
}

func checkRoot(c Comm, op string, root int) error {
	if root < 0 || root >= c.Size() {
		return &Error{Op: op, Rank: c.Rank(), Peer: root, Tag: 0,
			Err: fmt.Errorf("there is no rank %d: ranks are 0 to %d", root, c.Size()-1)}
	}
	return nil
}
