// Package gridfile reads and writes matrices of float64 as NumPy .npy files, by rows: every rank touches only the rows
// that it owns.
//
// A .npy file is a header, padded to a multiple of 64 bytes, and the values:
//
//	\x93NUMPY 1 0 <len> {'descr': '<f8', 'fortran_order': False, 'shape': (rows, cols), } ... \n
//	row 0: cols x 8 bytes, little endian
//	row 1
//	...
//
// (NumPy Enhancement Proposal 1). Accepted are little-endian float64 in C order with two dimensions, of exactly the size
// that the header promises. The header is read by npyio; it is written by hand, in version 1.0 and aligned as NumPy does
// it, because npyio writes a header only together with data that one process holds, and several ranks write here.
//
// Output appears whole or not at all. One rank creates a temporary file of full size beside the target; all ranks open
// it and write their rows; when they are done, the one rank renames it:
//
//	rank 0     Create ──┐             ┌── Commit
//	all ranks           └─ OpenOutput, WriteRows, Close ─┘      (a barrier at each corner)
//
// # Invariants
//
// Rows are written at their own offsets, so the order of the writers does not matter. A file that existed at the target
// is replaced by Commit only and untouched by Abort. Each error is one line that names the path, what was found and what
// is accepted.
//
// # What it does not do
//
// It does not synchronise the ranks, and on several machines the folder must be on a file system that all of them see.
// It does not convert other types, orders or numbers of dimensions.
package gridfile
