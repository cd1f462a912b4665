package providertest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"redrain/internal/testenv"
)

// RunNode runs a script of Node with npm packages, and returns its answer about in. The script is the body of a
// function of in that returns the answer. In CI npm must be there.
func RunNode[Out any](t *testing.T, script string, in any, packages ...string) (out Out) {
	t.Helper()
	testenv.RunsFrom(t, testenv.All) // npm fetches the packages
	if _, err := exec.LookPath("npm"); err != nil && os.Getenv("CI") == "" {
		t.Skip("SKIPPED: npm is not installed")
	}
	dir := t.TempDir()
	run := func(stdin []byte, name string, args ...string) []byte {
		t.Helper()
		var stdout, stderr bytes.Buffer
		command := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...) //nolint:gosec // of tests
		command.Dir, command.Stdin, command.Stdout, command.Stderr = dir, bytes.NewReader(stdin), &stdout, &stderr
		if err := command.Run(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, stderr.Bytes())
		}
		return stdout.Bytes()
	}
	run(nil, "npm", append([]string{"install", "--no-audit", "--no-fund", "--prefix", dir}, packages...)...)
	const frame = `const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(((given) => {`
	script = frame + script + "})(given)));"
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "script.cjs"), []byte(script), 0o600))
	answer := run(testenv.Got(json.Marshal(in)).Must(t), "node", "script.cjs")
	testenv.Must(t, json.Unmarshal(answer, &out))
	return out
}

// SignedTexts are ten texts of requests: empty, long, with other scripts, quotes, escapes and line ends.
func SignedTexts() []string {
	return []string{
		"", "{}", `{"out_bill_no":"w5xq2o4n7h3k1m9ab","transfer_amount":250}`, `{"transfer_remark":"红包提现"}`,
		`{"remark":"🎉 100% “sure” & <b>"}`, "line\nnext line\r\n", `{"quote":"\"\\\u2028"}`, "  spaces  ",
		string(bytes.Repeat([]byte("0123456789abcdef"), 500)), `{"a":[1,2,{"b":null}],"c":1.50}`,
	}
}
