// Package docs embeds the two API descriptions and the rights of a server's users. The server shows the descriptions,
// and tests compare both with the code.
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

// RightsMigrate are those of the database user who makes and changes the tables.
//
//go:embed rights-migrate.sql
var RightsMigrate string

// RightsRedis is the user of the servers in Redis, as a part of redis.conf.
//
//go:embed rights.redis.conf
var RightsRedis string

// RightsNATS is the account of the servers in NATS, as a part of nats-server's configuration.
//
//go:embed rights.nats.conf
var RightsNATS string
