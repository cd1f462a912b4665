package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"redrain/internal/testenv"
)

const root = "../.."

// TestNpmPackage installs the packed library in a fresh npm folder, and has the checkers of packages look at it.
func TestNpmPackage(t *testing.T) {
	testenv.RunsFrom(t, testenv.All) // npx fetches the checkers
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

// TestTwoPackagesAreEqual: a release can be rebuilt and compared.
func TestTwoPackagesAreEqual(t *testing.T) {
	var builds [2][]byte
	for i := range builds {
		dir := t.TempDir()
		testenv.Must(t, release(root, dir))
		found, err := filepath.Glob(filepath.Join(dir, "redrain-client-*.tgz"))
		testenv.Must(t, err)
		testenv.Equal(t, len(found), 1, "the number of npm packages")
		builds[i], err = os.ReadFile(found[0])
		testenv.Must(t, err)
	}
	if !bytes.Equal(builds[0], builds[1]) {
		t.Error("two builds differ")
	}
}
