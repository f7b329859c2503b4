.PHONY: help test proof rigs searches chaos soak million mutants weigh stops lint fuzz bench build install tidy vuln sbom pin

GOLANGCI = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
CYCLONEDX = github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.7.0
BASE = golang:1.26-bookworm

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

build: ## build the binary into ./cronce
	CGO_ENABLED=0 go build -trimpath -o cronce ./cmd/cronce

install: ## install what the tests need and is missing (Debian, as root); elsewhere name it
	@.ci/install

# SQLite in Go and the Lua of a simulated Redis stand in for programs in C: the race detector leaves them out, as it would
# leave out those, and watches their callers. It makes them five times slower. The client of ZooKeeper reads the number of
# its last transaction while it writes it, when a connection begins again (go-zookeeper/zk#35): a watch may miss a change for
# that, and waiters also recheck by time.
SERVERS = modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory modernc.org/mathutil github.com/yuin/gopher-lua/... github.com/go-zookeeper/zk

UNWATCHED = -gcflags=all=-dwarf=false $(foreach server,$(SERVERS),'-gcflags=$(server)=-race=false -dwarf=false')

# Most of a first run compiles. A stack has its lines without the tables of a debugger, and one compilation serves what is built
# for all targets. A compiler that collects garbage seldom, while it has less than 2 GiB, takes a fifth less time. Tests and their
# nodes inherit both settings.
test proof rigs searches lint: export GOFLAGS += -gcflags=all=-dwarf=false -ldflags=-w
test proof rigs searches lint: export GOGC = 400
test proof rigs searches lint: export GOMEMLIMIT = 2GiB

# Searches by one goroutine, in which there is nothing to race: they go ten times as far without the detector.
SEARCHES = TestSimulation|TestRandomPlaysInMemoryHold|TestEverySheet|TestOracle|TestOracleBySecond|TestRareEqualsBruteForce|TestEverySequence|TestEverySequenceOfFences|TestLongSequences|TestEveryCluster|TestClusterSearchFindsMistakes|TestSharedQueueModel|TestExceptionsOfRandomHistories|TestEveryClaim|TestLongClaims|TestReadersAgree|TestChangesShowTheSame

# Long spans of simulated time, large fleets, lists of many rows, and the contract by a clock that the test sets: other tests of their
# packages race the same code in a shorter time.
SPANS = TestWeek|TestLastSurvivorOfALargeFleet|TestTicksWithoutWatchers|TestStorms|TestWrongClock|TestContractSimulated|TestContractPartitioned|TestContractExact|TestContractRealExact|TestMillion|TestAnHourOfRefusalsLosesNothing|TestObserverGetsCountOfDropped|TestLogThatFlowsAgain|TestUnsureAsksAreBounded|TestSilentPartitionAtStart|TestLongOutage|TestRotaLeavesOutWhatTicksTell|TestLimitedJobs|TestNewNodeHasAnotherSpecOfBusyJob|TestLongRun|TestSlotsAfterFailures|TestLossyWires|TestUnreadableJobs|TestSpecReturns|TestReplaceComesBack|TestBytesPerEntry|TestOverlapQueueAnsweredSlowly|TestSlowOpenings|TestTakeoverBehindAnUndecidedTick|TestWatchersThatStopHandOver|TestTakeoverInAQuietPartition|TestTakeoverByAFreeNode|TestJitterWithoutWatchers|TestClaimsAreBundledInALargeFleet|TestFewSurvivorsOfALargeFleet|TestFewNodesLearnFromASlowStore|TestTakeoverWithoutWatchers

# Packages about servers, and single tests about processes and servers under faults elsewhere.
RIGS = /internal/(redisserver|sqlserver|zkserver)$$
PROOFS = $(shell grep '^Test' .ci/proof | paste -s -d '|')

# Three packages at once, each on one processor, and four tests of each, keep two processors busy: many tests wait. Those packages
# that take longest begin first. Lint vets. The module test has whole processes, histories of clients, and the tests that need a browser; its list of mutants, the exported names and the words of the code are checked with the unit tests.
LONGEST = ./scheduler ./cmd/cronce ./jobs/stock ./lock/redislock ./lock/zklock ./lock/sqllock
GOTEST = go test -vet=off -shuffle=on
# A process runs its goroutines on one processor, because in a bubble of testing/synctest the runtime may fire two timers at
# once in one context of the race detector, which then crashes (golang/go#78156). Races are found by the order of
# events, which needs no second processor. A process that ends well does not wait a second more for a race, as the detector
# otherwise lets it: the tests end hundreds of them.
RACED = GORACE=atexit_sleep_ms=0 $(GOTEST) $(UNWATCHED) -race -cpu 1 -p 3 -parallel 4

test: install ## unit tests, simulated clusters, the contract of each store on its real server, each command once: raced, a few minutes
	@$(RACED) -timeout 30m -skip '^($(SEARCHES)|$(SPANS)|$(PROOFS))$$' $$(go list $(LONGEST); go list ./... | grep -vE '$(RIGS)')
	@cd test && $(RACED) ./mutants ./house
	@cd examples && $(RACED) ./...

proof: install ## what make test leaves out: processes and servers under faults, chaos, losses, browsers, searches, long spans
	@go build ./... && cd test && go build ./... # once: two commands at the same time would each compile all of it
	@$(MAKE) --no-print-directory -j 2 rigs searches

# The rigs wait most of the time: three packages at once, beside the searches. The browser takes longest, so it begins first.
# Processes under faults are what users run, and go without the detector; make soak races them.
rigs:
	@cd test && $(GOTEST) -p 3 -parallel 6 -timeout 20m ./browser ./proof ./failover ./shards ./soak ./chronos ./history/...
	@$(GOTEST) -p 3 -parallel 6 -timeout 20m $$(go list ./... | grep -E '$(RIGS)')

# Losses, processes under faults, searches and long spans: a search computes while the others wait.
searches:
	@$(GOTEST) -p 3 -parallel 4 -timeout 20m -run '^($(PROOFS)|$(SEARCHES)|$(SPANS))$$' ./scheduler ./jobs/stock ./lock/sqllock ./lock/redislock ./internal/readme ./cmd/cronce ./lock/series ./jobs/sms ./lock/redlock ./lock/zklock ./cmd/shop ./scheduler/spec ./scheduler/verify ./scheduler/internal/claims ./ops ./lock

mutants: install ## plant each known mistake in turn, and print those that no test notices: an hour
	cd test && go run ./mutants -root ..

weigh: ## print for each room, a folder of depth two: files, lines, exported names, longest function, wordy comments
	@cd test && go run ./house weigh

stops: ## print how many functions run for one tick, one acquired lock and one order, and the aims: seconds
	@cd test && go run ./house stops

soak: install ## the long searches, whole: hours
	cd test && CRONCE_SOAK=1 go test -race -count=1 -timeout 1h ./proof
	go test -race -cpu 1 -p 3 -count=1 -timeout 1h -run '^($(PROOFS))$$' ./jobs/... ./lock/... ./cmd/...
	CRONCE_SOAK=1 go test -race -count=1 -timeout 1h -run '^TestContract$$' ./lock/sqllock
	CRONCE_SOAK=1 go test -race -cpu 1 -count=1 -timeout 1h -run '^(TestWeek|TestStorms|TestSimulation|TestLongSequences)$$' ./scheduler ./lock/series
	cd test && CRONCE_SOAK=1 go test -count=1 -timeout 1h ./shards
	cd test && CRONCE_SOAK=1 go test -count=1 -timeout 3h -v ./soak # two hours, or as long as CRONCE_SOAK says
	CRONCE_STOCK_SOAK=60s go test -race -count=1 -timeout 1h -run '^TestChaos$$' ./jobs/stock
	CRONCE_STOCK_ROUNDS=200 go test -race -count=1 -timeout 1h -run '^TestLosses$$' -v ./jobs/stock
	CRONCE_SOAK=1 go test -count=1 -timeout 1h -run '^(TestHeldLeases|TestExceptionsOfRandomHistories)$$' -v ./lock/redislock ./lock/sqllock
	$(MAKE) million
	CRONCE_SOAK=1 go test -count=1 -timeout 12h -run '^(TestEverySheet|TestEveryCluster)$$' -v ./lock/series

chaos: install ## run each store under faults, and two under partitions (as root), two minutes each, and write the tables of docs/chaos.md
	cd test && CRONCE_CHAOS=2m go test -p 1 -count=1 -timeout 1h -run '^(TestUpheaval|TestPartitions)$$' -v ./proof ./chronos

million: install ## hold each script of an outbox with a million messages to 5 ms: a minute or two, on a machine that does nothing else
	CRONCE_SOAK=1 go test -count=1 -timeout 1h -run '^TestMillion$$' -v ./jobs/sms

lint: vuln ## golangci-lint with vet, gofmt, go mod tidy, govulncheck
	@work=$$(mktemp -d) && trap 'rm -r "$$work"' EXIT && export GOWORK="$$work/go.work" && go work init . ./test ./examples && \
	  go run $(GOLANGCI) run ./... ./test/... ./examples/... # one run analyses the dependencies of all modules once
	test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go mod tidy -diff
	cd test && go mod tidy -diff
	cd examples && go mod tidy -diff
	cd bench && go vet ./... && go mod tidy -diff

vuln: ## known vulnerabilities that the code reaches; skipped, and said so, where their database is out of reach
	@.ci/vuln

sbom: ## write what the binary is made of (CycloneDX) into cronce.cdx.json
	CGO_ENABLED=0 go run $(CYCLONEDX) app -json -licenses -main cmd/cronce -output cronce.cdx.json

pin: ## pin the base image of the Dockerfile to what its tag is now (needs docker)
	digest=$$(docker buildx imagetools inspect $(BASE) --format '{{.Manifest.Digest}}') && \
	  sed -i.bak "s|^\(FROM .*\)$(BASE)[^ ]*|\1$(BASE)@$$digest|" Dockerfile && rm Dockerfile.bak

fuzz: ## every fuzz target for 30 seconds
	@for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime 30s $$p || exit 1; \
	  done; \
	done

bench: ## the comparison tables, on a real redis-server
	cd bench && go run .

tidy: ## tidy all modules
	go mod tidy
	cd test && go mod tidy
	cd examples && go mod tidy
	cd bench && go mod tidy
