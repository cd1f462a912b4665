// Command boards writes the Grafana dashboards of deploy/grafana: the evening, a node, the money.
//
//	go run -C tools ./boards
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

func main() {
	if err := write(filepath.Join("..", "deploy", "grafana")); err != nil {
		slog.Error("no dashboards", "err", err)
		os.Exit(1)
	}
}

// write writes a file for each dashboard into dir.
func write(dir string) error {
	files, err := render()
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil { //nolint:gosec // they are public
			return err
		}
	}
	return nil
}

// render returns the dashboards as JSON, by their file's name.
func render() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, b := range boards {
		built, err := b.build()
		if err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", b.name, err)
		}
		data, err := json.MarshalIndent(built, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", b.name, err)
		}
		files[b.name+".json"] = append(data, '\n')
	}
	return files, nil
}
