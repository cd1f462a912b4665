// Package e2e holds the tests that play redrain from outside, as players and operators do: over WebSocket and HTTP,
// against the in-process default and against real Redis (single and Cluster), NATS and MariaDB, with one node and
// with several, with processes that are killed at the worst moments and back ends that go away. There is nothing in
// it but tests.
//
// All tests run side by side, because most of them mostly wait: for servers that come back, for processes that were
// killed, for the clock. Each begins with [testenv.Parallel], which keeps the machine from being overloaded. So a test
// may measure nothing by the clock on the wall.
package e2e

import (
	"testing"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.SideBySide()
	testenv.Main(m)
}
