/* OpenBLAS's dgemm by itself, on one thread: what bench blas holds mm against.
 *
 *	dgemm-c ROWS INNER REPETITIONS
 *
 * multiplies ROWS x INNER by INNER x INNER. Pages are touched, and the library is ready, before the clock starts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void openblas_set_num_threads(int n);
void cblas_dgemm(int order, int transA, int transB, int m, int n, int k, double alpha, const double *a, int lda,
	const double *b, int ldb, double beta, double *c, int ldc);

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "dgemm-c: ROWS INNER REPETITIONS\n");
		return 2;
	}
	long rows = atol(argv[1]), n = atol(argv[2]), repetitions = atol(argv[3]);
	double *a = malloc(sizeof *a * rows * n), *b = malloc(sizeof *b * n * n), *c = malloc(sizeof *c * rows * n);
	for (long i = 0; i < rows * n; i++)
		a[i] = i % 7 - 3, c[i] = 0;
	for (long i = 0; i < n * n; i++)
		b[i] = i % 5 - 2;
	openblas_set_num_threads(1);
	double one[1] = {1}, product[1];
	cblas_dgemm(101, 111, 111, 1, 1, 1, 1, one, 1, one, 1, 0, product, 1);
	double began = now();
	for (long r = 0; r < repetitions; r++)
		cblas_dgemm(101, 111, 111, rows, n, n, 1, a, n, b, n, 0, c, n);
	printf("result: app=dgemm-c n=%ld m=%ld repeat=%ld time_s=%.6f\n", rows, n, repetitions, now() - began);
	return 0;
}
