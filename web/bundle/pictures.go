package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
