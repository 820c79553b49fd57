// Package openblas is OpenBLAS's dgemm for package kernel, in programs that are built with the tag openblas, and says which of its
// kernels it has chosen. Without the tag there is nothing here, and nobody needs the library or cgo for it.
//
// It is the one place beside comm/mpi that may use cgo. It declares the five functions that it calls by itself, so that the
// build needs no header: those of the common build with 32-bit integers, called openblas (apt-get install libopenblas-dev).
//
// # One thread
//
// A rank has one core. Before the first product OpenBLAS is told to use one thread; its others sleep from then on. Products of
// different goroutines may run at once.
//
// # The kernel
//
// OpenBLAS knows processors by name and takes a slower kernel for one that is newer than itself: 0.3.21 runs AVX2 code where
// AVX-512 has twice the speed, and other versions SSE3 code. Kernel names the choice and Slow says what to do about it. The
// variable OPENBLAS_CORETYPE, set before the program starts, overrides the choice.
//
// # What it does not do
//
// The bits of a row of the product may depend on how many rows are computed with it: kernels for the last rows of a block add
// in another order.
package openblas
