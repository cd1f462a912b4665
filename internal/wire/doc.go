// Package wire reads and writes the messages of the WebSocket protocol redrain.v1, in both directions. It handles
// only their form; its users decide how to respond.
//
// docs/asyncapi.yaml describes the messages. testdata has an example of each, which the tests compare with the code.
package wire
