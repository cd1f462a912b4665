// Package wire is the WebSocket protocol redrain.v1: the messages of both directions, read and written.
// It decides nothing. The golden files in testdata are an example of each message; the tests keep the code and them
// together, and docs/asyncapi.yaml describes the same.
package wire
