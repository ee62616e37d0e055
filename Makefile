# SPDX-License-Identifier: Apache-2.0
# make help lists the targets. What the tests need beyond Go, make and a C compiler is installed by
# scripts/setup-tests.sh (as root, or by sudo), which ends at once when all is there.

GO        ?= go
# The race detector and the cgo resolver are not needed in the product: one static binary.
# The version is git's word for this tree; without git it is what the Go tool knows.
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null)
BUILD     := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-X main.built=$(VERSION)'
BIN       := bin/prywalk
# What the build, the tests and the linters compile is the same, and is compiled once.
SHARED    := CGO_ENABLED=0 GOFLAGS="$$GOFLAGS -trimpath"
LINT      := $(SHARED) $(GO) tool -modfile=$(CURDIR)/tools/go.mod golangci-lint
CHECK     := $(SHARED) $(GO) tool -modfile=$(CURDIR)/tools/go.mod staticcheck
FUZZTIME  ?= 10s
BENCHTIME ?= 200ms
# The paths of its flags begin here, too. Other tools name the frames of its workloads by symbols.
OVERHEAD  := $(GO) -C benchmarks run -ldflags '-s=0 -w=0' ./overhead
# Where the results of the benchmarks go, and what overhead is to be told besides.
RESULTS    ?= bench
BENCHFLAGS ?=

# The modules: the product and all of its tests, and what measures it.
MODULES := . benchmarks

.PHONY: all build setup setup-all check test test-all test-hard vet-arches test-arm64 test-kernels test-systemd test-userlands test-race torture-stops go-releases bench bench-go bench-quick bench-busy bench-full bench-docs bench-known peers counts counts-arm64 rows lint fmt demo dist test-dist third-party rename fuzz clean help

all: build

## build: compile bin/prywalk
build: $(BIN)

# Go decides itself what is out of date.
.PHONY: $(BIN)
$(BIN):
	$(BUILD) -o $@ ./cmd/prywalk

## setup: install what make test needs (as root or by sudo, on Debian; otherwise its tests are skipped, and listed)
setup:
	@sh scripts/setup-tests.sh

## setup-all: install what make test-all needs; it fails if it cannot
setup-all:
	@sh scripts/setup-tests.sh all

## check: the developer's loop: static checks of changed packages, the fast tests and those of what changed (BASE: since when)
check:
	@sh scripts/check.sh $(BASE)

# make gives variables of its command line to what it runs: TESTFLAGS are flags of go test, TESTFORMAT is gotestsum's.
## test: every package, with one release of each language (PACKAGES: these only, as ./frames ./report)
test: setup
	@sh scripts/test.sh $(PACKAGES)

## test-all: make test and the rest: all releases that are installed, oracle, torture, statistics, emulated machines: arm64, two kernels
test-all: setup-all
	@PRYWALK_TESTS=all sh scripts/test.sh $(PACKAGES)

## test-hard: make test in each of a dozen unusual environments, such as without a terminal (a night; ENVIRONMENTS: some of them)
test-hard: setup
	@sh scripts/test-hard.sh $(ENVIRONMENTS)

# Its passes compile anew what the tests need, hence it is a part of lint.
vet-arches:
	@set -ex; for module in $(MODULES); do \
		GOARCH=amd64 $(SHARED) $(GO) -C $$module vet ./...; \
		GOARCH=arm64 $(SHARED) $(GO) -C $$module build ./...; \
		GOARCH=arm64 $(SHARED) $(GO) -C $$module vet ./...; \
	done

## test-arm64: prywalk and its system calls in an emulated arm64 machine (some minutes; KERNEL: 5.10 or newest, of Debian)
test-arm64: setup-all
	@dir=$$(sh scripts/arm64/fetch.sh) || exit; \
	$(if $(KERNEL),kernels=$$(ARCH=arm64 sh scripts/kernels/fetch.sh $(KERNEL)) || exit; export ARM64_KERNEL=$$kernels/$(KERNEL)/vmlinuz;) \
	PRYWALK_ARM64=$$dir $(GO) test -timeout 3h -count=1 -v ./integration/arm64

## test-kernels: prywalk on Debian's kernels 5.10, 6.1, 6.1-rt, 6.12 and the newest, in emulated machines (some 15 minutes each, and one with 64 processors; KERNELS: some of them)
KERNELS ?= 5.10 6.1 6.1-rt 6.12 newest
test-kernels:
	@sh scripts/setup-tests.sh kernels
	@dir=$$(sh scripts/kernels/fetch.sh $(KERNELS)) || exit; \
	PRYWALK_KERNELS=$$dir KERNELS='$(KERNELS)' CGO_ENABLED=0 $(GO) test -trimpath -timeout 7h -count=1 -v ./integration/kernels

## test-systemd: the deb package's service under systemd as the first program of an emulated machine (as root; some 10 minutes)
test-systemd: setup-all
	@dir=$$(sh scripts/kernels/fetch.sh 6.1) && root=$$(sh scripts/kernels/systemd.sh) || exit; \
	PRYWALK_KERNELS=$$dir PRYWALK_SYSTEMD=$$root CGO_ENABLED=0 $(GO) test -trimpath -timeout 40m -count=1 -v -run Systemd ./integration/kernels

## test-userlands: prywalk on the languages' programs of Debian 11 and 13, in chroots (as root; some minutes, and more to make them)
test-userlands: setup-all
	@dir=$$(sh scripts/userlands/make.sh) || [ -n "$$dir" ] || exit; \
	PRYWALK_USERLANDS=$$dir CGO_ENABLED=0 $(GO) test -trimpath -timeout 1h -count=1 -v ./integration/userlands

## torture-stops: STOPS (1,000,000) forced stops of threads in every blocking call, against the table (some 10 to 30 minutes)
STOPS ?= 1000000
torture-stops: setup-all
	TORTURE_STOPS=$(STOPS) $(GO) test -timeout 3h -count=1 -v -run TestEffectOfAStopOnEachCall ./integration/torture

## go-releases: the tests of Go programs with every release from 1.18 to 1.27; make test has 1.19, 1.20, 1.27 and the current one (fetches toolchains of 100 MB each; some minutes)
go-releases: setup-all
	PRYWALK_GO_RELEASES=1 $(GO) test -timeout 30m -count=1 ./internal/walk/runtimes/golang ./internal/show/dump

## test-race: the tests under the race detector, without those of real programs
test-race: setup-all
	CGO_ENABLED=1 $(GO) test -race -short -timeout 30m ./...
	CGO_ENABLED=1 $(GO) -C benchmarks test -race -short -timeout 30m ./...

## bench: what sampling costs, in brief (bench/quick.json and .svg), and every Go benchmark, briefly
bench: bench-quick bench-go

## bench-go: every Go benchmark, briefly
bench-go: setup-all
	@set -ex; for module in $(MODULES); do \
		CGO_ENABLED=0 $(GO) -C $$module test -trimpath -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -timeout 15m -p 1 ./...; \
	done

## bench-quick: what sampling costs, in brief; BENCHFLAGS=-check fails on a broken promise
bench-quick: build
	@mkdir -p $(RESULTS)
	$(OVERHEAD) -quick -json $(RESULTS)/quick.json -svg $(RESULTS)/quick.svg $(BENCHFLAGS)

## bench-busy: what sampling costs programs on a busy host, as nobody, beside perf and py-spy (an hour or more; BENCHFLAGS="-n 3 -d 3s": less)
bench-busy: setup-all peers
	@mkdir -p $(RESULTS)
	PATH="$(CURDIR)/bin/peers:$$PATH" $(GO) -C benchmarks run ./busyhost -raw $(RESULTS)/busy.json -docs benchmarks/results/busy-host.md $(BENCHFLAGS)

## bench-full: what sampling costs, with all workloads and beside all peers (a night: 5 to 8 hours); PART, WORKLOAD: a part of it
PART     ?= full
WORKLOAD ?= all
bench-full: build setup-all peers
	@mkdir -p $(RESULTS)
	PATH="$(CURDIR)/bin/peers:$$PATH" $(OVERHEAD) -peers -workload $(WORKLOAD) -json $(RESULTS)/$(PART).json -svg $(RESULTS)/$(PART).svg $(BENCHFLAGS)

## peers: fetch the profilers that bench-full measures beside prywalk, into bin/peers
peers:
	scripts/setup-peers.sh bin/peers

## bench-docs: put the last bench-full's tables and charts into benchmarks/results and docs/charts (FULL: other files, separated by commas)
FULL ?= $(RESULTS)/full.json
bench-docs:
	$(OVERHEAD) -from $(FULL) -docs benchmarks/results/overhead.md -svg benchmarks/results/overhead.svg
	$(GO) -C benchmarks run ./charts

## bench-known: make benchmarks/known.json, which CI compares ratios with, of the same files
bench-known:
	$(OVERHEAD) -from $(FULL) -write-known benchmarks/known.json

## counts: measure the counts' baseline anew (benchmarks/counts)
counts: setup-all
	$(GO) -C benchmarks test ./counts -run Risen -update

## counts-arm64: the same of the emulated arm64 machine, single observations only
counts-arm64: setup-all
	@dir=$$(sh scripts/arm64/fetch.sh) || exit; \
	PRYWALK_ARM64=$$dir ARM64_COUNTS=1 ARM64_ONLY=counts $(GO) test -timeout 30m -count=1 -v ./integration/arm64 -run Product

## rows: every row of call frame information of the ROWS (10) largest libraries, against readelf's (some minutes)
ROWS ?= 10
rows:
	ROWS_LIBRARIES=$(ROWS) $(GO) test -timeout 2h -count=1 -v -run EveryRowOfTheLargest ./dwarfunwind

## lint: formatting, vet for both architectures, staticcheck, golangci-lint
lint: vet-arches
	@unformatted=$$(git ls-files -z --cached --others --exclude-standard -- '*.go' | xargs -0 -r gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi
	$(CHECK) ./...
	$(LINT) run ./...
	cd benchmarks && $(CHECK) ./...
	cd benchmarks && $(LINT) run ./...
	$(GO) -C integration/collector vet ./...
	$(GO) -C integration/kubernetes vet ./...

## fmt: format all Go files
fmt:
	git ls-files -z --cached --others --exclude-standard -- '*.go' | xargs -0 -r gofmt -w

# What a release consists of: archives, packages, an OCI image layout, an SBOM, checksums. It takes git, Go and the
# Go module proxy. VERSION is git's word for the commit; the same commit gives the same bytes.
## dist: build the release files into dist/
dist:
	cd tools && $(GO) run ./dist -root .. -version '$(VERSION)'

## test-dist: build two releases, compare them, and install the packages in fresh roots (as root; some minutes)
test-dist: setup-all
	cd tools && $(GO) test -count=1 -timeout 30m ./dist

## third-party: write THIRD_PARTY.md, the list of linked libraries and their licences
third-party:
	cd tools && $(GO) run ./dist -root .. -third-party

## demo: record a built-in workload and print its report
demo: build
	$(BIN) demo

## rename: give the module another path, such as MODULE=example.org/prywalk, in all files that import it
rename:
	@[ -n "$(MODULE)" ] || { echo "give MODULE=PATH, the module's new path"; exit 2; }
	sh scripts/rename-module.sh '$(MODULE)'

## fuzz: each fuzz test for FUZZTIME (10s)
fuzz:
	@set -e; for module in $(MODULES); do \
		$(GO) -C $$module list -f '{{.ImportPath}}' ./... | while read -r pkg; do \
			$(GO) -C $$module test -list '^Fuzz' "$$pkg" </dev/null | grep '^Fuzz' | while read -r name; do \
				echo "$$pkg $$name"; \
				$(GO) -C $$module test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$pkg" </dev/null || exit 1; \
			done || exit 1; \
		done || exit 1; \
	done

## clean: remove what was built here
clean:
	rm -rf bin dist $(RESULTS)

## help: this list
help:
	@sed -n 's/^## /  /p' $(MAKEFILE_LIST)
