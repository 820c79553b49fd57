package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"shiftwork/internal/machine"
	"shiftwork/scripts/internal/arguments"
)

// Cluster is a set of workstations. One job runs on it at a time.
type Cluster struct {
	cfg     Config
	name    string
	groups  *hierarchy
	starter *starter
	cores   []int // of each workstation, where they are bound

	job    sync.Mutex // held while a job runs
	closed bool
	err    error // of closing
}

// Groups of a cluster.
func (c *Cluster) workstation(k int) string { return filepath.Join(c.name, fmt.Sprintf("ws%d", k)) }
func (c *Cluster) app(k int) string         { return filepath.Join(c.workstation(k), "app") }
func (c *Cluster) master() string           { return filepath.Join(c.name, "master") }
func (c *Cluster) launch() string           { return filepath.Join(c.name, "launch") }

// load is the group of the job's load of that number, which runs on workstation k.
func (c *Cluster) load(k, number int) string {
	return filepath.Join(c.workstation(k), fmt.Sprintf("load%d", number))
}

// Folders of a cluster.
func (c *Cluster) state() string             { return filepath.Join(stateRoot, c.name) }
func (c *Cluster) script(name string) string { return filepath.Join(c.state(), name) }
func (c *Cluster) shared() string            { return filepath.Join(sharedRoot, c.name) }

// Config is what the cluster was made of.
func (c *Cluster) Config() Config { return c.cfg }

// Name starts the names of everything that belongs to the cluster.
func (c *Cluster) Name() string { return c.name }

// New removes what earlier clusters left behind when they were killed, and makes a cluster. The error is an arguments.ErrRefused
// where the configuration or the machine cannot give it, and then nothing is left behind.
func New(cfg Config) (c *Cluster, err error) {
	if os.Geteuid() != 0 {
		return nil, arguments.Refuse("only root can make workstations: run as root")
	}
	if err := cfg.Validate(runtime.NumCPU()); err != nil {
		return nil, err
	}
	if err := tools(cfg); err != nil {
		return nil, err
	}
	h, err := findHierarchy(cgroupRoot)
	if err != nil {
		return nil, err
	}
	if err := removeLeftovers(h); err != nil {
		return nil, fmt.Errorf("removing what an earlier cluster left: %w", err)
	}
	name, err := newName()
	if err != nil {
		return nil, err
	}
	cfg.Period = cfg.period()
	c = &Cluster{cfg: cfg, name: name, groups: h}
	if cfg.Pin {
		c.cores, err = bind(cfg.CPU)
		if err != nil {
			return nil, err
		}
	}
	if c.starter, err = newStarter(cfg.Slice); err != nil {
		return nil, err
	}
	if err := c.make(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// tools says which program that the cluster needs is missing.
func tools(cfg Config) error {
	needed := [][2]string{{"mpirun", "make setup installs Open MPI"}, {"sh", "a shell"}}
	if cfg.Network {
		needed = append(needed, [2]string{"ip", "install iproute2"}, [2]string{"nsenter", "install util-linux"},
			[2]string{"unshare", "install util-linux"})
	}
	if cfg.Bandwidth > 0 {
		needed = append(needed, [2]string{"tc", "install iproute2"})
	}
	if cfg.Pin {
		needed = append(needed, [2]string{"taskset", "install util-linux"})
	}
	for _, n := range needed {
		if _, err := exec.LookPath(n[0]); err != nil {
			return arguments.Refuse("%s is not there: %s", n[0], n[1])
		}
	}
	return nil
}

// bind gives each workstation one of the CPUs that this process may use.
func bind(shares []float64) ([]int, error) {
	usable, err := machine.CPUs()
	if err != nil {
		return nil, err
	}
	cores, ok := pack(shares, len(usable))
	if !ok {
		return nil, arguments.Refuse("workstations of %v CPUs do not fit on %d CPUs without dividing one of them", shares, len(usable))
	}
	for k := range cores {
		cores[k] = usable[cores[k]]
	}
	return cores, nil
}

// make makes the groups, namespaces, folders and scripts.
func (c *Cluster) make() error {
	h := c.groups
	if err := h.prepare(); err != nil {
		return err
	}
	if err := h.create(c.name, true); err != nil {
		if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) {
			return arguments.Refuse("cgroups cannot be made here: %v", err)
		}
		return err
	}
	// Against processes outside, the cluster counts as much as its workstations would one by one.
	if err := h.weigh(c.name, len(c.cfg.CPU)); err != nil {
		return err
	}
	leaves := []string{c.launch()}
	if c.cfg.Master {
		leaves = append(leaves, c.master())
	}
	for k, share := range c.cfg.CPU {
		if err := h.create(c.workstation(k), true); err != nil {
			return err
		}
		if !c.cfg.Unlimited {
			if err := h.limit(c.workstation(k), quota(share, c.cfg.Period), c.cfg.Period); err != nil {
				return err
			}
		}
		leaves = append(leaves, c.app(k))
	}
	for _, group := range leaves {
		if err := h.create(group, false); err != nil {
			return err
		}
	}
	for _, dir := range []string{c.state(), c.shared()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if c.cfg.Network {
		if err := makeNetwork(c.name, len(c.cfg.CPU), c.cfg.Bandwidth); err != nil {
			return err
		}
	}
	return c.writeScripts()
}

// Close removes everything that belongs to the cluster, when a job that is running has ended. Calls after the first one
// return what that one did.
func (c *Cluster) Close() error {
	c.job.Lock()
	defer c.job.Unlock()
	if !c.closed {
		c.closed = true
		c.err = removeAll(c.groups, c.name)
		c.starter.stop()
	}
	return c.err
}

// quote makes a text one word of a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// enter is shell code that moves the shell into a group.
func (c *Cluster) enter(group string) string {
	var moves []string
	for _, file := range c.groups.entrances(group) {
		moves = append(moves, "echo 0 > "+quote(file))
	}
	return strings.Join(moves, " && ")
}

// writeScripts writes those that put processes where they belong. They are run as "sh SCRIPT", because some systems
// allow no programs in /run.
//
//	launch COMMAND...      mpirun: outside the workstations, in the bridge's namespace
//	agent HOST COMMAND     in place of ssh: Open MPI's daemon in the workstation's namespace
//	rank COMMAND...        a rank: in its workstation
func (c *Cluster) writeScripts() error {
	launch := "#!/bin/sh\n" + c.enter(c.launch()) + " || exit 1\nexec "
	if c.cfg.Network {
		// Not "ip netns exec": it mounts another /sys, and ranks could not see their quota.
		launch += "nsenter --net=" + filepath.Join(netnsRoot, bridgeNamespace(c.name)) + " -- "
	}
	launch += "\"$@\"\n"

	var rank, agent strings.Builder
	rank.WriteString("#!/bin/sh\ncase $OMPI_COMM_WORLD_RANK in\n")
	first := 0
	if c.cfg.Master {
		fmt.Fprintf(&rank, "0) %s ;;\n", c.enter(c.master()))
		first = 1
	}
	agent.WriteString("#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done # options of ssh\ncase $1 in\n")
	for k := range c.cfg.CPU {
		fmt.Fprintf(&rank, "%d) %s", first+k, c.enter(c.app(k)))
		if c.cores != nil {
			fmt.Fprintf(&rank, " && taskset -pc %d $$ >/dev/null", c.cores[k])
		}
		rank.WriteString(" ;;\n")
		// Each workstation has a host name of its own: Open MPI's daemons keep their session folder under it, and with
		// one name some of them now and then hang at the start.
		fmt.Fprintf(&agent, "%s) ns=%s host=ws%d ;;\n", workstationAddress(k), workstationNamespace(c.name, k), k)
	}
	rank.WriteString("*) echo \"lab: rank $OMPI_COMM_WORLD_RANK has no workstation\" >&2; false ;;\n" +
		"esac || exit 1\nexec \"$@\"\n")
	agent.WriteString("*) echo \"lab: there is no workstation $1\" >&2; exit 1 ;;\nesac\nshift\n")
	fmt.Fprintf(&agent, "exec nsenter --net=%s/$ns -- unshare --uts -- "+
		"sh -c \"echo $host >/proc/sys/kernel/hostname && $*\"\n", netnsRoot)

	return errors.Join(
		os.WriteFile(c.script("launch"), []byte(launch), 0o700),
		os.WriteFile(c.script("rank"), []byte(rank.String()), 0o700),
		os.WriteFile(c.script("agent"), []byte(agent.String()), 0o700))
}
