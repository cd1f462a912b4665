# Each target says what it does behind ##; `make` lists them.

GO        ?= go
LINT       = $(GO) tool -modfile=$(CURDIR)/tools/lint/go.mod golangci-lint
VALE       = $(GO) tool -modfile=$(CURDIR)/tools/lint/go.mod vale --config tools/lint/vale/vale.ini --output line
GREMLINS   = $(GO) run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
FUZZTIME  ?= 10s
BENCHTIME ?= 1s
HOSTILE   ?= 1h
ARGS      ?=
ROWS      ?=
# The packages whose comments follow our rules of prose: all but the UNREAD, which are generated.
PROSE      = $(filter-out $(UNREAD),$(patsubst %/,%,$(sort $(dir $(shell git ls-files '*.go')))))
UNREAD     = client/openapi
PAGES      = README.md CONTRIBUTING.md CHANGELOG.md deploy/README.md $(wildcard docs/*/*.md)
PACKAGES  ?= ./rain ./room ./internal/wire ./internal/auth ./internal/ws ./grab/outcome

# The pages' types of the API, which openapi-typescript makes; it needs version 5 of the compiler as a library.
SCHEMAS = npx --yes --package openapi-typescript@7.13.0 --package typescript@5.9.3 openapi-typescript \
	docs/openapi.yaml --output web/src/shared/schemas.ts --root-types --root-types-no-schema-prefix \
	--default-non-nullable=false

# The compiler only checks: esbuild, which is a Go library, makes the scripts. 7 is the native one.
TYPESCRIPT = 7.0.2

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## start everything in one process (ARGS="--listen :9000 …")
	$(GO) run . $(ARGS)

.PHONY: build
build: ## build the program as bin/redrain
	$(GO) build -trimpath -o bin/redrain .

.PHONY: release
release: ## build programs, packages, images, bills of materials and checksums into dist/, offline
	$(GO) run -C tools ./release $(ARGS)

.PHONY: quick
quick: ## run the unit and property tests on the in-process back ends
	$(GO) run -C tools ./test -quick $(ARGS)

.PHONY: test
test: ## run the tests on real servers, installed where that is allowed (ARGS="./grab/..." for some packages)
	$(GO) run -C tools ./test $(ARGS)

.PHONY: test-all
test-all: ## run the tests that CI runs: with fault matrices, crash points and the race detector
	$(GO) run -C tools ./test -all $(ARGS)

.PHONY: test-nightly
test-nightly: ## run all tests: with soaks, hostile traffic, every cell of every matrix, every device
	$(GO) run -C tools ./test -nightly $(ARGS)

.PHONY: bench
bench: ## run all benchmarks (BENCHTIME=1s for each)
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -timeout 30m ./...

.PHONY: allocs
allocs: ## measure what the hot paths allocate, and compare it with tools/allocs/limits.txt
	$(GO) run -C tools ./allocs

.PHONY: compare
compare: ## measure redrain beside the textbook design, on real servers (ROWS=taps,idle for some; ARGS="-rounds 5 -json")
	$(GO) run -C tools ./compare -rows '$(ROWS)' $(ARGS)

.PHONY: mutate
mutate: ## change the code in small ways and list the changes that no test notices (PACKAGES=./rain; ARGS="--diff main")
	@for package in $(PACKAGES); do $(GREMLINS) unleash $(ARGS) $$package || exit 1; done

.PHONY: fuzz
fuzz: ## fuzz each fuzz target for a short time (FUZZTIME=10s)
	@grep -roE --include='*_test.go' '^func Fuzz\w*' . | \
	while IFS=: read -r file func; do \
		echo "== $$(dirname $$file) $${func#func }"; \
		$(GO) test -run '^$$' -fuzz "^$${func#func }$$" -fuzztime $(FUZZTIME) $$(dirname $$file) || exit 1; \
	done

.PHONY: hostile
hostile: ## send a node whatever makes no sense, over HTTP and WebSocket (HOSTILE=1h; ARGS=-hostile-rate=0 for as fast as it goes)
	$(GO) test ./internal/e2e -count=1 -v -run '^TestHostile$$' -hostile $(HOSTILE) -timeout 0 $(ARGS)

.PHONY: size
size: ## count lines of Go, packages and tables (ARGS=-packages lists each package)
	$(GO) run -C tools ./size $(ARGS)

.PHONY: lint
lint: export GOFLAGS += -trimpath # the compiled packages are shared with the tests'
lint: prose ## check go.mod, and the code with golangci-lint: format, go vet, the directions of imports; and the prose
	$(GO) mod tidy -diff
	$(GO) -C tools mod tidy -diff
	$(LINT) run ./...
	cd tools && $(LINT) run ./...

.PHONY: prose
prose: ## check the comments of the packages in PROSE, and the pages, with Vale: short sentences, and the field's words
	@$(VALE) $(filter-out %_test.go,$(wildcard $(PROSE:%=%/*.go))) $(PAGES)

.PHONY: types
types: ## check the types of the pages' TypeScript, and that those of the API are fresh (needs npx, which fetches the tools)
	$(SCHEMAS) --check
	npx --yes --package typescript@$(TYPESCRIPT) tsc --project web
	npx --yes --package typescript@$(TYPESCRIPT) tsc --project web/tsconfig.phones.json

.PHONY: schemas
schemas: ## make the pages' types of the API anew (needs npx, which fetches the tool)
	$(SCHEMAS)

.PHONY: fmt
fmt: ## format the code
	$(LINT) fmt

.PHONY: generate
generate: ## make the generated files anew
	$(GO) generate ./...

.PHONY: pictures
pictures: ## take the README's pictures of the pages anew (needs chromium)
	$(GO) run -C tools ./pictures

.PHONY: lighthouse
lighthouse: ## have Lighthouse look at the pages; fails under 95 (needs chromium, and npx, which fetches it; ARGS="-runs 3")
	$(GO) run -C tools ./lighthouse $(ARGS)

.PHONY: check
check: lint types allocs test-all ## all that CI checks
