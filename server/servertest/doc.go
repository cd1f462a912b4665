// Package servertest has helpers for the tests of the packages below server.
package servertest
