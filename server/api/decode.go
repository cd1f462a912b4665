package api

import (
	"bytes"
	"errors"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"
)

// decode reads a JSON object into a value with the defaults. An empty body is an empty object, and null is a field's
// default. An unknown field, a field in other capitals and a doubled field are faults: with money, a misspelt limit
// must not become the default.
func decode(data []byte, into any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	err := json.Unmarshal(data, into, json.RejectUnknownMembers(true), v1.MergeWithLegacySemantics(true))
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		return invalid(fieldAt(syntax.JSONPointer), "is there twice")
	}
	fault, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case !ok:
		return refuse(http.StatusBadRequest, "malformed", "the body is not one JSON value in UTF-8")
	case fault.JSONPointer == "":
		return refuse(http.StatusBadRequest, "malformed", "the body is not a JSON object")
	case errors.Is(err, json.ErrUnknownName):
		return invalid(fieldAt(fault.JSONPointer), "is not a field of this request")
	default:
		return invalid(fieldAt(fault.JSONPointer), "is not %s", wanted(fault.GoType.Kind().String()))
	}
}

// fieldAt returns the path of a field, with dots.
func fieldAt(p jsontext.Pointer) string {
	var names []string
	for name := range p.Tokens() {
		names = append(names, name)
	}
	return strings.Join(names, ".")
}

// wanted returns the JSON name of a Go kind.
func wanted(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"):
		return "an integer in range"
	case kind == "string":
		return "a string"
	case kind == "slice":
		return "a list"
	case kind == "bool":
		return "true or false"
	default:
		return "of the right kind"
	}
}
