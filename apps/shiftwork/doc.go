// Command shiftwork is the tool beside the library.
//
//	shiftwork hooks ./path      where the hook goes in loops that are marked //shiftwork:distribute
//	shiftwork report run.jsonl  a page of a recorded run, for a browser
//	shiftwork replay run.jsonl  the decisions of a recorded run again, or with other settings
//
// It needs neither MPI nor cgo. Exit codes: 0 done, 1 failed, 2 usage or input that is not accepted, with one line
// that says what, where and what is accepted.
//
// Each verb is a struct with kong's tags and a method Run, in a file of its own; main.go lists them.
package main
