// Command chart renders deploy/chart with Helm for each values file of deploy/chart/ci. It decodes the objects
// strictly, checks that they fit together, and writes them to a folder, one file for each values file.
//
//	go run -C tools/chart . testdata
//
// With -redrain FILE that program checks the arguments and settings of each container.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

var deploy = filepath.Join("..", "..", "deploy")

func main() {
	redrain := flag.String("redrain", "", "program that checks the containers' settings")
	flag.Parse()
	if err := run(flag.Arg(0), *redrain); err != nil {
		slog.Error("the chart is faulty", "err", err)
		os.Exit(1)
	}
}

// run writes the objects of each values file to dir.
func run(dir, redrain string) error {
	c, err := loader.LoadDir(filepath.Join(deploy, "chart"))
	if err != nil {
		return err
	}
	const suffix = "-values.yaml"
	files, err := filepath.Glob(filepath.Join(deploy, "chart", "ci", "*"+suffix))
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range files {
		documents, err := render(c, file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := check(documents, redrain); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
		name := strings.TrimSuffix(filepath.Base(file), suffix) + ".yaml"
		text := strings.Join(documents, "\n---\n") + "\n"
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) //nolint:gosec // it is public
	}
	ingress, err := os.ReadFile(filepath.Join(deploy, "balancers", "ingress.yaml"))
	if err == nil {
		_, err = decode([]string{string(ingress)})
	}
	return errors.Join(append(errs, err)...)
}

var separator = regexp.MustCompile(`(?m)^---$`)

// render returns the documents of a release named redrain, in the order of their templates.
func render(c *chart.Chart, file string) (documents []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	given, err := loader.LoadValues(f)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: "redrain", Namespace: "rain", Revision: 1, IsInstall: true}
	values, err := util.ToRenderValues(c, given, release, nil)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Engine{Strict: true}.Render(c, values)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		for _, document := range separator.Split(rendered[name], -1) {
			if document = strings.TrimSpace(document); document != "" {
				documents = append(documents, document)
			}
		}
	}
	return documents, nil
}
