// Package faulttest runs a program in virtual time again and again, each time with one thing that goes wrong at another point, and
// requires that it ends as it must.
//
//	Program ── a clean run ──> so many sends and operations, by rank
//	                              │
//	           for each of them: Delay, Late, Refuse; Stop, Slow, Die     (package comm/sim)
//	                              │
//	           a late or slow rank: the program's own check, nothing left over
//	           a dead rank, a refused send: every other rank was told who and where everybody was
//
// Each tries all points, which is feasible for two or three ranks and short programs. Longer ones are given a number of points, and
//
//	go test -tags nompi -timeout 1h ./loops -run TestEachFault -v -faults.all
//
// tries the rest too. The race detector, which makes a run ten times as long and finds nothing in one that it does not find in its
// neighbours, gets one in Stride. Sample draws points, and lets all messages be late by random times at once.
package faulttest
