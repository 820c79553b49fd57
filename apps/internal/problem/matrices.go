package problem

// Streams keep the plate and the two matrices independent of each other. The numbers mean nothing.
const (
	plateStream uint64 = 0x5eed_0001
	aStream     uint64 = 0x5eed_000a
	bStream     uint64 = 0x5eed_000b
)

// A is the entry in row i and column j of the left factor, a matrix with cols columns; in [-1, 1).
func A(i, j, cols int) float64 { return uniform(aStream, uint64(i)*uint64(cols)+uint64(j)) }

// B is the entry in row i and column j of the right factor, a matrix with cols columns; in [-1, 1).
func B(i, j, cols int) float64 { return uniform(bStream, uint64(i)*uint64(cols)+uint64(j)) }

// uniform is the index-th number of a stream, uniform in [-1, 1): a multiple of 2^-52.
func uniform(stream, index uint64) float64 {
	return float64(splitMix64(splitMix64(stream)+index)>>11)*0x1p-52 - 1
}

// splitMix64 is the output of SplitMix64 (Steele, Lea & Flood 2014, Fast splittable pseudorandom number generators) in
// the state x.
func splitMix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
