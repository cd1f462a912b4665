# Each target says what it does behind ##; `make` lists them.

GO        ?= go
LINT      := $(GO) tool -modfile=tools/lint/go.mod golangci-lint
FUZZTIME  ?= 10s
BENCHTIME ?= 1s
ARGS      ?=
ROWS      ?=

# The race detector watches all but SQLite, which is translated C, and the Lua of the stand-in for Redis: what comes to them passes through
# database/sql and one lock, and watched they take five times as long, which was a third of the time of all tests.
RACE = -race -gcflags='modernc.org/...=-race=false' -gcflags='github.com/yuin/gopher-lua/...=-race=false'

# The packages whose tests take longest begin first, so that none of them is left to run alone at the end.
LONG = ./internal/e2e ./payout ./server ./web

# The compiler only checks: esbuild, which is a Go library, makes the scripts. 7 is the native one.
TYPESCRIPT = 7.0.2

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## start everything in one process (ARGS="--listen :9000 …")
	$(GO) run . $(ARGS)

.PHONY: build
build: ## build the program as bin/redrain
	$(GO) build -trimpath -o bin/redrain .

.PHONY: test
test: ## run all tests, with the race detector, on the real servers that are installed
	$(GO) test $(RACE) -timeout 30m $(LONG) ./...

.PHONY: bench
bench: ## run all benchmarks (BENCHTIME=1s for each)
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -timeout 30m ./...

.PHONY: allocs
allocs: ## measure what the hot paths allocate, and compare it with tools/allocs/limits.txt
	$(GO) run -C tools ./allocs

.PHONY: compare
compare: ## measure redrain beside the textbook design, on real servers (ROWS=taps,idle for some; ARGS="-rounds 5 -json")
	$(GO) run -C tools ./compare -rows '$(ROWS)' $(ARGS)

.PHONY: fuzz
fuzz: ## fuzz each fuzz target for a short time (FUZZTIME=10s)
	@grep -roE --include='*_test.go' '^func Fuzz\w*' . | \
	while IFS=: read -r file func; do \
		echo "== $$(dirname $$file) $${func#func }"; \
		$(GO) test -run '^$$' -fuzz "^$${func#func }$$" -fuzztime $(FUZZTIME) $$(dirname $$file) || exit 1; \
	done

.PHONY: lint
lint: ## check go.mod, go vet, golangci-lint: format, faults, and the directions of imports
	$(GO) mod tidy -diff
	$(GO) -C tools mod tidy -diff
	$(GO) vet -tags faults ./...
	$(LINT) run ./...
	cd tools && $(GO) tool -modfile=lint/go.mod golangci-lint run ./...

.PHONY: types
types: ## check the types of the pages' TypeScript (needs npx, which fetches the compiler)
	npx --yes --package typescript@$(TYPESCRIPT) tsc --project web

.PHONY: fmt
fmt: ## format the code
	$(LINT) fmt

.PHONY: generate
generate: ## make the generated files anew
	$(GO) generate ./...

.PHONY: pictures
pictures: ## take the README's pictures of the pages anew (needs chromium)
	$(GO) run -C tools ./pictures

.PHONY: check
check: lint types allocs test ## all that CI checks
