// Command apitypes writes the TypeScript types of the HTTP API's schemas, web/src/shared/schemas.ts, from
// docs/openapi.yaml, so that nobody keeps them by hand. It runs openapi-typescript through npx. Run it at the root of
// the module:
//
//	go run ./web/apitypes          write the file; `go generate ./web` does it too
//	go run ./web/apitypes -check   fail where the file is not what would be written
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"redrain/docs"
)

const (
	target    = "web/src/shared/schemas.ts"
	generator = "openapi-typescript@7.13.0"
	compiler  = "typescript@5.9.3" // openapi-typescript needs version 5 as a library
)

func main() {
	check := flag.Bool("check", false, "fail where "+target+" is not what would be written")
	flag.Parse()
	if err := run(context.Background(), *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, check bool) error {
	types, err := generate(ctx, docs.OpenAPI)
	if err != nil {
		return err
	}
	types = append(header(docs.OpenAPI, types), types...)
	if !check {
		return os.WriteFile(target, types, 0o644) //nolint:gosec // a source, for all to read
	}
	if committed, err := os.ReadFile(target); err != nil || !bytes.Equal(committed, types) {
		return errors.Join(errors.New(target+" is stale: run `go generate ./web`"), err)
	}
	return nil
}

// header begins the file. Its hashes let a test without npx notice that the description has changed since, or that
// somebody has edited the types.
func header(description, types []byte) []byte {
	return fmt.Appendf(nil, "// Generated from docs/openapi.yaml by %s: see web/apitypes. DO NOT EDIT.\n"+
		"// openapi.yaml: sha256 %x\n// what follows: sha256 %x\n", generator, sha256.Sum256(description),
		sha256.Sum256(types))
}

// generate makes the types of the description's schemas. It leaves the paths out: no page uses their types.
func generate(ctx context.Context, description []byte) ([]byte, error) {
	var doc struct {
		OpenAPI    string         `yaml:"openapi"`
		Info       yaml.Node      `yaml:"info"`
		Paths      map[string]any `yaml:"paths"`
		Components struct {
			Schemas yaml.Node `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(description, &doc); err != nil {
		return nil, err
	}
	doc.Paths = map[string]any{}
	schemas, err := yaml.Marshal(doc)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "apitypes")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	in, out := filepath.Join(dir, "openapi.yaml"), filepath.Join(dir, "schemas.ts")
	if err := os.WriteFile(in, schemas, 0o600); err != nil {
		return nil, err
	}
	//nolint:gosec // fixed arguments, and a temporary folder of our own
	npx := exec.CommandContext(ctx, "npx", "--yes", "--package", generator, "--package", compiler,
		"openapi-typescript", in, "--output", out,
		"--root-types", "--root-types-no-schema-prefix", "--default-non-nullable=false")
	npx.Stderr = os.Stderr
	if err := npx.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", generator, err)
	}
	return os.ReadFile(out) //nolint:gosec // in our own temporary folder
}
