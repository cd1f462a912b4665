// Command size counts the lines of Go and the tables of the ledger, so that a change shows its weight:
//
//	go run -C tools ./size            # totals
//	go run -C tools ./size -packages  # and each package
//
// Generated files do not count. Tests are _test.go files and the packages that only tests import.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

var (
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`) // https://go.dev/s/generatedcode
	helpers   = regexp.MustCompile(`(^|/)(testkit|testenv|faults|testdata|[a-z]+test)(/|$)`)
	tables    = regexp.MustCompile(`(?m)^CREATE TABLE `)
)

// weight is the number of lines of a package.
type weight struct{ product, tests int }

func main() {
	perPackage := flag.Bool("packages", false, "list each package")
	flag.Parse()
	if err := count("..", *perPackage); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

// count prints the size of the repository at root.
func count(root string, perPackage bool) error {
	list := exec.CommandContext(context.Background(), "git", "-C", root, "ls-files", "-z", "--", "*.go",
		"*/migrations/mysql/*.sql")
	files, err := list.Output()
	if err != nil {
		return fmt.Errorf("list files: %w", err)
	}
	packages := map[string]*weight{}
	made := 0
	for file := range strings.SplitSeq(strings.Trim(string(files), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, file)) //nolint:gosec // the repository's own files
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			return err
		}
		if path.Ext(file) == ".sql" {
			made += len(tables.FindAll(bytes.ReplaceAll(text, []byte("IF NOT EXISTS "), nil), -1))
			continue
		}
		if generated.Match(text) {
			continue
		}
		dir := path.Dir(file)
		if packages[dir] == nil {
			packages[dir] = &weight{}
		}
		lines := bytes.Count(text, []byte{'\n'})
		if strings.HasSuffix(file, "_test.go") || helpers.MatchString(dir) {
			packages[dir].tests += lines
		} else {
			packages[dir].product += lines
		}
	}
	report(packages, made, perPackage)
	return nil
}

func report(packages map[string]*weight, made int, perPackage bool) {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer func() { _ = out.Flush() }()
	_, _ = fmt.Fprintln(out, "product\ttests\t")
	var total, tools weight
	imported := 0 // packages that are not only tests
	names := make([]string, 0, len(packages))
	for name := range packages {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w := packages[name]
		if perPackage {
			_, _ = fmt.Fprintf(out, "%d\t%d\t  %s\n", w.product, w.tests, name)
		}
		sum := &total
		if strings.HasPrefix(name, "tools") {
			sum = &tools
		} else if w.product > 0 {
			imported++
		}
		sum.product += w.product
		sum.tests += w.tests
	}
	_, _ = fmt.Fprintf(out, "%d\t%d\t  in %d packages, with %d tables\n", total.product, total.tests, imported, made)
	_, _ = fmt.Fprintf(out, "%d\t%d\t  in tools\n", tools.product, tools.tests)
}
