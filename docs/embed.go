// Package docs carries the two API descriptions, so that the server can show them and tests can hold it to them,
// and the rights of its database user, so that a test can give them.
package docs

import _ "embed"

//go:generate go run -C ../tools ./splitpics ../docs/img

// OpenAPI is the description of the HTTP API, in YAML.
//
//go:embed openapi.yaml
var OpenAPI []byte

// AsyncAPI is the description of the WebSocket protocol, in YAML.
//
//go:embed asyncapi.yaml
var AsyncAPI []byte

// Rights are the statements that give the database's user of a server what it needs.
//
//go:embed rights.sql
var Rights string
