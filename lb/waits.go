package lb

// filled is from which decision with rates on waits are evidence where sweeps stream: while the pipeline fills, ranks wait whatever the division is, the more the higher they are. By
// first rates over five quanta, which differed by up to a half without any load, work moved in two of three runs of 4000 x 4000 points under quotas.
const filled = 2

// awaited is by how much more of the time, on average, the other workers must have waited than the slowest one for it to be the one for which they wait.
const awaited = 0.2

// isAwaited reports whether the ranks have waited for one of them since the statuses before. In a loop whose ranks keep step, whoever has too much to do
// waits least. That is evidence of an imbalance which owes nothing to the rates: who waits does not depend on how long computing took this time
// on this rank or that, but on what has come of it.
func (b *Balancer) isAwaited(rank int, statuses []Status) bool {
	share := func(s *Status) float64 {
		if !(s.Elapsed > 0) {
			return 0
		}
		return s.Wait / s.Elapsed
	}
	if rank < 0 || b.loop.Free || b.loop.OneByOne && b.rated < filled {
		return false
	}
	others := 0.0
	for r := b.loop.FirstWorker; r < b.loop.Ranks; r++ {
		if r != rank {
			others += share(&statuses[r])
		}
	}
	return others/float64(b.loop.Ranks-b.loop.FirstWorker-1) >= share(&statuses[rank])+awaited
}
