package bundle

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// licenses puts the licences of the vendored libraries into one text, as they ask for.
func licenses(dir string) ([]byte, error) {
	vendored := os.DirFS(dir)
	found, err := fs.Glob(vendored, "*/LICENSE")
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	out.WriteString("The pages of redrain contain these libraries.\n")
	for _, file := range found { // Glob sorts
		library := path.Dir(file)
		var about struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			License string `json:"license"`
		}
		description, err := fs.ReadFile(vendored, path.Join(library, "package.json"))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(description, &about); err != nil {
			return nil, fmt.Errorf("%s: %w", library, err)
		}
		text, err := fs.ReadFile(vendored, file)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "\n%s %s (%s)\n\n%s\n", about.Name, about.Version, about.License,
			strings.TrimSpace(string(text)))
	}
	return []byte(out.String()), nil
}
