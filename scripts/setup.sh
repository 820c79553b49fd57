#!/usr/bin/env bash
# Checks that everything is there to build and test Shiftwork, and installs Open MPI's packages on Debian and Ubuntu.
# When everything is there it touches neither the package manager nor the network. Exit codes: 0 ready, 1 installation
# failed, 2 something is missing that the user must install.
#
# MPICC names the MPI compiler of another MPI, such as mpicc.mpich: then that one is checked and nothing is installed.
# SETUP_OS_RELEASE names another file than /etc/os-release, for the tests of this script.
set -u

say() { printf 'setup: %s\n' "$*" >&2; }

have() { command -v "$1" >/dev/null 2>&1; }

# Prints what is missing of MPI, one a line.
missing_mpi() {
	have mpirun || echo mpirun
	if ! have mpicc; then
		echo mpicc
	elif ! echo '#include <mpi.h>' | mpicc -E -x c - >/dev/null 2>&1; then
		echo mpi.h
	fi
}

# The commands that Shiftwork takes for granted; they are not installed behind anyone's back.
absent=""
for tool in go gcc make; do
	have "$tool" || absent="$absent $tool"
done
if [ -n "$absent" ]; then
	say "missing:$absent. Install Go 1.26 or later (https://go.dev/doc/install), gcc and make, and run this again."
	exit 2
fi
cd "$(dirname "$0")/.." || exit 2
if ! problem=$(go list -m 2>&1 >/dev/null); then
	say "$(go version) cannot work on this module: $problem"
	exit 2
fi

# An MPI that the user has chosen must be there: nothing is installed in its place. MPIRUN as in scripts/env.sh.
if [ -n "${MPICC:-}" ]; then
	run=${MPIRUN:-${MPICC%mpicc*}mpirun${MPICC##*mpicc}}
	for tool in "$MPICC" "$run"; do
		if ! have "$tool"; then
			say "MPICC=$MPICC: there is no $tool; on Debian and Ubuntu mpich and libmpich-dev have mpicc.mpich and mpirun.mpich"
			exit 2
		fi
	done
	if ! echo '#include <mpi.h>' | "$MPICC" -E -x c - >/dev/null 2>&1; then
		say "MPICC=$MPICC does not find mpi.h: its development files are missing"
		exit 2
	fi
	exit 0
fi

missing=$(echo $(missing_mpi))
if [ -n "$missing" ]; then
	say "missing: $missing"
	release=${SETUP_OS_RELEASE:-/etc/os-release}
	# ID is the distribution, ID_LIKE those that it descends from.
	family=""
	if [ -r "$release" ]; then
		family=$(. "$release" && echo "${ID:-} ${ID_LIKE:-}")
	fi
	case " $family " in
	*" debian "* | *" ubuntu "*) ;;
	*" fedora "* | *" rhel "* | *" centos "*)
		say "install them with: dnf install openmpi openmpi-devel, then: module load mpi/openmpi-x86_64"
		exit 2
		;;
	*" arch "*)
		say "install them with: pacman -S openmpi"
		exit 2
		;;
	*" suse "* | *" opensuse "*)
		say "install them with: zypper install openmpi4 openmpi4-devel, then: module load gnu-openmpi"
		exit 2
		;;
	*" alpine "*)
		say "install them with: apk add openmpi openmpi-dev"
		exit 2
		;;
	*)
		if [ "$(uname -s)" = Darwin ]; then
			say "install them with: brew install open-mpi"
		else
			say "install Open MPI 4 or 5 with its development files; the packages are called openmpi-bin and libopenmpi-dev on Debian and Ubuntu, openmpi and openmpi-devel on Fedora, openmpi on Arch"
		fi
		exit 2
		;;
	esac

	packages="openmpi-bin libopenmpi-dev"
	as_root=""
	if [ "$(id -u)" -ne 0 ]; then
		if ! have sudo; then
			say "install as root: apt-get install $packages (no sudo here)"
			exit 2
		fi
		as_root=sudo
	fi
	say "installing $packages with ${as_root:+$as_root }apt-get"
	# A fresh machine has no package lists, one that is old has stale ones.
	if ! $as_root apt-get update -q >&2 ||
		! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $packages >&2; then
		say "apt-get failed; install $packages by hand and run this again"
		exit 1
	fi
	missing=$(echo $(missing_mpi))
	if [ -n "$missing" ]; then
		say "$packages are installed, but still missing: $missing; another MPI may come first in PATH ($(command -v mpicc || echo 'no mpicc'))"
		exit 1
	fi
fi

# mpicc's --showme and mpirun's options are Open MPI's, and so is the library behind gompi.
if ! mpirun --version 2>/dev/null | grep -q 'Open MPI' || ! mpicc --showme:version 2>/dev/null | grep -q 'Open MPI'; then
	say "$(command -v mpirun) and $(command -v mpicc) are not both Open MPI's; put those of Open MPI first in PATH"
	exit 2
fi
