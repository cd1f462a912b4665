package testenv

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
)

// ModuleDir returns the folder of the server's go.mod. Programs are built there, so that they are made of the
// versions that it names, also when the module tools has them built.
var ModuleDir = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "redrain")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list -m redrain: %w\n%s", err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
})
