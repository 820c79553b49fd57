# make run    sets up, builds and shows work shifting away from a disturbed rank and back
# make test   sets up, lints and runs every test
# make build  the programs ./sor, ./mm, ./load and ./shiftwork (sets up as well)
# make lint   gofmt, go vet, staticcheck
# make setup  checks for Open MPI, and installs it on Debian and Ubuntu
# make clean  removes what was built

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.PHONY: setup build run lint test test-nompi test-mpi clean

# Every command that compiles MPI runs under the flags of mpicc; they are known only after set-up.
MPI := . scripts/env.sh &&

# Packages with tests that start mpirun. They run one after the other: their ranks share the cores.
MPI_PACKAGES := ./comm/mpi/... ./spmd/... ./apps/... ./internal/... ./scripts/lab/...

setup:
	@scripts/setup.sh

build: setup
	$(MPI) CGO_ENABLED=1 go build -o ./ ./apps/sor ./apps/mm ./apps/load ./apps/shiftwork

run: build
	@scripts/run-demo.sh

# Both builds are checked: files of the one are not seen in the other.
lint: setup
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:" $$unformatted >&2; exit 1; fi
	$(MPI) CGO_ENABLED=1 go vet ./...
	CGO_ENABLED=0 go vet -tags nompi ./...
	$(MPI) CGO_ENABLED=1 go tool staticcheck ./...
	CGO_ENABLED=0 go tool staticcheck -tags nompi ./...

test: lint test-nompi test-mpi

# Everything but MPI, twice: with the race detector (which needs cgo, our code does not), and as it builds anywhere.
test-nompi: setup
	CGO_ENABLED=1 go test -race -timeout 8m -tags nompi ./...
	CGO_ENABLED=0 go test -timeout 8m -tags nompi ./...

# comm/mpi, and the programs under mpirun.
test-mpi: build
	$(MPI) CGO_ENABLED=1 go test -p 1 -timeout 8m $(MPI_PACKAGES)

clean:
	rm -rf sor mm load shiftwork build
