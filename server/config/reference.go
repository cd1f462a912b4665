package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

//go:generate go test -run ^TestReferenceIsFresh$ -update .

const introduction = `# Settings

For operators. Each setting of ` + "`redrain serve`" + ` is a flag (` + "`--tap-rate 20`" + `), a variable of the
environment (` + "`REDRAIN_TAP_RATE=20`" + `) and a key of the YAML file of ` + "`--config`" + `
(` + "`tap-rate: 20`" + `). A flag wins over the environment, and the environment over the file. redrain reports all
faults together, one line each, and exits with code 2 before it listens. [redrain.yaml](redrain.yaml) is a file with
every setting.

` + "`go generate ./server/config`" + ` writes this page.
`

// Reference returns the page about all settings, in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString(introduction)
	for _, g := range Groups {
		fmt.Fprintf(&b, "\n## %s\n\n", g.Title)
		if g.Description != "" {
			b.WriteString(g.Description + "\n\n")
		}
		b.WriteString(table(func(f *kong.Flag) bool { return f.Group.Key == g.Key }))
	}
	return b.String()
}

// MainTable returns the table of the settings that nearly every installation needs, in Markdown.
func MainTable() string {
	return table(func(f *kong.Flag) bool { return f.Tag.Has("main") })
}

func table(has func(*kong.Flag) bool) string {
	var b strings.Builder
	b.WriteString("| flag | default | effect |\n| --- | --- | --- |\n")
	for _, f := range new(Config).flags() {
		if has(f) {
			help := strings.ReplaceAll(Help(f.Value), "|", `\|`)
			value := f.Default
			if value != "" {
				value = "`" + value + "`"
			}
			fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", f.Name, value, help)
		}
	}
	return b.String()
}

// Sample returns a file for --config with every setting commented out. It stays valid without the # before a setting.
func Sample() string {
	var b strings.Builder
	b.WriteString("# Settings of redrain serve. Lines that begin with # have no effect. Values are the defaults.\n" +
		"# If a default depends on other settings, its description says so.\n")
	group := ""
	for _, f := range new(Config).flags() {
		if f.Group.Title != group {
			group = f.Group.Title
			fmt.Fprintf(&b, "\n# --- %s ---\n", group)
		}
		fmt.Fprintf(&b, "\n# %s\n#%s: %s\n", strings.ReplaceAll(Help(f.Value), ". ", ".\n# "), f.Name, sampleValue(f))
	}
	return b.String()
}

// sampleValue returns a setting's default, or the zero value with the placeholder as a comment.
func sampleValue(f *kong.Flag) string {
	value, kind := f.Default, f.Target.Type()
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch kind.Kind() {
	case reflect.String, reflect.Slice:
		value = `"` + value + `"`
	default:
		if value == "" {
			value = fmt.Sprint(reflect.Zero(kind))
		}
	}
	if f.Default == "" && f.PlaceHolder != "" {
		value += " # " + f.FormatPlaceHolder()
	}
	return value
}
