package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// device is what a workstation's end of its link is called, and the bridge.
const device = "lab0"

// The bridge has address 0.1, workstation k the k+2nd, in a network that nothing outside the cluster's namespaces can
// see.
const subnet = "10.213"

func address(host int) string { return fmt.Sprintf("%s.%d.%d", subnet, host>>8, host&0xff) }

func bridgeAddress() string           { return address(1) }
func workstationAddress(k int) string { return address(k + 2) }

// Namespaces of a cluster.
func bridgeNamespace(name string) string             { return name + "-net" }
func workstationNamespace(name string, k int) string { return fmt.Sprintf("%s-ws%d", name, k) }

// makeNetwork makes the namespaces, the bridge in one of its own and a link from it to each workstation.
func makeNetwork(name string, workstations int, bandwidth float64) error {
	bridge := bridgeNamespace(name)
	commands := []string{
		"ip netns add " + bridge,
		"ip -n " + bridge + " link set lo up",
		"ip -n " + bridge + " link add " + device + " type bridge",
		"ip -n " + bridge + " addr add " + bridgeAddress() + "/16 dev " + device,
		"ip -n " + bridge + " link set " + device + " up",
	}
	for k := range workstations {
		own, port := workstationNamespace(name, k), fmt.Sprintf("ws%d", k)
		commands = append(commands,
			"ip netns add "+own,
			"ip -n "+own+" link set lo up",
			"ip -n "+bridge+" link add "+port+" type veth peer name "+device+" netns "+own,
			"ip -n "+bridge+" link set "+port+" master "+device+" up",
			"ip -n "+own+" addr add "+workstationAddress(k)+"/16 dev "+device,
			"ip -n "+own+" link set "+device+" up")
		if bandwidth > 0 {
			// What a workstation sends is held back at its end, what it receives at the bridge's.
			commands = append(commands,
				"tc -n "+own+" qdisc add dev "+device+" root "+bucket(bandwidth),
				"tc -n "+bridge+" qdisc add dev "+port+" root "+bucket(bandwidth))
		}
	}
	for _, command := range commands {
		if err := do(command); err != nil {
			return err
		}
	}
	return nil
}

// bucket is a token bucket of a rate in bit/s. It must hold what passes between two ticks of a slow clock (4 ms), and a
// whole packet; the queue behind it holds 50 ms.
func bucket(bandwidth float64) string {
	const tick, packet = 0.004, 16 << 10
	return fmt.Sprintf("tbf rate %.0fbit burst %d latency 50ms", bandwidth, max(packet, int(bandwidth/8*tick)))
}

// removeNamespaces removes those of a cluster, and with them its links.
func removeNamespaces(name string) error {
	entries, err := os.ReadDir(netnsRoot)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), name+"-") {
			err := do("ip netns del " + e.Name())
			if _, stat := os.Stat(filepath.Join(netnsRoot, e.Name())); errors.Is(stat, fs.ErrNotExist) {
				err = nil // another start was removing it as well
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// do runs a command of the system.
func do(command string) error {
	args := strings.Fields(command)
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, strings.TrimSpace(string(out)))
	}
	return nil
}
