package frame

import "syscall"

const (
	// arena is the unit in which Go's runtime takes addresses. A piece of memory of that size on never lies in what it has already, as
	// smaller ones may.
	arena = 64 << 20
	// bookkeeping is a lower bound of what the runtime keeps about so many bytes: 1 byte.
	bookkeeping = 1 << 10
)

// reserve takes the addresses of the grids as Go's runtime will, without using them, until release is called. It fails where the
// runtime would.
func reserve(grids []Grid) (release func(), err error) {
	var taken [][]byte
	release = func() {
		for _, b := range taken {
			_ = syscall.Munmap(b) // it was mapped
		}
	}
	take := func(bytes, access int) {
		if err != nil {
			return
		}
		var b []byte
		if b, err = syscall.Mmap(-1, 0, bytes, access, syscall.MAP_ANON|syscall.MAP_PRIVATE); err == nil {
			taken = append(taken, b)
		}
	}
	for _, g := range grids {
		if bytes, _ := g.bytesOf(g.Rows); bytes >= arena {
			take(bytes, syscall.PROT_READ|syscall.PROT_WRITE)
			take((arena-bytes%arena)%arena+bytes/bookkeeping, syscall.PROT_NONE)
		}
	}
	return release, err
}

// addressLimit is the lowest limit, in bytes, of what this process may map, and the flag of ulimit that sets it; 0: none is known.
func addressLimit() (limit float64, flag string) {
	for _, l := range []struct {
		resource int
		flag     string
	}{{syscall.RLIMIT_AS, "-v"}, {syscall.RLIMIT_DATA, "-d"}} {
		var r syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &r); err != nil || uint64(r.Cur) > 1<<62 { // unlimited
			continue
		}
		if limit == 0 || float64(r.Cur) < limit {
			limit, flag = float64(r.Cur), l.flag
		}
	}
	return limit, flag
}

// totalMemory is how many bytes this machine has, those of its swap too; 0: that is not known.
func totalMemory() float64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0
	}
	return (float64(info.Totalram) + float64(info.Totalswap)) * float64(info.Unit)
}
