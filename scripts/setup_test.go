package scripts

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	openMPI = "case \"$*\" in *version*) echo 'Open MPI 4.1.4';; esac; exit 0"
	mpich   = "case \"$*\" in *version*) echo 'MPICH 4.0';; esac; exit 0"
	// A package manager that notes how it was called and, at "install", puts Open MPI into the folder of programs.
	aptGet = `echo "apt-get $*" >>"$LOG"
case "$*" in *install*)
	for p in mpirun mpicc; do printf '#!/bin/sh\ncase "$*" in *version*) echo Open MPI;; esac\n' >"$BIN/$p"; chmod +x "$BIN/$p"; done
esac`
	sudo   = `echo "sudo $*" >>"$LOG"; exec "$@"`
	debian = "ID=debian\n"
	ubuntu = "PRETTY_NAME=\"Ubuntu 24.04\"\nID=ubuntu\nID_LIKE=debian\n"
	mint   = "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"
)

// machine is an imitation of one: the programs that are installed, by name, with their shell code.
type machine struct {
	programs map[string]string
	release  string // /etc/os-release
	uid      string
	mpicc    string // MPICC: the MPI that the user has chosen
}

// setup runs setup.sh on the machine, and returns its exit code, what it said, and what it did with the package manager.
func (m machine) setup(t *testing.T) (code int, said, did string) {
	t.Helper()
	dir := t.TempDir()
	bin, log, release := filepath.Join(dir, "bin"), filepath.Join(dir, "log"), filepath.Join(dir, "os-release")
	require.NoError(t, os.Mkdir(bin, 0o700))
	require.NoError(t, os.WriteFile(log, nil, 0o600))
	require.NoError(t, os.WriteFile(release, []byte(m.release), 0o600))
	// What every system has.
	for _, tool := range []string{"bash", "sh", "cat", "chmod", "dirname", "env", "grep"} {
		path, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, tool)))
	}
	programs := map[string]string{"go": "", "gcc": "", "make": "", "id": "echo " + m.uid, "uname": "echo Linux"}
	for name, code := range m.programs {
		programs[name] = code
	}
	for name, code := range programs {
		if code == "absent" {
			continue
		}
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+code+"\n"), 0o700))
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "bash"), "setup.sh")
	cmd.Env = []string{"PATH=" + bin, "BIN=" + bin, "LOG=" + log, "SETUP_OS_RELEASE=" + release, "MPICC=" + m.mpicc}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	assert.Empty(t, string(stdout))
	calls, err := os.ReadFile(log)
	require.NoError(t, err)
	return cmd.ProcessState.ExitCode(), stderr.String(), string(calls)
}

func TestSetupWithEverythingThereDoesNothing(t *testing.T) {
	for _, uid := range []string{"0", "1000"} {
		m := machine{uid: uid, release: debian, programs: map[string]string{
			"mpirun": openMPI, "mpicc": openMPI, "apt-get": aptGet, "sudo": sudo}}
		code, said, did := m.setup(t)
		assert.Zero(t, code, said)
		assert.Empty(t, said)
		assert.Empty(t, did)
	}
}

// An MPI that the user names is checked, whatever else is there, and nothing is installed in its place.
func TestSetupTakesTheChosenMPI(t *testing.T) {
	with := func(programs map[string]string) machine {
		programs["apt-get"] = aptGet
		return machine{uid: "0", release: debian, programs: programs, mpicc: "mpicc.mpich"}
	}
	for _, c := range []struct {
		name     string
		programs map[string]string
		code     int
		says     string
	}{
		{"there", map[string]string{"mpicc.mpich": mpich, "mpirun.mpich": mpich}, 0, ""},
		{"not there", map[string]string{"mpicc": openMPI, "mpirun": openMPI}, 2, "there is no mpicc.mpich"},
		{"no mpirun", map[string]string{"mpicc.mpich": mpich, "mpirun": openMPI}, 2, "there is no mpirun.mpich"},
		{"no header", map[string]string{"mpicc.mpich": "exit 1", "mpirun.mpich": mpich}, 2, "does not find mpi.h"},
	} {
		code, said, did := with(c.programs).setup(t)
		assert.Equal(t, c.code, code, c.name+": "+said)
		assert.Contains(t, said, c.says, c.name)
		assert.Empty(t, did, c.name)
	}
}

func TestSetupInstallsOnDebianAndItsKin(t *testing.T) {
	for _, release := range []string{debian, ubuntu, mint} {
		code, said, did := machine{uid: "0", release: release, programs: map[string]string{"apt-get": aptGet}}.setup(t)
		assert.Zero(t, code, said)
		assert.Contains(t, said, "installing openmpi-bin libopenmpi-dev", "it says what it will install")
		assert.Equal(t, "apt-get update -q\napt-get install -q -y --no-install-recommends openmpi-bin libopenmpi-dev\n", did)
	}
	code, said, did := machine{uid: "1000", release: debian, programs: map[string]string{"apt-get": aptGet, "sudo": sudo}}.setup(t)
	assert.Zero(t, code, said)
	assert.Contains(t, said, "with sudo apt-get")
	assert.Contains(t, did, "sudo apt-get update")
	assert.Contains(t, did, "sudo env DEBIAN_FRONTEND=noninteractive apt-get install")
}

// Only the header is missing: mpicc is there and cannot compile.
func TestSetupMissesTheHeader(t *testing.T) {
	cc := `case "$*" in *-E*) exit 1;; esac`
	code, said, did := machine{uid: "0", release: debian, programs: map[string]string{
		"mpirun": openMPI, "mpicc": cc, "apt-get": aptGet}}.setup(t)
	assert.Zero(t, code, said)
	assert.Contains(t, said, "missing: mpi.h")
	assert.Contains(t, did, "install")
}

func TestSetupNamesWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name string
		m    machine
		code int
		says string
	}{
		{"no go", machine{uid: "0", programs: map[string]string{"go": "absent"}}, 2, "missing: go."},
		{"no gcc and make", machine{uid: "0", programs: map[string]string{"gcc": "absent", "make": "absent"}}, 2, "missing: gcc make."},
		{"old go", machine{uid: "0", programs: map[string]string{"go": "echo go.mod requires go 1.26 >&2; exit 1"}}, 2, "requires go 1.26"},
		{"fedora", machine{uid: "0", release: "ID=fedora\n"}, 2, "openmpi openmpi-devel"},
		{"rocky", machine{uid: "0", release: "ID=rocky\nID_LIKE=\"rhel centos fedora\"\n"}, 2, "openmpi openmpi-devel"},
		{"arch", machine{uid: "0", release: "ID=arch\n"}, 2, "pacman -S openmpi"},
		{"suse", machine{uid: "0", release: "ID=opensuse-leap\nID_LIKE=\"suse opensuse\"\n"}, 2, "openmpi4-devel"},
		{"alpine", machine{uid: "0", release: "ID=alpine\n"}, 2, "openmpi-dev"},
		{"mac", machine{uid: "501", programs: map[string]string{"uname": "echo Darwin"}}, 2, "brew install open-mpi"},
		{"unknown", machine{uid: "0", release: "ID=other\n"}, 2, "libopenmpi-dev on Debian"},
		{"no sudo", machine{uid: "1000", release: debian, programs: map[string]string{"apt-get": aptGet}}, 2, "install as root: apt-get install openmpi-bin"},
		{"apt-get fails", machine{uid: "0", release: debian, programs: map[string]string{"apt-get": "exit 100"}}, 1, "apt-get failed"},
		{"apt-get does nothing", machine{uid: "0", release: debian, programs: map[string]string{"apt-get": "exit 0"}}, 1, "still missing: mpirun mpicc"},
		{"another MPI", machine{uid: "0", release: debian, programs: map[string]string{"mpirun": mpich, "mpicc": mpich}}, 2, "not both Open MPI's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, said, did := c.m.setup(t)
			assert.Equal(t, c.code, code, said)
			assert.Contains(t, said, c.says)
			assert.NotContains(t, did, "install")
		})
	}
}

// Where the ranks and the load go, without MPI: the part of run-demo.sh that mpirun starts for each rank.
func TestDemoPinsRanks(t *testing.T) {
	taskset := "#!/bin/sh\necho \"$@\"\n"
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "taskset"), []byte(taskset), 0o700))
	for _, c := range []struct{ rank, last, others, each, want string }{
		{"7", "1", "0", "", "-c 1 echo ran"},
		{"0", "1", "0", "", "-c 0 echo ran"},
		{"6", "3", "0,1,2", "", "-c 0,1,2 echo ran"},
		{"0", "17", "", "10,11,12,13,14,15,16", "-c 10 echo ran"},
		{"6", "17", "", "10,11,12,13,14,15,16", "-c 16 echo ran"},
		{"7", "17", "", "10,11,12,13,14,15,16", "-c 17 echo ran"},
		{"7", "", "", "", "ran"},
	} {
		cmd := exec.CommandContext(t.Context(), "bash", "run-demo.sh", "pin", "echo", "ran")
		cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "OMPI_COMM_WORLD_RANK="+c.rank,
			"DEMO_LAST="+c.last, "DEMO_OTHERS="+c.others, "DEMO_EACH="+c.each)
		out, err := cmd.Output()
		require.NoError(t, err)
		assert.Equal(t, c.want, strings.TrimSpace(string(out)), "%+v", c)
	}
}
