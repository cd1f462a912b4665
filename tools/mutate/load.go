package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// goPackage is a package in the form in which go list prints it.
type goPackage struct {
	Dir        string   `json:"Dir"`
	ImportPath string   `json:"ImportPath"`
	Name       string   `json:"Name"`
	Export     string   `json:"Export"`
	GoFiles    []string `json:"GoFiles"`
}

// source is a package that is parsed and type-checked, ready to be mutated.
type source struct {
	goPackage
	root     string // of the module; file names are told relative to it
	fset     *token.FileSet
	files    []*ast.File
	names    []string // of files
	text     [][]byte // of files
	info     *types.Info
	importer types.Importer
}

// goList asks go list about packages. dir is the module's.
func goList(ctx context.Context, dir string, args ...string) ([]goPackage, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	var packages []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// load reads, parses and type-checks one package. What it imports comes from the compiler's export data.
func load(ctx context.Context, root, path string) (*source, error) {
	packages, err := goList(ctx, root, "-json=Dir,ImportPath,Name,Export,GoFiles", "-export", "-deps", path)
	if err != nil {
		return nil, err
	}
	exports := make(map[string]string, len(packages))
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	s := &source{goPackage: packages[len(packages)-1], root: root, fset: token.NewFileSet()}
	s.importer = importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %q", path)
		}
		return os.Open(exports[path])
	})
	for _, name := range s.GoFiles {
		file := filepath.Join(s.Dir, name)
		text, err := os.ReadFile(file) //nolint:gosec // named by go list
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(s.fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files, s.names, s.text = append(s.files, tree), append(s.names, file), append(s.text, text)
	}
	s.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Uses:  map[*ast.Ident]types.Object{},
		Defs:  map[*ast.Ident]types.Object{},
	}
	if errs := s.check(s.fset, s.files, s.info); len(errs) > 0 {
		return nil, fmt.Errorf("%s: %w", path, errs[0])
	}
	return s, nil
}

// check type-checks files as this package and returns every error.
func (s *source) check(fset *token.FileSet, files []*ast.File, info *types.Info) []types.Error {
	var errs []types.Error
	config := types.Config{Importer: s.importer, Error: func(err error) {
		if e, ok := errors.AsType[types.Error](err); ok {
			errs = append(errs, e)
		}
	}}
	_, _ = config.Check(s.ImportPath, fset, files, info)
	return errs
}
