// Package operator is a client of redrain's HTTP interface: typed requests and answers, errors with their
// stable code, pages of lists, and the stream of events. The command line is built on it, and so are
// the tests that speak to a whole server.
//
// It knows only docs/openapi.yaml, to which a test holds its types.
package operator
