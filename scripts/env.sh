# Sourced, not run: lets cgo find Open MPI wherever mpicc finds it. gompi knows only the folders of Debian on x86-64;
# what is exported here is added to them. The Makefile does this for every command that compiles; in a shell of your own:
#
#	. scripts/env.sh && go test ./comm/mpi
#
# Given flags of the user are kept; without any, they are Go's defaults.
CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} $(mpicc --showme:compile)"
CGO_LDFLAGS="${CGO_LDFLAGS:--O2 -g} $(mpicc --showme:link)"
export CGO_CFLAGS CGO_LDFLAGS
