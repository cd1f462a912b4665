// Package browsertest is [redrain/internal/testkit/browser] for tests. An error fails the test, and so does a fault of
// a page. One Chromium serves all tests of a binary.
package browsertest
