// Package testenv gives tests the real servers that redrain runs against: redis-server (alone and as a Cluster),
// nats-server with JetStream, and mariadbd. They are child processes in temporary directories on free ports of
// the loopback address.
//
// [Redis], [RedisCluster], [NATS] and [MySQL] share one server of each kind within a test binary. Tests are separated
// by [Namespace], and [MySQL] creates a database for each test. [StartRedis], [StartReplica], [StartRedisCluster],
// [StartNATS] and [StartMySQL] start a [Server] for one test, which may kill and restart it. [Binary] builds redrain
// itself and [Start] runs it, or any other program.
//
// A package that uses servers, or has goroutines, calls [Main] from its TestMain. Nothing outlives the test binary. The
// kernel kills the children when it dies, and the next test binary removes the directories of a killed one.
//
// A program that is not a test implements [T], and calls [End].
//
// A server program that is not installed skips the test; with CI=true in the environment it fails the test. With -short
// all of this skips the test, and the package prints the number of skipped tests.
//
// [SideBySide] and [Parallel] run waiting tests in parallel without overloading the machine.
package testenv
