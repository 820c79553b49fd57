//go:build cgo && !nompi

/* The non-blocking half of MPI, which gompi does not wrap, on a communicator of our own, with waits that sleep. */

#define _GNU_SOURCE
#include "nonblocking.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

static MPI_Comm comm = MPI_COMM_NULL;
/* How long a wait spins before it sleeps, or, where ranks share cores, lets others have the core; sw_spin sets both. */
static long long spin_ns = 50 * 1000;
static bool sharing;
/* How to wait: SW_AUTO, but for experiments. */
static int how = SW_AUTO;

enum {
	YIELD_NS = 2000 * 1000, /* how long a wait lets others have a shared core before it sleeps */
	FOREIGN_NS = 5000 * 1000, /* longer than a rank that has been let in keeps the core: its slices are short (slice_linux.go) */
	DISTRUST_NS = 250 * 1000 * 1000, /* for how long nobody is let in after somebody kept the core */
	SLEEP_MIN_NS = 20 * 1000,
	SLEEP_SHORT_NS = 250 * 1000, /* the longest sleep of waits up to LONG_WAIT_NS: in a pipeline late wake-ups add up, rank by rank */
	LONG_WAIT_NS = 40 * 1000 * 1000,
	SLEEP_MAX_NS = 2000 * 1000, /* of longer ones: some hundred wake-ups a second, about 1% of a core */
	POLLS = 32, /* of one call: 5 µs through shared memory, 0.1 ms over TCP; a multiple of 8 */
	PIECE = 256 * 1024, /* bytes: long messages travel in pieces of this size */
	/*
	 * Of a long message a few pieces are under way at a time, and go on only when both sides poll. So waits sleep as shortly as they can for as long as
	 * it takes at 100 MB/s, which a machine that has its core reaches, and not long after that: the other side may only have come then.
	 */
	NS_PER_BYTE = 10
};

static long long now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/*
 * Where ranks share cores the one that is waited for may want this one. A yield hands the core over at once, to whoever is next: to a rank,
 * or to somebody else's process, which keeps it for a slice of some milliseconds; a sleeper gets it back sooner. So yields are given up for a
 * while where one has lasted long. Returns whether the core was left.
 */
static int let_others_in(sw_waiter *w)
{
	static long long distrusted_until;
	long long before = now_ns();
	if (w->began == 0)
		w->began = before;
	if (before - w->began > YIELD_NS || before < distrusted_until)
		return 0;
	sched_yield();
	long long after = now_ns();
	if (after - before > FOREIGN_NS)
		distrusted_until = after + DISTRUST_NS;
	return 1;
}

/* What happens between two polls that found nothing. Returns whether this call should poll again. */
static bool poll_again(sw_waiter *w)
{
	bool slept = w->sleep > 0;
	w->sleep = 0;
	w->polls++;
	bool soon = w->polls % POLLS != 0;
	if (how == SW_SPIN)
		return soon;
	if (how == SW_YIELD) {
		sched_yield();
		return false;
	}
	if (sharing && how == SW_AUTO && let_others_in(w))
		return false;
	/* Reading the clock costs a third of a poll: look at it every eighth time while spinning. After a sleep one poll is enough. */
	if (w->polls % 8 != 0 && !slept)
		return soon;
	long long now = now_ns();
	if (w->began == 0)
		w->began = now;
	long long waited = now - w->began;
	if (waited < spin_ns && how != SW_SLEEP)
		return soon;
#ifdef __linux__
	/* The default timer slack of 50 µs would more than triple the shortest sleep. It is a property of the thread. */
	static __thread int slack_set;
	if (!slack_set) {
		prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
		slack_set = 1;
	}
#endif
	long long sleep = waited / 8;
	if (sleep < SLEEP_MIN_NS)
		sleep = SLEEP_MIN_NS;
	long long most = waited < LONG_WAIT_NS || w->bytes > PIECE ? SLEEP_SHORT_NS : SLEEP_MAX_NS;
	if (waited < w->bytes * NS_PER_BYTE)
		most = SLEEP_MIN_NS;
	if (sleep > most)
		sleep = most;
	w->sleep = sleep;
	return false;
}

static void fill(sw_status *out, MPI_Status *in)
{
	out->source = in->MPI_SOURCE;
	out->tag = in->MPI_TAG;
	MPI_Count bytes;
	MPI_Get_elements_x(in, MPI_BYTE, &bytes);
	out->len = bytes;
}

/*
 * MPI counts in ints. So many bytes as do not fit one are one element of a type of that length, which the caller frees: MPI keeps it for as long as it needs it. Such a message
 * matches a receive that is described otherwise: both are of bytes.
 */
static int describe(long long len, int *count, MPI_Datatype *type)
{
	enum { PART = 1 << 20 };
	*count = (int)len;
	*type = MPI_BYTE;
	if (len <= INT_MAX)
		return MPI_SUCCESS;
	*count = 1;
	int lengths[] = {(int)(len / PART), (int)(len % PART)};
	MPI_Aint places[] = {0, (MPI_Aint)(len - len % PART)};
	MPI_Datatype part, types[] = {MPI_DATATYPE_NULL, MPI_BYTE};
	int code = MPI_Type_contiguous(PART, MPI_BYTE, &part);
	if (code != MPI_SUCCESS)
		return code;
	types[0] = part;
	code = MPI_Type_create_struct(2, lengths, places, types, type);
	MPI_Type_free(&part);
	return code == MPI_SUCCESS ? MPI_Type_commit(type) : code;
}

static void forget(MPI_Datatype *type)
{
	if (*type != MPI_BYTE)
		MPI_Type_free(type);
}

/*
 * MPICH asks the handler of MPI_COMM_WORLD about errors that a test finds, whichever communicator the request is of, and
 * the default one ends the job. Ours ends it as well, but for our own tests: these return the error. A handler that the
 * program has chosen stays.
 */
#ifndef OPEN_MPI
static int testing;

static void world_error(MPI_Comm *world, int *code, ...)
{
	if (testing)
		return;
	char text[256];
	sw_error_text(*code, text, sizeof text);
	fprintf(stderr, "MPI: %s\n", text);
	MPI_Abort(*world, *code);
}

static int keep_errors_of_tests(void)
{
	MPI_Errhandler handler;
	int code = MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
	if (code != MPI_SUCCESS || handler != MPI_ERRORS_ARE_FATAL)
		return code;
	code = MPI_Comm_create_errhandler(world_error, &handler);
	return code == MPI_SUCCESS ? MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) : code;
}
#define OUR_TEST(call) (testing = 1, code = (call), testing = 0, code)
#else
static int keep_errors_of_tests(void) { return MPI_SUCCESS; }
#define OUR_TEST(call) (call)
#endif

/*
 * MPICH puts a handler of its own for SIGUSR1 in place of Go's while it starts. It runs on the stack that is interrupted,
 * not on the one for signals, and calls Go's from there, which ends the program if that was a goroutine's stack: a warning
 * of the batch system kills the run now and then. So signals that had a handler before have it again.
 */
enum { SIGNALS = 64 };
static struct sigaction handlers[SIGNALS + 1];

static void keep_handlers(void)
{
	for (int s = 1; s <= SIGNALS; s++)
		if (sigaction(s, NULL, &handlers[s]) != 0)
			handlers[s].sa_handler = SIG_DFL;
}

static void restore_handlers(void)
{
	for (int s = 1; s <= SIGNALS; s++) {
		struct sigaction now;
		if (handlers[s].sa_handler == SIG_DFL || handlers[s].sa_handler == SIG_IGN || sigaction(s, NULL, &now) != 0)
			continue;
		if (now.sa_handler != handlers[s].sa_handler)
			sigaction(s, &handlers[s], NULL);
	}
}

int sw_start(int *provided, int wait)
{
	int code, on;
	how = wait;
	MPI_Initialized(&on);
	/*
	 * Open MPI 4.1's single-copy receive over shared memory (CMA) writes a message that is longer than the
	 * receive buffer past its end before it reports the truncation. Copying through shared memory does not, and was
	 * as fast where we measured it. Whoever wants CMA back sets the variable.
	 */
	setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
	/*
	 * A message above the eager limit needs the sender's help to arrive, which it cannot give while it computes: a
	 * strip of 1000 columns (8 kB) above the default of 4 kB cost a pipeline of two ranks a third of its speed. This is the limit of TCP.
	 */
	setenv("OMPI_MCA_btl_vader_eager_limit", "65536", 0);
	/*
	 * Where such messages lie until they are received. By default there is room for some 40 of them, and in the queue of each pair
	 * for 130; more wait for the sender's help after all, and a rank with that many on their way, a lean ahead of its
	 * neighbour, held it up until its own next strip was computed. This is room for 250 and more. Pages that are not used take no memory.
	 */
	setenv("OMPI_MCA_btl_vader_segment_size", "33554432", 0);
	setenv("OMPI_MCA_btl_vader_fbox_size", "16384", 0);
	/* The size of pieces is 32 KiB by default; fewer, longer ones halved the time of a shift. */
	char piece[16];
	snprintf(piece, sizeof piece, "%d", PIECE);
	setenv("OMPI_MCA_btl_vader_max_send_size", piece, 0);
	/*
	 * With mpi_yield_when_idle, which mpirun also sets by itself when there are more ranks than cores, each
	 * poll that finds nothing calls sched_yield, and on Linux that gives the rest of the slice, some
	 * milliseconds, to whoever competes. Our waits decide for themselves when to leave the core.
	 */
	if (how != SW_BLOCK)
		setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
	if (on) {
		code = MPI_Query_thread(provided);
	} else {
		/* Goroutines move between threads, but one at a time calls MPI. */
		keep_handlers();
		code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, provided);
		restore_handlers();
	}
	if (code != MPI_SUCCESS)
		return code;
	code = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	if (code != MPI_SUCCESS)
		return code;
	code = keep_errors_of_tests();
	if (code != MPI_SUCCESS)
		return code;
	return MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

void sw_spin(long long ns, bool shared)
{
	spin_ns = ns;
	sharing = shared;
}

/*
 * The ranks on this machine, the sum of their shares of a processor, and the cores that they may use together; 0 cores where that cannot be
 * told. Ranks with the same number machine, at least 0, are on one machine, although MPI does not know it if they are in containers. If some
 * rank has none, -1, MPI says who is on one.
 */
int sw_neighbours(int machine, double share, int *ranks, int *cores, double *shares)
{
	*ranks = 1;
	*cores = 0;
	*shares = share;
	MPI_Comm local;
	int known, code = MPI_Allreduce(&machine, &known, 1, MPI_INT, MPI_MIN, comm);
	if (code == MPI_SUCCESS)
		code = known >= 0 ? MPI_Comm_split(comm, machine, 0, &local)
		                  : MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
	if (code != MPI_SUCCESS)
		return code;
	code = MPI_Comm_size(local, ranks);
	if (code == MPI_SUCCESS)
		code = MPI_Allreduce(&share, shares, 1, MPI_DOUBLE, MPI_SUM, local);
#ifdef __linux__
	if (code == MPI_SUCCESS) {
		cpu_set_t own, all;
		CPU_ZERO(&own);
		CPU_ZERO(&all);
		if (sched_getaffinity(getpid(), sizeof own, &own) != 0)
			CPU_ZERO(&own);
		code = MPI_Allreduce(&own, &all, sizeof own, MPI_BYTE, MPI_BOR, local);
		*cores = CPU_COUNT(&all);
	}
#endif
	MPI_Comm_free(&local);
	return code;
}

int sw_node(int *node)
{
	MPI_Comm local;
	int rank, code = MPI_Comm_rank(comm, &rank);
	if (code == MPI_SUCCESS)
		code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
	if (code != MPI_SUCCESS)
		return code;
	code = MPI_Allreduce(&rank, node, 1, MPI_INT, MPI_MIN, local);
	MPI_Comm_free(&local);
	return code;
}

int sw_isend(const void *buf, long long len, int to, int tag, MPI_Request *req, int *done)
{
	MPI_Datatype type;
	int count, code = describe(len, &count, &type);
	*done = 0;
	if (code != MPI_SUCCESS)
		return code;
	code = MPI_Isend(buf, count, type, to, tag, comm, req);
	forget(&type);
	if (code != MPI_SUCCESS)
		return code;
	/* A small message has left already: save the caller a second call. */
	return OUR_TEST(MPI_Test(req, done, MPI_STATUS_IGNORE));
}

int sw_irecv(void *buf, long long len, int from, int tag, MPI_Request *req)
{
	MPI_Datatype type;
	int count, code = describe(len, &count, &type);
	if (code != MPI_SUCCESS)
		return code;
	code = MPI_Irecv(buf, count, type, from, tag, comm, req);
	forget(&type);
	return code;
}

int sw_test(MPI_Request *req, int *done, sw_status *st)
{
	MPI_Status s;
	s.MPI_ERROR = MPI_SUCCESS;
	int code = OUR_TEST(MPI_Test(req, done, &s));
	if (code == MPI_SUCCESS && *done)
		fill(st, &s);
	return code;
}

int sw_wait_any(int n, MPI_Request *reqs, sw_waiter *w, int *done, int *index, sw_status *st)
{
	MPI_Status s;
	int code;
	*index = -1; /* an error may be of none in particular */
	if (how == SW_BLOCK) {
		*done = 1;
		code = OUR_TEST(MPI_Waitany(n, reqs, index, &s));
		if (code == MPI_SUCCESS)
			fill(st, &s);
		return code;
	}
	do {
		code = OUR_TEST(MPI_Testany(n, reqs, index, done, &s));
		if (code != MPI_SUCCESS)
			return code;
		if (*done) {
			fill(st, &s);
			return MPI_SUCCESS;
		}
	} while (poll_again(w));
	return MPI_SUCCESS;
}

int sw_probe(int from, int tag, sw_waiter *w, int *found, sw_status *st)
{
	MPI_Status s;
	int code;
	do {
		if (w != NULL && how == SW_BLOCK) {
			*found = 1;
			code = MPI_Probe(from, tag, comm, &s);
		} else {
			code = MPI_Iprobe(from, tag, comm, found, &s);
		}
		if (code != MPI_SUCCESS)
			return code;
		if (*found) {
			fill(st, &s);
			return MPI_SUCCESS;
		}
	} while (w != NULL && poll_again(w));
	return MPI_SUCCESS;
}

int sw_any_source(void) { return MPI_ANY_SOURCE; }

int sw_is_truncation(int code)
{
	int class = code;
	MPI_Error_class(code, &class);
	return class == MPI_ERR_TRUNCATE;
}

void sw_error_text(int code, char *text, int size)
{
	char full[MPI_MAX_ERROR_STRING + 1];
	int len = 0;
	MPI_Error_string(code, full, &len);
	full[len] = 0;
	strncpy(text, full, size - 1);
	text[size - 1] = 0;
}

void sw_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }
