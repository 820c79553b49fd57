// Command load is the competing load: a program that takes the processor from another one, as another user of the
// workstation would.
//
//	load --on 1s --off 1s --for 30s
//
// computes for --on, sleeps for --off, and repeats, until --for is over or SIGTERM, SIGINT or SIGHUP comes:
//
//	busy  ██████      ██████      ██████
//	      |-on-|-off-|
//
// With --off 0s, the default, it computes all the time. Then it prints one line,
//
//	load: cpu_s=12.345 elapsed_s=24.680
//
// the CPU seconds (user and system, getrusage) and the wall-clock seconds that it ran. The first says how much it really
// took, which is what a measurement must compare with: on a shared core that is less than --on promises.
//
// It computes on one thread, touches little memory and so competes for the core and not for caches or memory bandwidth.
// Periods are wall-clock: a load that waits for the core is in its busy part. To place it on a core, start it under
// taskset.
package main
