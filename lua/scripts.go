package lua

import (
	"embed"
	"path"
	"strings"
)

//go:embed *.lua
var files embed.FS

// Scripts returns the sources of all scripts by name: "grab" is that of grab.lua.
func Scripts() map[string]string {
	all := map[string]string{}
	entries, _ := files.ReadDir(".")
	for _, file := range entries {
		source, err := files.ReadFile(file.Name())
		if err != nil {
			panic(err) // an embedded file can be read
		}
		all[strings.TrimSuffix(file.Name(), path.Ext(file.Name()))] = string(source)
	}
	return all
}
