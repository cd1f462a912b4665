// Package testenv gives tests the real servers that redrain runs against: redis-server (alone and as a Cluster),
// nats-server with JetStream, and mariadbd. They are child processes in temporary directories on free ports of
// the loopback address.
//
// [Redis], [RedisCluster], [NATS] and [MySQL] share one server of each kind within a test binary; tests keep apart
// by [Namespace], and [MySQL] makes a database for each test. [StartRedis], [StartReplica], [StartRedisCluster],
// [StartNATS] and [StartMySQL] give a [Server] of the test's own, to be killed and started again. [Binary] builds
// redrain itself and [Start] runs it, or any other program.
//
// A package that uses servers, or has goroutines, calls [Main] from its TestMain. Nothing outlives the test binary,
// however it ends: the kernel kills the children when it dies, and the next test binary removes the directories
// that a killed one left.
//
// A program that is no test gives a [T] of its own, and calls [End].
//
// A server program that is not installed skips the test; with CI=true in the environment it fails the test. With
// -short all of this skips the test, and the package says in one line how many were left out.
//
// [SideBySide] and [Parallel] let tests that mostly wait run beside each other without overloading the machine.
package testenv
