package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// picture is a file that is served as it is, under a name with a hash.
type picture struct {
	path string // below dist
	data []byte
}

// hashed reads the pictures of a folder, by their name.
func hashed(dir string) (map[string]picture, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := make(map[string]picture, len(entries))
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name())) //nolint:gosec // our own sources
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		ext := filepath.Ext(e.Name())
		name := fmt.Sprintf("assets/%s-%s%s", strings.TrimSuffix(e.Name(), ext), hex.EncodeToString(sum[:4]), ext)
		found[e.Name()] = picture{path: name, data: data}
	}
	return found, nil
}

// picturesPlugin lets a script import a picture's address: import packet from "../../img/packet.svg".
func picturesPlugin(served map[string]string) api.Plugin {
	return api.Plugin{Name: "pictures", Setup: func(b api.PluginBuild) {
		b.OnLoad(api.OnLoadOptions{Filter: `\.svg$`}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			address, ok := served[path.Base(filepath.ToSlash(args.Path))]
			if !ok {
				return api.OnLoadResult{}, fmt.Errorf("%s is not in web/img", args.Path)
			}
			script, err := json.Marshal(address)
			text := "export default " + string(script)
			return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, err
		})
	}}
}

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
