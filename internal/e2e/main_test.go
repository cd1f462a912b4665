// Package e2e holds the tests that play redrain from outside, as players and operators do, over WebSocket and HTTP.
// They use the in-process default and real Redis (single and Cluster), NATS and MariaDB, with one node and with
// several. They kill processes at the worst moments, and stop back ends. The package has nothing but tests.
//
// All tests run side by side, because most of them mostly wait: for servers that come back, for killed processes, for
// the clock. Each begins with [testenv.Parallel], which keeps the machine from being overloaded. So a test may measure
// nothing by the wall clock.
package e2e

import (
	"testing"

	"redrain/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.SideBySide()
	testenv.Main(m)
}
