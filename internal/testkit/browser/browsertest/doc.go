// Package browsertest is [redrain/internal/testkit/browser] for tests: a fault fails the test, one Chromium serves all
// tests of a binary, and a page that had a fault fails the test that opened it.
package browsertest
