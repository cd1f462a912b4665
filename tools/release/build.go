package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// release is the part that all artefacts have in common.
type release struct {
	root, dist string // absolute
	version    string
	date       time.Time
	goroot     string
}

func newRelease(ctx context.Context, root, dist string) (release, error) {
	root, err1 := filepath.Abs(root)
	dist, err2 := filepath.Abs(dist)
	version, err3 := newestVersion(filepath.Join(root, "CHANGELOG.md"))
	date, err4 := commitDate(ctx, root)
	goroot, err5 := output(ctx, root, "go", "env", "GOROOT")
	return release{root: root, dist: dist, version: version, date: date, goroot: goroot},
		errors.Join(err1, err2, err3, err4, err5)
}

// commitDate returns the time of the commit in the tree at root.
func commitDate(ctx context.Context, root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = output(ctx, root, "git", "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, fmt.Errorf("set SOURCE_DATE_EPOCH in a tree without Git: %w", err)
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// output runs a program in a folder and returns its output without the last newline.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// program is redrain for one platform.
type program struct {
	os, arch string
	path     string
	stage    string // folder of the program and its documents
	docs     files  // LICENSE, redrain.yaml, licenses/…
}

// build compiles the program for a platform such as linux/amd64 into a folder below stage, with its documents.
func (r release) build(ctx context.Context, platform, stage string) (program, error) {
	p := program{docs: files{}}
	p.os, p.arch, _ = strings.Cut(platform, "/")
	p.stage = filepath.Join(stage, p.os+"_"+p.arch)
	p.path = filepath.Join(p.stage, "redrain")
	// The levels of the processors are fixed, because the environment may have others. "auto" records the commit where
	// there is one.
	command := exec.CommandContext(ctx, "go", "build", "-C", r.root, "-trimpath", "-mod=readonly", "-buildvcs=auto",
		"-ldflags", "-s -w -X redrain/server.version="+r.version, "-o", p.path, ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if out, err := command.CombinedOutput(); err != nil {
		return p, fmt.Errorf("go build: %w\n%s", err, out)
	}
	var err error
	if p.docs, err = r.licenses(ctx, p.path); err != nil {
		return p, err
	}
	for name, path := range map[string]string{
		"LICENSE": "LICENSE", "redrain.yaml": "docs/use/redrain.yaml", "licenses/pages.txt": "web/dist/licenses.txt",
	} {
		data, err := os.ReadFile(filepath.Join(r.root, path))
		if err != nil {
			return p, err
		}
		p.docs[name] = file{data: data}
	}
	return p, p.docs.writeTo(p.stage)
}

// licenseName matches the names of files with a licence, or with a notice that a licence asks to keep.
var licenseName = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying|^copyright|^notice|^patents`)

// licenses returns the licences of Go and of the modules in a program, as licenses/MODULE@VERSION/FILE.
func (r release) licenses(ctx context.Context, path string) (files, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-m", "-mod=readonly", "-f", "{{.Path}}@{{.Version}} {{.Dir}}"}
	for _, m := range info.Deps {
		args = append(args, m.Path)
	}
	list, err := output(ctx, r.root, "go", args...)
	if err != nil {
		return nil, err
	}
	docs := files{}
	for line := range strings.Lines(list + "\ngo@" + info.GoVersion + " " + r.goroot) {
		module, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		if err := docs.addLicenses(module, dir); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

func (f files) addLicenses(module, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("licence of %s: %w", module, err)
	}
	isFound := false
	for _, e := range entries {
		if e.IsDir() || !licenseName.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		f["licenses/"+module+"/"+e.Name()] = file{data: data}
		isFound = true
	}
	if !isFound {
		return fmt.Errorf("module %s has no licence in %s", module, dir)
	}
	return nil
}
