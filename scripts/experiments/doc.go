// Command experiments measures what the paper's section on results measures, and what goes beyond it, on one machine; writes
// CSV; draws it in the paper's form; and fills the tables of docs/evaluation.md.
//
//	make evaluation EVALUATION=--fresh       everything: measure, draw, fill in; without --fresh what is missing
//	build/experiments --list                 the parts, and how long each takes
//	build/experiments --part slow --fresh    one part, anew
//	build/experiments --fresh --budget 20    everything, anew and shorter
//	build/experiments --draw                 only figures and tables, from what has been measured
//	build/experiments --together --data DIR  runs what is compared at the same time: for a host that others use as well
//
// # How it is made
//
//	part       a figure, or a question: a list of cells
//	cell       a program of a size, in a place (workstations, quota period, network), with so many rounds
//	variant    what differs between the runs of a cell: flags, loads. The variants of a round run one after the other, each
//	           round in another order, so that a drift of the machine's speed favours nobody; or at the same time (--together)
//
//	sizes.csv ──> iterations     CPU seconds of an iteration, measured first: runs are as long as planned on any machine
//	run ────────> runs.csv       one line a run, written when it has ended; what is there is not run again
//	     ├──────> traces.csv     per rank and interaction: rates, shares, compute, wait, move (runs that are traced)
//	     └──────> curves.csv     predicted times by block size
//	*.csv ──────> figures (PNG and SVG), tables between the markers of the document
//
// Loads are scaled by the balancing period: ten quanta in the paper (1.0 s of 100 ms), ten quota periods here (100 ms of 10
// ms). A load cycle of 60 s is 60 periods in both, one of 20 s 20 periods.
//
// # Units
//
// Seconds, unless a name says otherwise; shares of one CPU.
//
// # What it does not do
//
// It does not judge noise: five runs give a median, and minimum and maximum stand beside it. Only what is compared to a hundredth goes on until its median is known, and promised loads, where the budget leaves no round out, until the share that is removed is.
// It does not know whether others use the machine, or its host: a neighbour on the same core takes the caches and the vector units for a second or a
// minute, runs take up to half as long again, and no counter tells. One after the other, they disturb all figures. With --together
// they meet all that is compared alike; where CPUs are too few for both, everything is in slow motion: half of the shares, with quota periods, loads and messages that take twice as long (the former a little more,
// or application and load would divide every quota at the same tick of the kernel).
package main
