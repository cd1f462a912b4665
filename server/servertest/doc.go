// Package servertest has what the tests of several packages below server need.
package servertest
