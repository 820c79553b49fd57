// Package checksum condenses a result of float64 values to 16 hexadecimal digits that two runs can be compared by.
//
// Rows are hashed one by one, by whoever holds them, and then the hashes of the rows in their order:
//
//	row hash = first 64 bits of SHA-256(the row's values, 8 bytes each, little endian)
//	checksum = first 64 bits of SHA-256(row hash 0, row hash 1, ..., 8 bytes each, little endian)
//
// so 8 bytes a row travel to one rank, not the row. The checksum depends on every bit and on the order of values and
// rows (0 and -0 differ), and on nothing else: not on the number of ranks, the distribution or the machine.
//
// SHA-256 because processors have instructions for it; on those that lack them it is still faster than a disk.
//
// It is no protection against forgery: 64 bits are few, and nobody is kept from computing it.
package checksum
