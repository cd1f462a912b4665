// Command generators writes the Go types of the HTTP API with oapi-codegen, which this module pins apart from the
// server's dependencies. Its arguments are the folder of oapi-codegen's config.yaml, and where the types go:
//
//	go run -C tools/generators . ../../client/openapi openapi.gen.go
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

func main() {
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generators:", err)
		os.Exit(1)
	}
}

// generate gives oapi-codegen the order of the fields, which it would sort by their names.
func generate(dir, out string) error {
	data, err := os.ReadFile("../../docs/openapi.yaml")
	if err != nil {
		return err
	}
	var api yaml.Node
	if err := yaml.Unmarshal(data, &api); err != nil {
		return err
	}
	number(&api)
	if data, err = yaml.Marshal(&api); err != nil {
		return err
	}
	ordered := filepath.Join(os.TempDir(), fmt.Sprintf("openapi-%d.yaml", os.Getpid()))
	if err := os.WriteFile(ordered, data, 0o600); err != nil {
		return err
	}
	defer os.Remove(ordered) //nolint:errcheck // a temporary file
	module, err := filepath.Abs("go.mod")
	if err != nil {
		return err
	}
	//nolint:noctx // it ends with this program
	codegen := exec.Command("go", "tool", "-modfile="+module, "oapi-codegen", "-config", "config.yaml", "-o", out, ordered)
	codegen.Dir, codegen.Stdout, codegen.Stderr = dir, os.Stdout, os.Stderr
	return codegen.Run()
}

// number sets x-order in each property of each schema.
func number(n *yaml.Node) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "properties" {
			for at := 1; at < len(child.Content); at += 2 {
				order := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(at / 2)}
				child.Content[at].Content = append(child.Content[at].Content,
					&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "x-order"}, order)
			}
		}
		number(child)
	}
}
