// Command lab makes one Linux machine a cluster of workstations of different speeds, runs an MPI program on it beside
// competing loads, and says what the loads cost and what balancing gained.
//
//	go run ./scripts/lab --workstations 4 --cpu 0.4 --load 'ws=0 on=2s off=2s' -- ./sor --n 4000 --iterations 400
//	go run ./scripts/lab --workstations 4 --cpu 0.4 --load ws=0 --compare 5 -- ./sor --n 4000 --iterations 400
//
// It prints the program's output, a line for each workstation, and a line with the figures of the run:
//
//	workstation: ws=0 cpu=0.4 speed=1 app_cpu_s=2.268 load_cpu_s=3.823 compete_s=8.881 master_cpu_s=0.036 ...
//	lab: workstations=4 cpus=1.6 period_s=0.01 ... time_s=14.46 sequential_s=27.46 efficiency=0.5608 ...
//
// With --json it prints one JSON object instead, and the program's output goes to standard error. Times are seconds.
//
// Exit codes: 0 done; the program's own, if it failed; 1 the lab failed or was interrupted; 2 refused.
//
// The README beside it tells what is emulated and what is not. The mechanics are package cluster, the figures package
// measure; both serve other experiments as well.
package main
