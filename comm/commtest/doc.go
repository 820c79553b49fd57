// Package commtest is the contract of comm.Comm as a program: one conformance suite that every transport passes.
//
// Where ranks are goroutines, a test hands the suite the function that runs them:
//
//	func TestConformance(t *testing.T) {
//		commtest.Run(t, "local", func(t *testing.T, ranks int, body func(comm.Comm) error) {
//			if err := local.Run(ranks, body); err != nil {
//				t.Error(err)
//			}
//		})
//	}
//
// Where ranks are processes, each of them calls the same cases on its own Comm and ends the job at the first error:
//
//	for _, k := range commtest.Cases() {
//		if c.Size() < k.MinRanks {
//			continue
//		}
//		if err := k.Body(c); err != nil {
//			fmt.Fprintln(os.Stderr, k.Name, err)
//			c.Abort(1)
//		}
//	}
//
// Invariants: every case works with any number of ranks from its MinRanks up, whether or not sends are buffered; it
// receives all that it sends and ends with a Barrier, so that cases can follow each other on one Comm; and it
// neither depends on how fast a rank is nor, but for the CPU time of a wait, measures it.
//
// What it does not do: it does not measure speed, and it cannot recover when a transport hangs: run it under a time limit.
package commtest
