// Package docs embeds the two API descriptions and the rights of a server's database user. The server shows the
// descriptions, and tests compare both with the code.
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

// Rights are the GRANT statements for a server's database user.
//
//go:embed rights.sql
var Rights string
