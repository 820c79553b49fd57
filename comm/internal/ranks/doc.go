// Package ranks holds what the transports share that run all ranks as goroutines of one process: which arguments
// are refused, and how the end of a rank (a return, a panic, a runtime.Goexit) becomes an error.
//
// Such a transport releases a rank that must not go on with runtime.Goexit: deferred functions run, and no recover of
// the program's own can mistake it for a panic.
package ranks
