package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"log/slog"
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
	revision   string // of Git, with "+dirty" if files were changed; "" in a tree without Git
	date       time.Time
	goroot     string
}

func newRelease(ctx context.Context, root, dist string) (release, error) {
	root, err1 := filepath.Abs(root)
	dist, err2 := filepath.Abs(dist)
	version, err3 := newestVersion(filepath.Join(root, "CHANGELOG.md"))
	goroot, err4 := output(ctx, root, "go", "env", "GOROOT")
	r := release{root: root, dist: dist, version: version, goroot: goroot}
	err5 := r.readCommit(ctx)
	return r, errors.Join(err1, err2, err3, err4, err5)
}

// readCommit reads the commit of the tree, and its time. The go command records it too, but not in every work tree.
func (r *release) readCommit(ctx context.Context) error {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	commit, err := output(ctx, r.root, "git", "log", "-1", "--format=%H %ct")
	if err != nil && epoch == "" {
		return fmt.Errorf("set SOURCE_DATE_EPOCH in a tree without Git: %w", err)
	}
	revision, date, _ := strings.Cut(commit, " ")
	if err == nil {
		changed, err := output(ctx, r.root, "git", "status", "--porcelain")
		if err != nil {
			return err
		}
		if changed != "" {
			slog.Warn("files differ from the commit", "files", changed)
			revision += "+dirty"
		}
	}
	seconds, err := strconv.ParseInt(cmp.Or(epoch, date), 10, 64)
	r.revision, r.date = revision, time.Unix(seconds, 0).UTC()
	return err
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
	flags := "-s -w -X redrain/server.version=" + r.version + " -X redrain/server.revision=" + r.revision
	command := exec.CommandContext(ctx, "go", "build", "-C", r.root, "-trimpath", "-mod=readonly", "-buildvcs=false",
		"-ldflags", flags, "-o", p.path, ".")
	// The levels of the processors are fixed, because the environment may have others.
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
		data, err := os.ReadFile(filepath.Join(r.root, path)) //nolint:gosec // of this repository
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
		data, err := os.ReadFile(filepath.Join(dir, e.Name())) //nolint:gosec // of a module
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
