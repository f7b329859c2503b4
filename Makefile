.PHONY: help test soak lint fuzz bench build install tidy

GOLANGCI = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

build: ## build the binary into ./cronce
	CGO_ENABLED=0 go build -trimpath -o cronce ./cmd/cronce

install: ## install what the tests need and is missing (Debian, as root); elsewhere name it
	@.ci/install

test: install ## all tests, raced and shuffled, against real servers
	go test -race -shuffle=on -timeout 15m ./...
	go test -count=1 -run '^TestEveryCluster$$' ./lock/series # a search by one goroutine: ten times as far without the race detector

soak: install ## the long searches, whole: hours
	CRONCE_SOAK=1 go test -count=1 -timeout 12h -run '^TestEveryCluster$$' -v ./lock/series

lint: ## vet, golangci-lint, gofmt, go mod tidy
	go vet ./...
	go run $(GOLANGCI) run ./...
	test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go mod tidy -diff
	cd bench && go vet ./... && go mod tidy -diff

fuzz: ## every fuzz target for 30 seconds
	@for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime 30s $$p || exit 1; \
	  done; \
	done

bench: ## the comparison tables of the README, on a real redis-server
	cd bench && go run .

tidy: ## tidy both modules
	go mod tidy
	cd bench && go mod tidy
