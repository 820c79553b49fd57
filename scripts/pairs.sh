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
# PAIRS_A and PAIRS_B replace the flags that differ, --balance on and --balance off; what a trace costs:
#
#	PAIRS_A='--balance off --trace /tmp/run.json' PAIRS_B='--balance off' scripts/pairs.sh none 10 ./sor --n 2000 --iterations 2000
#
# Times are the time_s of the result lines. It needs two cores that nobody else uses; build first.
set -euo pipefail
if [ $# -lt 3 ]; then
	sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
fi
core=$1 pairs=$2
shift 2
a=${PAIRS_A---balance on} b=${PAIRS_B---balance off}
if [ "$a" = "--balance on" ] && [ "$b" = "--balance off" ]; then
	A=on B=off
else
	A=A B=B
	echo "A: ${a:-no more flags}; B: ${b:-no more flags}"
fi
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
	# shellcheck disable=SC2086 # a and b are lists of flags
	if ((pair % 2)); then
		on=$(seconds "$@" $a)
		off=$(seconds "$@" $b)
	else
		off=$(seconds "$@" $b)
		on=$(seconds "$@" $a)
	fi
	ratio=$(awk -v a="$on" -v b="$off" 'BEGIN { printf "%.3f", a / b }')
	ratios+="$ratio"$'\n'
	echo "pair $pair: $A $on s, $B $off s, $A/$B $ratio"
done
echo "load on core $core: $*: median $A/$B $(printf %s "$ratios" | sort -n | awk '{ x[NR] = $1 } END { print (x[int((NR + 1) / 2)] + x[int((NR + 2) / 2)]) / 2 }')"
