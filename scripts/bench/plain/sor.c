/*
 * Successive over-relaxation as one writes it in C and MPI: static blocks of rows, a pipeline over strips of columns, plain
 * loops. sor's rival in bench c.
 *
 *	mpirun -np 2 sor-c ROWS COLUMNS SWEEPS OMEGA BLOCK INPUT.npy [OUTPUT]
 *
 * Sweeps stream, as in ours: a strip waits for its upper neighbour's strip of this sweep and its lower neighbour's of the sweep
 * before. OUTPUT gets the grid without a header.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void relax(double *u, int m, int rows, int lo, int hi, double quarter, double keep)
{
	for (int j = 1; j <= rows; j++)
		for (int i = lo; i < hi; i++) {
			double *p = u + (long)j * m + i;
			*p = quarter * (((p[-m] + p[m]) + p[1]) + p[-1]) + keep * *p;
		}
}

static void must(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "sor-c: %s\n", what);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

int main(int argc, char **argv)
{
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	must(argc >= 7, "ROWS COLUMNS SWEEPS OMEGA BLOCK INPUT.npy [OUTPUT]");
	int n = atoi(argv[1]), m = atoi(argv[2]), sweeps = atoi(argv[3]), block = atoi(argv[5]);
	double omega = atof(argv[4]), quarter = omega / 4, keep = 1 - omega;
	int first = 1 + (long)(n - 2) * rank / size, end = 1 + (long)(n - 2) * (rank + 1) / size, rows = end - first;
	int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;

	/* Rows first-1 to end of the grid; the file's header has its length in bytes 8 and 9. */
	double *u = malloc((size_t)(rows + 2) * m * sizeof *u);
	unsigned char head[10];
	FILE *f = fopen(argv[6], "rb");
	must(f && fread(head, 1, 10, f) == 10, "no input");
	fseek(f, 10 + head[8] + 256 * head[9] + (long)(first - 1) * m * sizeof *u, SEEK_SET);
	must(fread(u, sizeof *u, (size_t)(rows + 2) * m, f) == (size_t)(rows + 2) * m, "the input is too short");
	fclose(f);

	int strips = (m - 2 + block - 1) / block;
	MPI_Request *sent = malloc(2 * strips * sizeof *sent);
	for (int s = 0; s < 2 * strips; s++)
		sent[s] = MPI_REQUEST_NULL;
	double *top = u + m, *bottom = u + (long)rows * m;

	MPI_Barrier(MPI_COMM_WORLD);
	double began = MPI_Wtime();
	for (int t = 0; t < sweeps; t++)
		for (int s = 0; s < strips; s++) {
			int lo = 1 + s * block, hi = lo + block < m - 1 ? lo + block : m - 1;
			MPI_Recv(top - m + lo, hi - lo, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			if (t > 0)
				MPI_Recv(bottom + m + lo, hi - lo, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Waitall(2, sent + 2 * s, MPI_STATUSES_IGNORE); /* of the last sweep: these rows are written now */
			relax(u, m, rows, lo, hi, quarter, keep);
			MPI_Isend(bottom + lo, hi - lo, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, sent + 2 * s);
			if (t < sweeps - 1)
				MPI_Isend(top + lo, hi - lo, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, sent + 2 * s + 1);
		}
	MPI_Waitall(2 * strips, sent, MPI_STATUSES_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	double took = MPI_Wtime() - began;

	if (argc > 7)
		for (int r = 0; r < size; r++) { /* one after the other */
			if (r == rank) {
				f = fopen(argv[7], rank ? "ab" : "wb");
				int from = rank ? 1 : 0, to = rank < size - 1 ? rows : rows + 1;
				must(f && fwrite(u + (long)from * m, sizeof *u * m, to - from + 1, f) == (size_t)(to - from + 1), "no output");
				fclose(f);
			}
			MPI_Barrier(MPI_COMM_WORLD);
		}
	if (rank == 0)
		printf("result: app=sor-c n=%d m=%d iterations=%d ranks=%d block=%d time_s=%.6f\n", n, m, sweeps, size, block, took);
	MPI_Finalize();
	return 0;
}
