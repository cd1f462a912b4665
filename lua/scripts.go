// Package lua holds the Redis scripts of redrain, one file each. Redis runs a script atomically,
// so the scripts enforce the rules about money and order. Package grab/store passes their arguments
// and results.
//
// Each file begins with the same header:
//
//	KEYS       every key, as a real pattern, and its content
//	ARGV       every argument and its unit
//	RETURNS    every answer and every error
//	ATOMICITY  guarantees if the script is interrupted, refused or run twice
//
// A script uses its KEYS and builds no others, so that Redis Cluster can route it.
// The package's test checks each script for this header and this rule.
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
