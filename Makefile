# make run    sets up, builds and shows work shifting away from a disturbed rank and back
# make test   sets up, lints and runs the tests, but for those of test-browser and test-openblas
# make build  the programs ./sor, ./mm, ./load and ./shiftwork (sets up as well)
# make test-browser  the page of shiftwork report in a real browser; installs chromium on Debian and Ubuntu
# make lint   gofmt, go vet, staticcheck
# make setup  checks for Open MPI, and installs it on Debian and Ubuntu
# make evaluation  measures what docs/evaluation.md shows, as far as it has not been measured (an hour, as root, on an idle machine), draws it and
#             fills in its tables; EVALUATION=--fresh measures all of it anew
# make bench  the Go benchmarks, for benchstat (docs/performance.md); bench-c holds the programs against plain C and MPI (installs
#             libopenblas-dev on Debian and Ubuntu), bench-hooks those with hooks that never interact against loops without hooks,
#             bench-waits our waits against MPI's, with blocks that lean and with such as stand still
# make test-openblas  what the build tag openblas adds; installs libopenblas-dev on Debian and Ubuntu
# make clean  removes what was built
#
# MPICC=mpicc.mpich behind any of them takes another MPI than that of the mpicc in PATH (docs/recipes.md).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.PHONY: setup build run staticcheck lint test test-nompi test-mpi test-openblas bench bench-c bench-hooks bench-waits evaluation clean test-browser

# Every command that compiles MPI runs under the flags of mpicc; they are known only after set-up.
MPI := . scripts/env.sh &&

# Packages with tests that start mpirun. They run one after the other: their ranks share the cores.
# The lab knows only Open MPI's, the one in PATH.
MPI_PACKAGES := ./comm/mpi/... ./spmd/... ./apps/e2e ./internal/... ./docs/tutorial $(if $(MPICC),,./scripts/lab/...)

setup:
	@scripts/setup.sh

build: setup
	$(MPI) CGO_ENABLED=1 go build -o ./ ./apps/sor ./apps/mm ./apps/load ./apps/shiftwork

run: build
	@scripts/run-demo.sh

# go tool would build it once for each setting of cgo.
staticcheck:
	CGO_ENABLED=0 go build -o build/ honnef.co/go/tools/cmd/staticcheck

# Both builds are checked, the one with MPI where it has other files.
WITH_MPI = $(shell grep -rlE --include='*.go' '^//go:build.*nompi' . | xargs -r dirname | sort -u)
lint: setup staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:" $$unformatted >&2; exit 1; fi
	CGO_ENABLED=0 go vet -tags nompi ./... && CGO_ENABLED=0 build/staticcheck -tags nompi ./...
	$(MPI) CGO_ENABLED=1 go vet $(WITH_MPI) && CGO_ENABLED=1 build/staticcheck $(WITH_MPI)
	CGO_ENABLED=0 go vet -C metrics ./... && cd metrics && CGO_ENABLED=0 ../build/staticcheck ./...

test: lint test-nompi test-mpi

# Everything but MPI, twice: with the race detector (which needs cgo, our code does not), and as it builds anywhere. The detector makes tests up to ten
# times as long, and all that they import is compiled for it once more, so it sees the packages which start goroutines, or whose tests do, and not
# their long tests in virtual time, where one rank at a time computes. The lab's second time is with MPI. Lint has vetted all of them.
CONCURRENT := ./comm/... ./hooks ./loops ./spmd ./trace ./apps/internal/frame ./apps/internal/gridfile ./internal/jobs ./internal/machine ./scripts/lab/cluster ./scripts/soak
VIRTUAL := ALeanLeavesRows|ARepeatedLoopLearnsItsWeights|TheChosenBlockSizeIsWithinFivePercentOfTheBest|UniformLoopsDecideAsBefore|LeansAnswerALoadSoon|LeansUnderQuotas|AConstantLoadMovesWorkOnce|LeansPassWorkThroughRanks|TheHookGoesWhereMeasuredCostsPutIt|EveryIterationHasOneOwnerAtEveryHookAndItsData|FewIterations|EachFaultAtEachPoint|SomeFaultsOfEightRanks|ManyRanksHideThatOneIsSlowNowAndThen|ASlowNetworkIsNoReasonToMove|MovingPaysWhereThereIsTime|FreeLoopsDoEveryIterationOnceAndInOrder|OtherUsersOfTheHost|DearMovesBesideNeighbours
test-nompi: setup
	CGO_ENABLED=1 go test -vet off -race -skip '^Test($(VIRTUAL))$$' -timeout 8m -tags nompi $(CONCURRENT)
	CGO_ENABLED=0 go test -vet off -timeout 8m -tags nompi $$(go list -tags nompi ./... | grep -vxE '$(if $(MPICC),,shiftwork/scripts/lab(/.*)?)')
	CGO_ENABLED=0 go test -C metrics -vet off -timeout 8m ./... # a module of its own

# comm/mpi, and the programs under mpirun; without those tests of them that need no mpirun and take long: they were run before, in the build without MPI.
LOCAL := TheSameAnswerAlways|RotateAndRandomMoveWork|Progress|OddSizes|MoreRanksThanRows|TimeLimitAndRestart|TimeLimitWithoutCheckpoint|TraceOfARunThatIsKilled
test-mpi: build
	$(MPI) CGO_ENABLED=1 go test -vet off -p 1 -skip '^Test($(LOCAL))$$' -timeout 8m $(MPI_PACKAGES)

# An interrupted evaluation goes on where it stopped.
evaluation: build
	CGO_ENABLED=0 go build -tags nompi -o build/ ./scripts/experiments
	build/experiments $(EVALUATION)

# Six samples of each benchmark: benchstat old.txt new.txt compares two such outputs. BENCH chooses some by name.
BENCH ?= .
bench: build
	$(MPI) CGO_ENABLED=1 go test -run '^$$' -bench '$(BENCH)' -benchmem -count 6 -timeout 60m -p 1 \
		./apps/internal/kernel ./apps/shiftwork/... ./comm/mpi ./dist ./docs/tutorial/plate ./hooks ./lb ./pipeline ./trace

# Rows with the usual build of mm, and with OpenBLAS's.
bench-c: build
	@scripts/setup-openblas.sh
	$(MPI) CGO_ENABLED=1 go build -tags openblas -o ./mm-openblas ./apps/mm
	$(MPI) CGO_ENABLED=1 go build -o build/bench ./scripts/bench
	build/bench c

# The tags are those of package hooks: doc.go there, "Builds for measuring".
bench-hooks: build
	for tag in nohooks idlehooks; do \
		(mkdir -p build/$$tag && $(MPI) CGO_ENABLED=1 go build -tags $$tag -o build/$$tag/ ./apps/sor ./apps/mm); \
	done
	$(MPI) CGO_ENABLED=1 go build -o build/bench ./scripts/bench
	build/bench hooks

# As it is, and with blocks that stand still (tag upright of apps/sor).
bench-waits: build
	mkdir -p build/upright && $(MPI) CGO_ENABLED=1 go build -tags upright -o build/upright/ ./apps/sor ./apps/mm ./apps/load
	$(MPI) CGO_ENABLED=1 go build -o build/bench ./scripts/bench
	build/bench waits --ways auto,block,block@build/upright
	build/bench waits --bin build/upright

# Not part of make test: nobody needs OpenBLAS.
test-openblas: setup
	@scripts/setup-openblas.sh
	$(MPI) CGO_ENABLED=1 go vet -tags openblas ./apps/...
	$(MPI) CGO_ENABLED=1 go test -tags openblas ./apps/internal/openblas ./apps/internal/kernel
	$(MPI) CGO_ENABLED=1 go build -tags openblas -o ./mm-openblas ./apps/mm
	./mm-openblas --ranks 2 --n 300 --verify

# These tests are behind a build tag, because what they import would take a fresh machine a minute to compile.
test-browser: setup staticcheck
	scripts/browser.sh
	CGO_ENABLED=0 go vet -tags nompi,browser ./apps/shiftwork/internal/report
	CGO_ENABLED=0 build/staticcheck -tags nompi,browser ./apps/shiftwork/internal/report
	CGO_ENABLED=0 go test -count 1 -timeout 8m -tags nompi,browser -run 'Browser|StaysUsable' -v ./apps/shiftwork/internal/report

clean:
	rm -rf sor mm mm-openblas load shiftwork shiftwork-metrics build
