// Package e2e holds the tests that play redrain from outside, as players and operators do: over WebSocket and HTTP,
// against the in-process default and against real Redis (single and Cluster), NATS and MariaDB, with one node and
// with several, with processes that are killed at the worst moments and back ends that go away. There is nothing in
// it but tests.
//
// The tests that mostly wait, for servers that come back and for processes that were killed, run side by side
// (t.Parallel).
package e2e
