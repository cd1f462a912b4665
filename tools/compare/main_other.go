//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	_, _ = fmt.Fprintln(os.Stderr, "compare: it reads /proc; run it on Linux")
	os.Exit(1)
}
