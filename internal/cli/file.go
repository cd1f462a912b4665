package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// file is a configuration file: a flat YAML mapping from flag names to values. Values are kept as text, so that a text
// means the same in the file and on the command line.
type file struct {
	name     string
	settings []fileSetting
}

// fileSetting has a scalar's text, or the elements of a list with commas between them. ok is false for a value of
// another kind.
type fileSetting struct {
	key, text string
	line      int
	ok        bool
}

// find returns the setting of a key; nil without one.
func (f *file) find(key string) *fileSetting {
	if i := slices.IndexFunc(f.settings, func(s fileSetting) bool { return s.key == key }); i >= 0 {
		return &f.settings[i]
	}
	return nil
}

// where formats the file's name and a line.
func (f *file) where(line int) string { return fmt.Sprintf("%s line %d", f.name, line) }

// readFile reads a file. It returns the valid settings and the faults.
func readFile(name string) (*file, []string) {
	f := &file{name: name}
	data, err := os.ReadFile(name) //nolint:gosec // the operator's own choice
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err // without the name, which is in the message already
		}
		return f, []string{fmt.Sprintf("--config %s: %v", name, err)}
	}
	faults := f.parse(data)
	return f, faults
}

func (f *file) parse(data []byte) []string {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := d.Decode(&document); errors.Is(err, io.EOF) {
		return nil // empty
	} else if err != nil {
		return []string{fmt.Sprintf("%s: %v", f.name, err)}
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return []string{f.name + ": only one YAML document is read"}
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil // nothing but comments
	}
	if root.Kind != yaml.MappingNode {
		return []string{f.name + ": the file is not a list of settings, one \"name: value\" on each line"}
	}
	var faults []string
	for i := 0; i+1 < len(root.Content); i += 2 {
		if fault := f.add(root.Content[i], root.Content[i+1]); fault != "" {
			faults = append(faults, fault)
		}
	}
	return faults
}

func (f *file) add(key, value *yaml.Node) (fault string) {
	if f.find(key.Value) != nil {
		return fmt.Sprintf("%s: %q is there twice", f.where(key.Line), key.Value)
	}
	text, err := nodeText(value)
	f.settings = append(f.settings, fileSetting{key.Value, text, key.Line, err == nil})
	if err != nil {
		return fmt.Sprintf("%s: %q %v", f.where(key.Line), key.Value, err)
	}
	return ""
}

func nodeText(n *yaml.Node) (string, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return nodeText(n.Alias)
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "", errors.New("has no value")
		}
		return n.Value, nil
	case yaml.SequenceNode:
		parts := make([]string, len(n.Content))
		for i, element := range n.Content {
			if element.Kind != yaml.ScalarNode {
				return "", errors.New("holds more than plain values")
			}
			parts[i] = element.Value
		}
		return strings.Join(parts, ","), nil
	default:
		return "", errors.New("holds more than a plain value")
	}
}
