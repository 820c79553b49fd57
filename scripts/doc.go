// Package scripts holds the shell scripts behind the Makefile and the tests of them. It has no code of its own.
//
//	setup.sh      checks for Open MPI and installs it on Debian and Ubuntu
//	env.sh        tells cgo where Open MPI is; sourced
//	run-demo.sh   make run: eight ranks, one of which is disturbed for a while
//	pairs.sh      what balancing gains beside a competing load: ratios of interleaved runs
//	lab/          one machine as a cluster of workstations; in Go
package scripts
