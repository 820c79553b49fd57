#!/usr/bin/env bash
# What balancing gains: runs a program on two ranks, one a core, with --balance on and off in turn, and prints the ratio
# time on / time off of each pair and the median.
#
#	scripts/pairs.sh CORE PAIRS PROGRAM FLAGS...
#
#	scripts/pairs.sh 1 5 ./sor --n 4000 --iterations 800      ./load on rank 1's core for the whole run
#	scripts/pairs.sh 0 5 ./mm --n 3600                        on rank 0's, the master's
#	scripts/pairs.sh none 5 ./mm --n 500 --repeat 400         nowhere
#
# Times are the time_s of the result lines. It needs two cores that nobody else uses; build first.
set -euo pipefail
if [ $# -lt 3 ]; then
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
fi
core=$1 pairs=$2
shift 2
here=$(cd "$(dirname "$0")/.." && pwd)

mpi=(mpirun -np 2 --bind-to core --mca mpi_yield_when_idle 1)
if [ "$(id -u)" -eq 0 ]; then
	mpi+=(--allow-run-as-root)
fi

load=""
finish() {
	if [ -n "$load" ]; then
		kill "$load" 2>/dev/null || true
		wait "$load" 2>/dev/null || true
	fi
}
trap finish EXIT
trap 'exit 130' INT TERM

if [ "$core" != none ]; then
	taskset -c "$core" "$here/load" --off 0s --for 2h >/dev/null &
	load=$!
fi

seconds() { "${mpi[@]}" "$@" --quiet | sed -n 's/^result: .* time_s=\([0-9.]*\) .*/\1/p'; }

ratios=""
for ((pair = 1; pair <= pairs; pair++)); do
	# Who goes first alternates, so that a drift of the machine's speed favours neither.
	if ((pair % 2)); then
		on=$(seconds "$@" --balance on) off=$(seconds "$@" --balance off)
	else
		off=$(seconds "$@" --balance off) on=$(seconds "$@" --balance on)
	fi
	ratio=$(awk -v a="$on" -v b="$off" 'BEGIN { printf "%.3f", a / b }')
	ratios+="$ratio"$'\n'
	echo "pair $pair: on $on s, off $off s, on/off $ratio"
done
echo "load on core $core: $*: median on/off $(printf %s "$ratios" | sort -n | awk '{ x[NR] = $1 } END { print (x[int((NR + 1) / 2)] + x[int((NR + 2) / 2)]) / 2 }')"
