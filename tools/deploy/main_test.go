// Package deploy holds the tests of the folder deploy: each file is read by the program that it is for, and redrain
// checks its own settings in it. The package has nothing but tests.
package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// file returns the content of a file of deploy.
func file(t *testing.T, name ...string) string {
	t.Helper()
	return string(testenv.Got(os.ReadFile(path(name...))).Must(t))
}

func path(name ...string) string {
	return filepath.Join(append([]string{"..", "..", "deploy"}, name...)...)
}

// write writes a file into a folder of the test.
func write(t *testing.T, name, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	testenv.Must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// run runs a program, which must succeed, and returns its output.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}
