// Package openapi has the types of the HTTP API's requests and answers, generated from docs/openapi.yaml. The server
// writes them, and package client reads them.
//
//	answer := openapi.Sponsor{Sponsor: "acme", Balance: 1_000_000}
//
// overlay.yaml names the fields whose Go type is one of the domain's. `make generate` writes openapi.gen.go anew.
package openapi

//go:generate go run -C ../../tools/generators . ../../client/openapi openapi.gen.go
