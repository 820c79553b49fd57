#ifndef SHIFTWORK_NONBLOCKING_H
#define SHIFTWORK_NONBLOCKING_H

#include <mpi.h>
#include <stdbool.h>

/* What a finished operation or a probe tells. */
typedef struct {
	int source, tag;
	long long len; /* bytes */
} sw_status;

/* One wait: all zero but for bytes before the first call, and kept between calls. */
typedef struct {
	long long bytes; /* of the longest of the messages, or of the room for it */
	long long began; /* 0: nothing polled yet */
	int polls;
	long long sleep; /* what the caller should do before the next call: sleep so many ns; 0: nothing */
} sw_waiter;

/* How to wait for messages: doc.go has a picture of SW_AUTO, and says what the others are for. */
enum { SW_AUTO, SW_SPIN, SW_YIELD, SW_SLEEP, SW_BLOCK };

/* Each function returns MPI_SUCCESS or MPI's error code. */
int sw_start(int *provided, int wait);
void sw_spin(long long ns, bool shared);
int sw_neighbours(int machine, double share, int *ranks, int *cores, double *shares);
/* node is the least rank of those that share memory with this one, as MPI sees it. */
int sw_node(int *node);
int sw_isend(const void *buf, long long len, int to, int tag, MPI_Request *req, int *done);
int sw_irecv(void *buf, long long len, int from, int tag, MPI_Request *req);
int sw_test(MPI_Request *req, int *done, sw_status *st);
/*
 * Both return soon, with done or found 0 where nothing has come yet (but for SW_BLOCK): the caller then sleeps, as w says, and calls again. It does that in Go because a call into C that lasts costs
 * more there (monitor.go). sw_probe with no w just looks.
 */
int sw_wait_any(int n, MPI_Request *reqs, sw_waiter *w, int *done, int *index, sw_status *st);
int sw_probe(int from, int tag, sw_waiter *w, int *found, sw_status *st);
int sw_any_source(void);
int sw_is_truncation(int code);
void sw_error_text(int code, char *text, int size);
void sw_abort(int code);

#endif
