/*
 * C = A B as one writes it in C and MPI: static blocks of rows, three loops in the order i, k, j, whose innermost one the
 * compiler turns into vectors. mm's rival in bench c.
 *
 *	mpirun -np 2 mm-c ROWS REPETITIONS [OUTPUT]
 *
 * A and B are those that mm makes up. OUTPUT gets C without a header.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static double uniform(uint64_t stream, uint64_t index) { return (double)(mix(mix(stream) + index) >> 11) * 0x1p-52 - 1; }

static void multiply(int rows, int n, const double *restrict a, const double *restrict b, double *restrict c)
{
	memset(c, 0, sizeof *c * rows * n);
	for (int i = 0; i < rows; i++)
		for (int k = 0; k < n; k++) {
			double x = a[(long)i * n + k];
			for (int j = 0; j < n; j++)
				c[(long)i * n + j] += x * b[(long)k * n + j];
		}
}

int main(int argc, char **argv)
{
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc < 3) {
		fprintf(stderr, "mm-c: ROWS REPETITIONS [OUTPUT]\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	int n = atoi(argv[1]), repetitions = atoi(argv[2]);
	int first = (long)n * rank / size, rows = (long)n * (rank + 1) / size - first;
	double *a = malloc(sizeof *a * rows * n), *b = malloc(sizeof *b * n * n), *c = malloc(sizeof *c * rows * n);
	for (long i = 0; i < (long)rows * n; i++) {
		a[i] = uniform(0x5eed000a, (uint64_t)first * n + i);
		c[i] = 0; /* its pages are there before the clock starts */
	}
	for (long i = 0; i < (long)n * n; i++)
		b[i] = uniform(0x5eed000b, i);

	MPI_Barrier(MPI_COMM_WORLD);
	double began = MPI_Wtime();
	for (int r = 0; r < repetitions; r++)
		multiply(rows, n, a, b, c);
	MPI_Barrier(MPI_COMM_WORLD);
	double took = MPI_Wtime() - began;

	if (argc > 3)
		for (int r = 0; r < size; r++) {
			if (r == rank) {
				FILE *f = fopen(argv[3], rank ? "ab" : "wb");
				if (!f || fwrite(c, sizeof *c * n, rows, f) != (size_t)rows)
					MPI_Abort(MPI_COMM_WORLD, 1);
				fclose(f);
			}
			MPI_Barrier(MPI_COMM_WORLD);
		}
	if (rank == 0)
		printf("result: app=mm-c n=%d repeat=%d ranks=%d time_s=%.6f\n", n, repetitions, size, took);
	MPI_Finalize();
	return 0;
}
