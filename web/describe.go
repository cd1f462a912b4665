package web

import (
	"encoding/json"
	"html/template"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"redrain/docs"
)

// description is the content of the page /docs about the two API descriptions: an index with an example of each
// message. The descriptions themselves are linked.
type description struct {
	Groups   []group
	Messages []messageView
}

// group is the operations of one tag.
type group struct {
	Name, About string
	Operations  []operationView
}

type operationView struct {
	Method, Path, Token string
	Summary             template.HTML
}

type messageView struct {
	Name, From string
	Summary    template.HTML
	Examples   []string // JSON
}

// describe reads the embedded descriptions. They are part of the program, so a fault in them is a fault of the program.
func describe() description {
	return description{Groups: describeHTTP(), Messages: describeSocket()}
}

// methods is the order in which a path's operations are shown.
var methods = []string{"post", "get"}

func describeHTTP() []group {
	var doc struct {
		Tags []struct {
			Name, Description string
		}
		Paths yaml.Node
	}
	must(yaml.Unmarshal(docs.OpenAPI, &doc))
	groups := make([]group, len(doc.Tags))
	for i, t := range doc.Tags {
		groups[i] = group{Name: t.Name, About: t.Description}
	}
	for path, item := range pairs(&doc.Paths) {
		for method, node := range pairs(item) {
			if !slices.Contains(methods, method) {
				continue
			}
			var op struct {
				Summary  string
				Tags     []string
				Security []map[string][]string
			}
			must(node.Decode(&op))
			view := operationView{Method: strings.ToUpper(method), Path: path, Summary: prose(op.Summary)}
			for _, needs := range op.Security {
				for token := range needs {
					view.Token = token
					if token == "operator" && method == "get" {
						view.Token = "viewer"
					}
				}
			}
			i := slices.IndexFunc(groups, func(g group) bool { return slices.Contains(op.Tags, g.Name) })
			groups[i].Operations = append(groups[i].Operations, view)
		}
	}
	return groups
}

func describeSocket() []messageView {
	var doc struct {
		Operations map[string]struct {
			Action   string
			Messages []map[string]string
		}
		Components struct {
			Messages yaml.Node
		}
	}
	must(yaml.Unmarshal(docs.AsyncAPI, &doc))
	client := map[string]bool{}
	for _, op := range doc.Operations {
		for _, m := range op.Messages {
			client[m["$ref"][strings.LastIndex(m["$ref"], "/")+1:]] = op.Action == "receive"
		}
	}
	var views []messageView
	for name, node := range pairs(&doc.Components.Messages) {
		var m struct {
			Title, Summary string
			Examples       []struct {
				Payload yaml.Node
			}
		}
		must(node.Decode(&m))
		view := messageView{Name: name, From: "server", Summary: prose(strings.TrimSuffix(m.Title,
			".") + ". " + m.Summary)}
		if client[name] {
			view.From = "client"
		}
		for i := range m.Examples {
			view.Examples = append(view.Examples, jsonOf(&m.Examples[i].Payload))
		}
		views = append(views, view)
	}
	return views
}

// pairs goes through a mapping in the order of the file, which a Go map would lose.
func pairs(n *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// jsonOf writes an example as JSON, with its fields in the order of the file.
func jsonOf(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for key, value := range pairs(n) {
			parts = append(parts, quote(key)+":"+jsonOf(value))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, jsonOf(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	default:
		if n.Tag == "!!str" {
			return quote(n.Value)
		}
		return n.Value // numbers, booleans and null are spelt alike
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	must(err)
	return string(b)
}

// prose turns `code` of the descriptions into HTML.
func prose(text string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(text, "`") {
		escaped := template.HTMLEscapeString(part)
		if i%2 == 1 {
			escaped = "<code>" + escaped + "</code>"
		}
		out.WriteString(escaped)
	}
	return template.HTML(out.String()) //nolint:gosec // escaped just above
}
