package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
)

const root = "../.."

func TestMain(m *testing.M) { testenv.Main(m) }

// TestNpmPackage installs the packed library in a fresh npm folder, and has the checkers of packages look at it.
func TestNpmPackage(t *testing.T) {
	testenv.RunsFrom(t, testenv.All) // npx fetches the checkers
	if _, err := exec.LookPath("npm"); err != nil && os.Getenv("CI") == "" {
		t.Skip("SKIPPED: npm is not installed")
	}
	dist := t.TempDir()
	testenv.Must(t, npm(root, dist, "1.2.3"))
	packed := filepath.Join(dist, "redrain-client-1.2.3.tgz")

	fresh := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = fresh
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("npm", "init", "--yes")
	run("npm", "install", "--no-audit", "--no-fund", packed)
	const use = `import { RainClient, CloseCode } from "redrain-client";
new RainClient({ url: "ws://127.0.0.1:1/ws", campaign: "c1", token: "t" }).close();
console.log(CloseCode.badToken);`
	testenv.Must(t, os.WriteFile(filepath.Join(fresh, "use.mjs"), []byte(use), 0o600))
	testenv.Equal(t, run("node", "use.mjs"), "4500\n", "the output of a program that imports names")
	run("npx", "--yes", "publint@0.3.25", "--strict", packed)
	run("npx", "--yes", "@arethetypeswrong/cli@0.18.5", packed, "--profile", "esm-only")
}

// TestTwoPackagesAreEqual: a release can be rebuilt at another time and compared.
func TestTwoPackagesAreEqual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		content := files{"a": {data: []byte("1")}, "b": {data: []byte("2")}, "c": {data: []byte("3"), mode: 0o755}}
		var builds [2][]byte
		for i := range builds {
			path := filepath.Join(t.TempDir(), "packed")
			testenv.Must(t, content.tarGz(path, "package/", time.Time{}))
			builds[i] = testenv.Got(os.ReadFile(path)).Must(t)
			<-time.After(time.Hour)
		}
		if !bytes.Equal(builds[0], builds[1]) {
			t.Error("two builds differ")
		}
	})
}

func TestNewestVersion(t *testing.T) {
	for text, want := range map[string]string{
		"## [Unreleased]\n": unreleased,
		"## [Unreleased]\n\n## [0.2.0] - 2026-12-24\n\n## [0.1.0] - 2026-12-01\n": "0.2.0",
	} {
		file := filepath.Join(t.TempDir(), "CHANGELOG.md")
		testenv.Must(t, os.WriteFile(file, []byte(text), 0o600))
		testenv.Got(newestVersion(file)).Want(t, want, "the version of %q", text)
	}
}
