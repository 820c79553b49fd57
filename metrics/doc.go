// Package metrics shows a run to Prometheus: a text file for the node exporter's textfile collector, written anew once a
// second, always whole. It is a module of its own, so that the library does not depend on Prometheus.
//
// A program that may have it among its dependencies gives it to its loop, on rank 0:
//
//	file := metrics.New("/var/lib/node_exporter/textfile/heat.prom")
//	loop := loops.DOALL{..., Record: file}     // alone, or one of a hooks.Tee
//	...
//	err := file.Close()
//
// For any other, and for the programs of this repository, the command shiftwork-metrics follows the file of --record:
//
//	./sor --record run.jsonl & ./shiftwork-metrics run.jsonl /var/lib/node_exporter/textfile/sor.prom
//
// # Metrics
//
// All have the label loop; those of ranks have rank, too. Seconds are wall-clock.
//
//	shiftwork_running                        1 from the loop's beginning to its end, then 0
//	shiftwork_elapsed_seconds                since the loop began, at the last event
//	shiftwork_interactions_total             decisions of the master
//	shiftwork_shifts_total                   those that moved work
//	shiftwork_iterations_moved_total         as decided
//	shiftwork_imbalance_ratio                part of the time that a perfect distribution would save, at the last decision
//	shiftwork_period_seconds                 target period between interactions
//	shiftwork_rank_rate                      filtered rate, work units per second of computing
//	shiftwork_rank_iterations                owned
//	shiftwork_rank_units_total               work units done
//	shiftwork_rank_compute_seconds_total     and likewise wait, move: where the time went until the last interaction
//
// A loop of a name that ran before goes on counting from there: no total falls.
//
// # What it does not do
//
// Without balancing there are no interactions, and so no values of ranks before the end. It serves nothing over the network. A run that
// is killed does not say that it ends: shiftwork_running stays 1, and nothing is written any more, which the node exporter's
// node_textfile_mtime_seconds shows. shiftwork-metrics then waits for the next run of that file until it is stopped.
package metrics
