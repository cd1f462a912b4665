// Command allocs runs the benchmarks of the hot paths and compares their allocations with limits.txt. It exits with 1
// where one exceeds its limit. Times are not compared: they say more about the machine than about the program.
//
//	go run -C tools ./allocs
package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

//go:embed limits.txt
var limitsText []byte

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "allocs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	limits, err := readLimits(bytes.NewReader(limitsText))
	if err != nil {
		return fmt.Errorf("limits.txt: %w", err)
	}
	var failed error
	for _, l := range limits {
		got, err := measure(ctx, l)
		if err != nil {
			return err
		}
		if err := compare(os.Stdout, l, got); err != nil {
			failed = err
		}
	}
	return failed
}

// measure runs a benchmark a fixed number of times, so that one-time allocations weigh the same in each run.
func measure(ctx context.Context, l limit) (measured, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-C", "..", "-run", "^$", "-bench", l.pattern(), "-benchmem",
		"-benchtime", strconv.Itoa(l.times)+"x", l.pkg)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		_, _ = os.Stderr.Write(out)
		return nil, fmt.Errorf("%s of %s: %w", l.name, l.pkg, err)
	}
	return readMeasured(bytes.NewReader(out), l.pkg)
}
