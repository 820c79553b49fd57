// Package checkpoint keeps the state of a running loop on disk: a folder with the two newest generations, of which a restart
// finds the newest good one, whatever moment the writing was interrupted at.
//
//	DIR/
//	  lock                     held while a run writes here
//	  gen-00000007/            a generation: complete as soon as it has this name
//	    part-00000 ...         the rows that each rank owned, and nothing else
//	    manifest               JSON: what it belongs to, the step, where in which part which rows lie, checksums; then its own
//	  gen-00000008/
//	  gen-00000009.part/       being written, or left by a run that was killed: never read, removed by the next run
//
// # Writing
//
// Every rank writes its part into the folder that ends in .part and brings it to the disk; rank 0 then looks whether all parts
// are there, writes the manifest, brings it and the folder to the disk, and renames the folder, which is one step for
// everybody who looks. Only then is the generation before the last one removed. So at each moment there is at least one complete
// generation, once the first has been written:
//
//	ranks    CreatePart, Begin, Write ..., Close (fsync)
//	rank 0                                           Commit: manifest, fsync, rename, fsync | remove older ones
//	good     g-1, g ................................................................. g, g+1
//
// # Reading
//
// Read checks a manifest, CheckPart one part: ranks share that work, as they share writing. What does not agree with its
// checksum is an error that says which file, and the generation before it is there still. Rows are found by their index, so they may be
// read by any number of ranks.
//
// # Units and invariants
//
// Lengths and offsets are bytes. Checksums are CRC-64 (ECMA), which finds damage and not malice. Numbers of generations only
// grow. All ranks must see the folder under the same name.
//
// # What it does not do
//
// It sends no messages and knows no loops: who writes what, and when, is decided in package loops. It does not compress, and
// it converts no byte order: rows are the bytes that they are in memory.
package checkpoint
