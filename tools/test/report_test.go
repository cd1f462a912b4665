package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// events are those of a package that passes, one whose tests fail, and one whose test never ends.
const events = `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestSlow"}
{"Action":"output","Package":"a","Test":"TestSlow","Output":"=== RUN   TestSlow\n"}
{"Action":"output","Package":"a","Test":"TestSlow","Output":"    a_test.go:5: a log that is not needed\n"}
{"Action":"pass","Package":"a","Test":"TestSlow/inside","Elapsed":2.4}
{"Action":"pass","Package":"a","Test":"TestSlow","Elapsed":2.5}
{"Action":"output","Package":"a","Test":"TestSplit/part","Output":"    p.go:8: testenv: waited for a slot: 2.5s\n"}
{"Action":"pass","Package":"a","Test":"TestSplit/part","Elapsed":4}
{"Action":"pass","Package":"a","Test":"TestSplit","Elapsed":4}
{"Action":"output","Package":"a","Test":"TestSkipped","Output":"    a_test.go:8: something else\n"}
{"Action":"output","Package":"a","Test":"TestSkipped","Output":"    a_test.go:9: redis-server is not installed\n"}
{"Action":"skip","Package":"a","Test":"TestSkipped","Elapsed":0}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"pass","Package":"a","Elapsed":2.6}
{"Action":"output","Package":"b","Test":"TestBad","Output":"    b_test.go:7: wrong\n"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"    node_test.go:84: time=1 level=INFO msg=retry n=1\n"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"    node_test.go:84: time=2 level=INFO msg=retry n=2\n"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"    node_test.go:84: time=3 level=INFO msg=retry n=3\n"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"    node_test.go:84: time=4 level=INFO msg=retry n=4\n"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"    node_test.go:84: time=5 level=INFO msg=retry n=5\n"}
{"Action":"fail","Package":"b","Test":"TestBad","Elapsed":0.1}
{"Action":"output","Package":"b","Test":"TestWhole","Output":"--- FAIL: TestWhole (0.10s)\n"}
{"Action":"fail","Package":"b","Test":"TestWhole/part","Elapsed":0.1}
{"Action":"fail","Package":"b","Test":"TestWhole","Elapsed":0.1}
{"Action":"output","Package":"b","Output":"FAIL\n"}
{"Action":"fail","Package":"b","Elapsed":0.2}
{"Action":"output","Package":"c","Test":"TestPanics","Output":"panic: oh\n"}
{"Action":"fail","Package":"c","Elapsed":0.3}
`

func TestReport(t *testing.T) {
	var out strings.Builder
	r := &runner{report: newReport(&out, 10)}
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	r.report.breakOff("a", errors.New("it has a result already"))
	r.report.breakOff("d", errors.New("no result"))
	if r.report.isPassed() {
		t.Error("the run has passed")
	}
	during := out.String()
	for _, want := range []string{
		"b_test.go:7: wrong", "panic: oh", "pass in    2.6 s: a\n", "fail in    0.2 s: b\n", "n=3", "(2 lines left out",
	} {
		if !strings.Contains(during, want) {
			t.Errorf("%q is not shown in\n%s", want, during)
		}
	}
	for _, not := range []string{"not needed", "ok  \t", "n=4"} {
		if strings.Contains(during, not) {
			t.Errorf("%q is shown in\n%s", not, during)
		}
	}
	out.Reset()
	r.report.summary(5*time.Second, []string{"tests on MariaDB"}, 6.5)
	after := out.String()
	for _, want := range []string{
		"2.5 s  a TestSlow\n", "1.5 s  a TestSplit/part\n", "SKIPPED    1: redis-server is not installed\n",
		"LEFT OUT: tests on MariaDB\n", "4 tests, 3s for the packages one after the other, 5s in all, peak load 6.5\n",
		"WARNING: the load average",
	} {
		if !strings.Contains(after, want) {
			t.Errorf("%q is not in the summary\n%s", want, after)
		}
	}
	last := "\n\nok  \ta\t2.600s\n" +
		"b TestBad failed after 0.1 s\n        b_test.go:7: wrong\n" +
		"b TestWhole/part failed after 0.1 s\n" +
		"c TestPanics has not ended\n        panic: oh\n" +
		"FAIL\tb\t0.200s\nFAIL\tc\t0.300s\nFAIL\td [no result]\n"
	if !strings.HasSuffix(after, last) {
		t.Errorf("the failures and the packages are not the last lines:\n%s", after)
	}
	if strings.Contains(after, "inside") || strings.Contains(after, "a TestSplit\n") {
		t.Errorf("time of a test is counted twice:\n%s", after)
	}
}

// A line of any length is read, and what follows it too.
func TestALongLineIsRead(t *testing.T) {
	var out strings.Builder
	r := &runner{report: newReport(&out, 10)}
	long := `{"Action":"output","Package":"a","Test":"TestLoud","Output":"` + strings.Repeat("x", 17<<20) + `"}` + "\n"
	if err := r.read(strings.NewReader(long + `{"Action":"fail","Package":"a","Test":"TestLoud"}`)); err != nil {
		t.Fatal(err)
	}
	if out.Len() != 17<<20 {
		t.Errorf("%d bytes are shown", out.Len())
	}
}
