# Sourced, not run: lets cgo find MPI wherever mpicc finds it. gompi knows only the folders of Debian on x86-64;
# what is exported here is added to them. The Makefile does this for every command that compiles; in a shell of your own:
#
#	. scripts/env.sh && go test ./comm/mpi
#
# MPICC names another compiler than the mpicc in PATH, and so another MPI; MPIRUN, its mpirun, is taken to stand beside it
# unless it is given. MPICH beside Open MPI, on Debian:
#
#	export MPICC=mpicc.mpich && . scripts/env.sh && go test ./comm/mpi
#
# Given flags of the user are kept; without any, they are Go's defaults.
_mpicc=${MPICC:-mpicc}
if ! command -v "$_mpicc" >/dev/null 2>&1; then
	echo "env: there is no $_mpicc: make setup installs Open MPI, or says what to install" >&2
	unset _mpicc
	return 1
fi
if "$_mpicc" --showme:version >/dev/null 2>&1; then
	CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} $("$_mpicc" --showme:compile)"
	CGO_LDFLAGS="${CGO_LDFLAGS:--O2 -g} $("$_mpicc" --showme:link)"
else
	# MPICH and its relatives name the whole command. gompi asks for -lmpi too, which on Debian is Open MPI:
	# --as-needed leaves it out, since the library that comes first has everything.
	_command=$("$_mpicc" -show | tr ' ' '\n')
	CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} $(echo "$_command" | grep -e '^-[ID]' | tr '\n' ' ')"
	CGO_LDFLAGS="${CGO_LDFLAGS:--O2 -g} -Wl,--as-needed $(echo "$_command" | grep -e '^-[Ll]' -e '^-Wl,' | tr '\n' ' ')"
fi
if [ -n "${MPICC:-}" ] && [ -z "${MPIRUN:-}" ]; then
	MPIRUN=${MPICC%mpicc*}mpirun${MPICC##*mpicc}
	export MPIRUN
fi
unset _mpicc _command
export CGO_CFLAGS CGO_LDFLAGS
