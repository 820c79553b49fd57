// Package scripts holds the shell scripts behind the Makefile and the tests of them. It has no code of its own.
//
//	setup.sh      checks for Open MPI and installs it on Debian and Ubuntu
//	env.sh        tells cgo where Open MPI is; sourced
//	run-demo.sh   make run: eight ranks, one of which is disturbed for a while
//	pairs.sh      what balancing gains beside a competing load: ratios of interleaved runs
//	setup-openblas.sh  checks for OpenBLAS and installs it, for programs that are built with the tag openblas
//	browser.sh    checks for a browser and installs it, for make test-browser
//	bench/        the programs against what they are held against: C, MPI's waits, OpenBLAS; in Go
//	lab/          one machine as a cluster of workstations; in Go
//	experiments/  the evaluation: measures, draws, tabulates; in Go
//	killing/      kills, or stops and continues, ranks of running jobs at random moments; in Go
//	soak/         half an hour of work that moves under random loads: memory and result; in Go
package scripts
