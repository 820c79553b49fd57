// Package recording reads what the programs write for --record (hooks.JSONL): a first line that says what it is, then events.
//
//	{"schema":"shiftwork","version":2}
//	start     configuration, loop
//	decision  statuses, decision
//	...
//	end       report
//
// A recording is read once, line by line. A last line that is cut off, because the run was killed, ends it.
package recording
