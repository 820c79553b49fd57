package spmd

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Who started this process is told from what launchers put into the environment, the innermost one first.
func TestLaunched(t *testing.T) {
	slurm := map[string]string{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}
	with := func(more map[string]string) map[string]string {
		env := map[string]string{}
		for _, m := range []map[string]string{slurm, more} {
			for k, v := range m {
				env[k] = v
			}
		}
		return env
	}
	openMPI := map[string]string{"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"}
	mpich := map[string]string{"PMI_RANK": "5", "PMI_SIZE": "8"}
	for _, c := range []struct {
		name string
		env  map[string]string
		want launch
		ok   bool
	}{
		{"alone", nil, launch{}, false},
		{"Open MPI", openMPI, launch{"mpirun of Open MPI", 3, 8}, true},
		{"MPICH", mpich, launch{"mpirun of MPICH or a relative", 5, 8}, true},
		{"srun", slurm, launch{"srun", 1, 2}, true},
		{"Open MPI, whose daemons srun has started", with(openMPI), launch{"mpirun of Open MPI", 3, 8}, true},
		{"MPICH, whose daemons srun has started", with(mpich), launch{"mpirun of MPICH or a relative", 5, 8}, true},
		{"a batch script beside no launcher", map[string]string{"SLURM_PROCID": "0"}, launch{}, false},
		{"no number", map[string]string{"PMI_SIZE": "many", "PMI_RANK": "0"}, launch{}, false},
		{"no rank", map[string]string{"PMI_SIZE": "2"}, launch{"mpirun of MPICH or a relative", 0, 2}, true},
	} {
		got, ok := launched(func(name string) string { return c.env[name] })
		assert.Equal(t, c.ok, ok, c.name)
		assert.Equal(t, c.want, got, c.name)
	}
}
