// Package trace writes where each rank's time went, as a file that https://ui.perfetto.dev and chrome://tracing show: one
// process a rank, one time axis for all.
//
//	t, err := trace.Start(c, "heat", trace.Options{Path: "run.json"})   // on every rank, before the loop
//	loop := loops.DOALL{..., Record: t}                                  // alone, or one of a hooks.Tee; on every rank
//	report, err := loop.Run(c, lb.Auto())
//	if err != nil {
//		t.Abandon()
//		return err
//	}
//	summary, err := t.Close()                                            // on every rank
//
// # What is in the file
//
//	compute, move, interact   what package hooks tells: see hooks.Kind
//	wait                      what lies between them in a loop: for a neighbour's boundary row, for other ranks at the end
//	trace                     this package at work in the rank's own time, where that took any
//	decision                  on rank 0: an instant, with the reason, and what it cost and promised
//	rate, iterations a phase  counters of each rank: work units per second of computing, and of how many iterations
//	GC                        pauses of Go's garbage collector in that process, in a row of their own
//
// pid is the rank. Times are µs of rank 0's clock since Start. args say the number of the phase or interaction, the
// iterations, the work units, and of how many spans one is made.
//
// # Clocks
//
// Each rank measures how far its clock is ahead of rank 0's, at Start and again at Close: with 16 messages to rank 0 and
// back, of which the fastest counts (Cristian's method):
//
//	ahead = (sent + returned)/2 - rank 0's time           error at most (returned - sent)/2
//
// A time t of the rank becomes t - ahead(t), with ahead(t) on the straight line through both measurements, so that a
// constant drift is corrected. The larger of the two errors is in the file.
//
// # Limits
//
// A rank keeps Options.Limit spans. When there are more, short ones are drawn together: within each window of time, whose
// length is "resolution_us" in the file, the spans that lie in it become one for each kind, and keep their sum. Nothing is
// left out, and spans longer than the window stay as they are. Gaps in a loop of less than 1 µs are not drawn. Of decisions
// a tenth of the limit is kept, those that move work first; what is left out is counted. Samples of the counters become
// rarer instead.
//
// While it runs, each rank writes what it has to a file beside Path, once a second: run.rank3.json. Close sends all spans to
// rank 0, which needs no common file system, and removes these. After an abort they are still there, on each rank's machine:
// the same format without its end, which viewers tolerate, without the correction of drift.
//
// The cost of a span is some 30 ns (go test ./trace -bench .); writing is done by a goroutine of its own.
package trace
