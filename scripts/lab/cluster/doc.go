// Package cluster makes one Linux machine a cluster of workstations, and runs MPI programs on it beside competing
// loads.
//
// A workstation is a group of processes that gets a fixed share of one CPU (a CPU-quota cgroup, v1 or v2), with room
// for one rank of the program and for loads. If asked for, it has a network namespace with an address and a bandwidth
// limit:
//
//	                 bridge (in a namespace of its own; mpirun runs here)
//	     ┌──────────────┬──────┴───────┬──────────────┐      veth, tbf in both directions
//	┌────┴─────┐   ┌────┴─────┐   ┌────┴─────┐   ┌────┴─────┐
//	│ ws0  0.4 │   │ ws1  0.4 │   │ ws2  0.4 │   │ ws3  0.4 │   quota: 0.4 of a CPU in each period
//	│ app load │   │ app      │   │ app      │   │ app      │   app and every load: equal weights
//	└──────────┘   └──────────┘   └──────────┘   └──────────┘
//
// Beside k busy loads the application gets 1/(k+1) of its workstation. In use:
//
//	c, err := cluster.New(cluster.Config{CPU: []float64{0.4, 0.4, 0.4, 0.4}})
//	defer c.Close()
//	result, err := c.Run(ctx, cluster.Job{Command: []string{"./sor", "--n", "4000"}, Loads: loads})
//
// # What belongs to a cluster
//
// Everything bears the cluster's name, swlab-PID-START-SEQUENCE, where START is the start of process PID as the kernel
// counts it, so that a later process of that number is not taken for the owner:
//
//	/sys/fs/cgroup/[cpu/]NAME            wsK/app, wsK/loadJ, master, launch (mpirun and its daemons: no quota)
//	/sys/fs/cgroup/cpuacct/NAME          the same, where v1 keeps accounts apart
//	network namespaces NAME-net, NAME-wsK
//	/run/NAME                            scripts that put processes into their groups; Open MPI's session folder
//	/dev/shm/NAME                        Open MPI's shared memory
//
// Close removes it all, and first kills whatever runs in the groups. What an owner that was killed left behind is
// removed by the next New. Processes are looked for in these groups and nowhere else.
//
// With cgroup v2, New enables the cpu controller below the root group if it is not, and leaves it so: others may have
// come to rely on it by the time that the cluster ends.
//
// # Units
//
// Shares are CPUs (0.4 is 0.4 s of CPU time in 1 s), CPU times and durations are time.Duration, bandwidth is bit/s.
// Times of loads and samples count from the start of mpirun.
//
// # What it does not do
//
// Workstations share caches and memory bandwidth, and a rank finds more of either when the others wait than on a
// machine of its own. Links have a bandwidth but no delay. One rank runs on a workstation, and ranks have one thread
// that computes.
package cluster
