#!/usr/bin/env bash
# make run: eight ranks relax the heat plate while ./load runs twice beside the last one for a third of the time. Watch its
# iterations go to its neighbours and come back. Then a shorter run, in which rows move all the time, is compared with a serial one, bit for
# bit: the serial reference is one plain loop on one core, so comparing all of the long run would take many times as long. It is over too
# soon for much balancing, so its rows move at random.
#
# What disturbs exactly one rank? A load competes with whatever shares its core. So rank 7 gets a core that no other rank
# uses, and the load is put on that core:
#
#	8 cores or more    rank r on core r, ./load on rank 7's core: it falls to a third of its speed
#	2 to 7 cores       rank 7 alone on the last core, the others share the rest: it starts out faster than they are, which
#	                   the balancer finds out, and then falls to a third of its speed
#	1 core             nothing can be placed: the load slows every rank, and little work should move
#
# mpirun starts each rank through this script (see "pin" below), because its own binding refuses more ranks than cores and
# cannot put them unevenly. DEMO_N (points each way), DEMO_SECONDS and DEMO_ARGS (more flags of sor) change the run.
# All of it takes about 30 s, on 2 cores as on 8.
set -euo pipefail
cd "$(dirname "$0")/.."

ranks=8
disturbed=$((ranks - 1))

# cores prints the cores that this process may use, one a line; nothing where they cannot be told.
cores() {
	command -v taskset >/dev/null 2>&1 || return 0
	taskset -cp $$ 2>/dev/null | sed 's/.*: //' | tr ',' '\n' | while IFS=- read -r first last; do
		seq "$first" "${last:-$first}"
	done
}

# run-demo.sh pin PROGRAM ARGS...: becomes the program, on the cores in DEMO_OTHERS or, for the disturbed rank, DEMO_LAST.
if [ "${1:-}" = pin ]; then
	shift
	rank=${OMPI_COMM_WORLD_RANK:-0}
	if [ -z "${DEMO_LAST:-}" ]; then
		exec "$@"
	elif [ "$rank" -eq "$disturbed" ]; then
		exec taskset -c "$DEMO_LAST" "$@"
	elif [ -n "${DEMO_EACH:-}" ]; then
		exec taskset -c "$(echo "$DEMO_EACH" | cut -d, -f$((rank + 1)))" "$@"
	fi
	exec taskset -c "$DEMO_OTHERS" "$@"
fi

mapfile -t core < <(cores)
count=${#core[@]}
export DEMO_LAST="" DEMO_OTHERS="" DEMO_EACH=""
if [ "$count" -ge "$ranks" ]; then
	DEMO_LAST=${core[disturbed]}
	DEMO_EACH=$(IFS=,; echo "${core[*]:0:disturbed}")
	where="on core $DEMO_LAST, one core a rank"
	expect="All ranks start with an eighth of the rows, and keep it until one is disturbed."
elif [ "$count" -ge 2 ]; then
	DEMO_LAST=${core[count - 1]}
	DEMO_OTHERS=$(IFS=,; echo "${core[*]:0:count-1}")
	where="alone on core $DEMO_LAST, the others share core(s) $DEMO_OTHERS"
	expect="So it is faster than they are, and its share of the rows soon grows above the eighth that it starts with."
else
	where="not bound to a core: the load will slow every rank"
	expect="Shares may change little here, where all ranks and the load take turns on one core."
fi

mpi=(mpirun -np "$ranks" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
if [ "$(id -u)" -eq 0 ]; then
	mpi+=(--allow-run-as-root)
fi
n=${DEMO_N:-2501}
seconds=${DEMO_SECONDS:-18}
# shellcheck disable=SC2206 # DEMO_ARGS is a list of flags
sor=("$PWD/scripts/run-demo.sh" pin "$PWD/sor" --n "$n" ${DEMO_ARGS:-})

# The load must not outlive the script, however that ends.
load_pid=""
finish() {
	if [ -n "$load_pid" ]; then
		kill "$load_pid" 2>/dev/null || true
		wait "$load_pid" 2>/dev/null || true
		load_pid=""
	fi
}
trap finish EXIT
trap 'exit 130' INT TERM

# disturb FOR: in the background, two programs ./load on the last core for so many seconds.
disturb() {
	local on=()
	if [ -n "$DEMO_LAST" ]; then
		on=(taskset -c "$DEMO_LAST")
	fi
	(
		loads=()
		trap 'kill "${loads[@]}" 2>/dev/null; wait; exit 0' TERM
		echo "--- ./load starts, twice"
		for _ in 1 2; do
			"${on[@]}" ./load --for "$1s" >/dev/null &
			loads+=($!)
		done
		wait
		echo "--- both have stopped"
	) >&2 &
	load_pid=$!
}

# How many sweeps take so long depends on the machine: a run of some seconds tells. The run that is watched may do five times as many and
# ends by its time, whatever else the machine does meanwhile.
result=$("${mpi[@]}" "${sor[@]}" --iterations 1000000 --time-limit 3s --quiet)
sweeps=$(sed -n 's/^result: .* rate_per_s=\([0-9.e+]*\) .*/\1/p' <<<"$result" | awk -v n="$n" -v s="$seconds" '{ print int(5 * $1 * s / (n * n)) }')
if [ "${sweeps:-0}" -lt 100 ]; then
	sweeps=100
fi

load_after=$((seconds / 4))
load_for=$((seconds / 3))
cat <<TEXT
1. The heat plate at $n x $n points on $ranks ranks, for $seconds s.
Rank $disturbed is $where.
$expect
After $load_after s ./load, twice, competes for that core for $load_for s: watch the last column, the share of rank $disturbed, fall and come back.

TEXT
# The load comes with a line of progress, of which there is one a second: mpirun takes a second or two to start.
"${mpi[@]}" "${sor[@]}" --iterations "$sweeps" --time-limit "${seconds}s" --progress 2> >(
	trap finish EXIT
	trap 'exit 130' INT TERM
	seen=0
	while IFS= read -r line; do
		echo "$line" >&2
		if [[ $line == *": "*" sweep "* ]] && [ $((seen += 1)) -eq "$load_after" ]; then
			disturb "$load_for"
		fi
	done
)
wait "$!" || true # for the last lines

# A point takes the plain loop some 5 ns: five to ten seconds.
check=$(awk -v n="$n" 'BEGIN { k = int(1.1e9 / (n * n)); print (k < 1 ? 1 : k) }')
cat <<TEXT

2. The same plate, $check sweeps, with rows that move at random at every interaction, compared with a serial run, bit for bit (some 10 s).

TEXT
"${mpi[@]}" "${sor[@]}" --iterations "$check" --balance random --period 20ms --verify --quiet
