package docs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"

	"redrain/docs"
	"redrain/internal/testenv"
)

// messages is every message type of the contract, and its direction.
var messages = map[string]string{
	"hello": "receive", "join": "receive", "tap": "receive", "ping": "receive", "token": "receive",
	"welcome": "send", "campaign": "send", "rain": "send", "wave": "send", "result": "send", "settled": "send",
	"withdrawal": "send", "room": "send", "pong": "send", "error": "send", "goodbye": "send",
	"token_renewed": "send",
}

type reference struct {
	Ref string `yaml:"$ref"`
}

type operation struct {
	Action   string      `yaml:"action"`
	Messages []reference `yaml:"messages"`
	Reply    struct {
		Messages []reference `yaml:"messages"`
	} `yaml:"reply"`
}

type message struct {
	Name     string    `yaml:"name"`
	Payload  reference `yaml:"payload"`
	Examples []struct {
		Name    string `yaml:"name"`
		Payload any    `yaml:"payload"`
	} `yaml:"examples"`
}

type asyncAPI struct {
	Version  string `yaml:"asyncapi"`
	Channels map[string]struct {
		Address  string               `yaml:"address"`
		Messages map[string]reference `yaml:"messages"`
	} `yaml:"channels"`
	Operations map[string]operation `yaml:"operations"`
	Components struct {
		Messages map[string]message `yaml:"messages"`
		Schemas  map[string]any     `yaml:"schemas"`
	} `yaml:"components"`
}

func loadAsyncAPI(t *testing.T) asyncAPI {
	t.Helper()
	var doc asyncAPI
	testenv.Must(t, yaml.Unmarshal(docs.AsyncAPI, &doc))
	if !strings.HasPrefix(doc.Version, "3.") {
		t.Fatalf("asyncapi: %q", doc.Version)
	}
	return doc
}

func TestAsyncAPIHasEveryMessageOfTheContract(t *testing.T) {
	doc := loadAsyncAPI(t)
	onChannel := doc.Channels["socket"].Messages
	want := slices.Sorted(maps.Keys(messages))
	if got := slices.Sorted(maps.Keys(onChannel)); !slices.Equal(got, want) {
		t.Errorf("messages of the channel: %v, want %v", got, want)
	}
	if got := slices.Sorted(maps.Keys(doc.Components.Messages)); !slices.Equal(got, want) {
		t.Errorf("messages: %v, want %v", got, want)
	}
	if got := doc.Channels["socket"].Address; got != "/ws" {
		t.Errorf("address %q", got)
	}
	for name, m := range doc.Components.Messages {
		if m.Name != name || len(m.Examples) == 0 {
			t.Errorf("%s: is named %q and has %d examples", name, m.Name, len(m.Examples))
		}
		if ref := onChannel[name].Ref; ref != "#/components/messages/"+name {
			t.Errorf("%s on the channel is %s", name, ref)
		}
	}
}

// TestAsyncAPISaysWhoSendsWhat checks that each message is part of an operation, in the right direction.
func TestAsyncAPISaysWhoSendsWhat(t *testing.T) {
	sent := map[string]string{}
	note := func(refs []reference, action string) {
		for _, r := range refs {
			name, ok := strings.CutPrefix(r.Ref, "#/channels/socket/messages/")
			if !ok || (sent[name] != "" && sent[name] != action) {
				t.Errorf("%s %s", action, r.Ref)
			}
			sent[name] = action
		}
	}
	for _, op := range loadAsyncAPI(t).Operations {
		note(op.Messages, op.Action)
		note(op.Reply.Messages, "send") // only the server replies
	}
	if !maps.Equal(sent, messages) {
		t.Errorf("operations %v, want %v", sent, messages)
	}
}

func TestAsyncAPIExamplesFitTheirSchemas(t *testing.T) {
	doc := loadAsyncAPI(t)
	for name, m := range doc.Components.Messages {
		schema := payloadSchema(t, doc, name)
		for _, example := range m.Examples {
			t.Run(fmt.Sprintf("%s/%s", name, example.Name), func(t *testing.T) {
				if err := schema.VisitJSON(asJSON(t, example.Payload), openapi3.MultiErrors()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestGoldenMessagesFitTheirSchemas compares the description with the messages that the code reads and writes.
func TestGoldenMessagesFitTheirSchemas(t *testing.T) {
	doc := loadAsyncAPI(t)
	golden, err := filepath.Glob("../internal/wire/testdata/*.json")
	if err != nil || len(golden) == 0 {
		t.Fatalf("no golden messages (%v)", err)
	}
	seen := map[string]bool{}
	for _, file := range golden {
		data, err := os.ReadFile(file)
		testenv.Must(t, err)
		var m map[string]any
		testenv.Must(t, json.Unmarshal(data, &m))
		kind, _ := m["type"].(string)
		seen[kind] = true
		if err := payloadSchema(t, doc, kind).VisitJSON(m, openapi3.MultiErrors()); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
	for kind := range messages {
		if !seen[kind] {
			t.Errorf("no golden message of the type %s", kind)
		}
	}
}

// payloadSchema returns the schema of a message. It puts AsyncAPI's schemas into an OpenAPI 3.1 description, which has
// the same JSON Schema, because the parser reads only OpenAPI.
func payloadSchema(t *testing.T, doc asyncAPI, kind string) *openapi3.Schema {
	t.Helper()
	host, err := json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "schemas", "version": "1"}, "paths": map[string]any{},
		"components": map[string]any{"schemas": doc.Components.Schemas},
	})
	testenv.Must(t, err)
	schemas, err := openapi3.NewLoader().LoadFromData(host)
	testenv.Must(t, err)
	ref := doc.Components.Messages[kind].Payload.Ref
	schema := schemas.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	if schema == nil {
		t.Fatalf("%s: no schema %q", kind, ref)
	}
	return schema.Value
}

// asJSON converts a value of YAML to the types of a JSON decoder.
func asJSON(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	testenv.Must(t, err)
	var out any
	testenv.Must(t, json.Unmarshal(data, &out))
	return out
}
