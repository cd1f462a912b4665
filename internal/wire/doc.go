// Package wire reads and writes the messages of the WebSocket protocol redrain.v1, in both directions. It knows their
// form only; what to do with them is up to its users.
//
// docs/asyncapi.yaml describes the messages. testdata has an example of each, which the tests compare with the code.
package wire
