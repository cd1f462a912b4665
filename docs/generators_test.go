package docs_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"redrain/internal/testenv"
)

// TestGeneratorsTakeTheAPI runs generators on openapi.yaml, with no option but a package name, and compiles their Go
// code.
func TestGeneratorsTakeTheAPI(t *testing.T) {
	testenv.RunsFrom(t, testenv.Nightly) // compiles the generators, and npx fetches one
	module, err := filepath.Abs("../tools/generators")
	testenv.Must(t, err)
	dir, err := os.MkdirTemp(module, "generated") //nolint:usetesting // the generators run in the module
	testenv.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	api, err := filepath.Abs("openapi.yaml")
	testenv.Must(t, err)
	for name, command := range map[string][]string{
		"oapi-codegen": {"go", "tool", "oapi-codegen", "-package", "oapi", "-o",
			filepath.Join(dir, "oapi", "api.gen.go"), api},
		"ogen":               {"go", "tool", "ogen", "-target", filepath.Join(dir, "ogen"), "-package", "api", api},
		"openapi-typescript": {"npx", "--yes", "openapi-typescript@7.13.0", api, "-o", filepath.Join(dir, "api.ts")},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skip(err)
			}
			testenv.Must(t, os.MkdirAll(filepath.Join(dir, "oapi"), 0o700))
			run(t, module, command...)
			if command[0] == "go" {
				run(t, dir, "go", "build", "./...")
			}
		})
	}
}

// TestOurTypesAreFresh generates client/openapi anew and compares.
func TestOurTypesAreFresh(t *testing.T) {
	testenv.RunsFrom(t, testenv.All) // compiles the generator
	const committed = "../client/openapi/openapi.gen.go"
	anew := filepath.Join(t.TempDir(), "openapi.gen.go")
	run(t, "../tools/generators", "go", "run", ".", "../../client/openapi", anew)
	got, err := os.ReadFile(anew)
	testenv.Must(t, err)
	if want, err := os.ReadFile(committed); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v): go generate ./client/openapi", committed, err)
	}
}

func run(t *testing.T, dir string, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), command[0], command[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", command, err, out)
	}
}
