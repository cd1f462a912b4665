// Package testrun connects the program that runs the tests (tools/test) with the test binaries. It defines the coverage
// of a run, and the tests that may load the machine at the same time.
//
// The program owns a [Scheduler] and serves it on a Unix socket. A test binary asks for a slot before each test that
// loads the machine, and holds it until the test ends:
//
//	s := testrun.Connect(os.Getenv(testrun.SlotsVariable))
//	release, err := s.Acquire(ctx, testrun.Request{Name: "TestRain", Load: 2, Kind: testrun.Failover})
//	if err != nil {
//		return err
//	}
//	defer release()
//
// A slot ends with its connection, so a test binary that is killed holds none.
package testrun
