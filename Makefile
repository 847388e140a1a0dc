# One command passes everything: make test. It sets up what it needs (Go
# fetches the pinned toolchain pieces; interop fetches the clients it runs).
#
#   make serve    run the broker on 127.0.0.1:9092
#   make test     every check and test, as CI runs them
#   make quick    the main module's tests without the race detector
#   make fuzz     each fuzz target for FUZZTIME
#   make bench    the side-by-side comparison (minutes; prints ratios)
#   make generate everything that is generated, anew

GO          ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
TAGS        ?= synctests
FUZZTIME    ?= 30s
# Pure rooms: nothing in them runs beside anything else, and internal/lint sees to that. Their tests look at more without the race detector.
PURE        := ./assign/... ./broker/internal/eossim/history ./broker/internal/producers ./broker/internal/record ./consumer/internal/... ./internal/fence ./internal/group ./internal/roster ./internal/transaction ./internal/txn ./internal/work
# Rooms that look at a disk after each of its changes: a few of them under the race detector, and all without it.
FULL        := ./broker ./broker/internal/commit ./broker/internal/partition ./broker/internal/storage
MODULES     := . assign/kgobalancer assign/saramabalancer interop bench

.PHONY: test checks quick tidy vet static cross generate race fuzz interop bench benchcheck serve

# Clients and brokers of others wait most of the time, and mind when they are kept waiting; the rest has work for all cores, and
# does not mind. So the rest fills the gaps. Both tell of a package when it has ended, so that what they say of it stays together.
test:
	@$(MAKE) --no-print-directory -j2 checks interop
	@echo "all checks and tests passed"

checks:
	@for step in tidy vet static cross race benchcheck; do nice $(MAKE) --no-print-directory $$step || exit 1; done

serve:
	$(GO) run ./cmd/skein serve

vet:
	@for m in $(MODULES); do echo "== vet $$m"; (cd $$m && test -z "$$(gofmt -l . | tee -a /dev/stderr)" && $(GO) vet -tags $(TAGS) ./...) || exit 1; done

static:
	@for m in $(MODULES); do echo "== staticcheck $$m"; (cd $$m && $(GO) run $(STATICCHECK) -tags $(TAGS) ./...) || exit 1; done

# go.mod names what the code uses, and no more. (That generated files are fresh is a test beside each generator.)
tidy:
	@for m in $(MODULES); do echo "== tidy $$m"; (cd $$m && $(GO) mod tidy -diff) || exit 1; done

generate:
	$(GO) run ./internal/settings/gen

# The other systems build: durable writes, the directory lock and sendfile each have one file a system.
cross:
	@for os in darwin windows; do echo "== build for $$os"; GOOS=$$os CGO_ENABLED=0 $(GO) build ./... || exit 1; done

quick:
	$(GO) test -tags $(TAGS) ./...

# What go vet has to say of tests, make vet has said.
race:
	@echo "== tests under the race detector"
	$(GO) test -race -vet=off -tags $(TAGS) -timeout 25m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(PURE))")
	$(GO) test -vet=off -tags $(TAGS) -timeout 25m $(FULL) $(PURE)
	cd assign/kgobalancer && $(GO) test -race -vet=off ./...
	cd assign/saramabalancer && $(GO) test -race -vet=off ./...

interop:
	@echo "== real clients and real Apache Kafka"
	cd interop && $(GO) run ./cmd/interop

# The comparison itself takes minutes; the tests only show that it runs.
benchcheck:
	@echo "== the benchmark harness works"
	cd bench && $(GO) test -vet=off -timeout 15m ./...

bench:
	cd bench && $(GO) run .

fuzz:
	@$(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/{f[n++]=$$1} /^ok/{for(i=0;i<n;i++) print $$2, f[i]; n=0}' | \
	while read pkg name; do echo "== $$pkg $$name"; $(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; done
