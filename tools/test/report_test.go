package main

import (
	"strings"
	"testing"
	"time"
)

// events are what go test -json says of a package that passes, one whose test fails, one whose test never ends, and
// one that does not build.
const events = `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestSlow"}
{"Action":"output","Package":"a","Test":"TestSlow","Output":"=== RUN   TestSlow\n"}
{"Action":"output","Package":"a","Test":"TestSlow","Output":"    a_test.go:5: nobody needs this\n"}
{"Action":"pass","Package":"a","Test":"TestSlow/inside","Elapsed":2.4}
{"Action":"pass","Package":"a","Test":"TestSlow","Elapsed":2.5}
{"Action":"output","Package":"a","Test":"TestSkipped","Output":"    a_test.go:8: something else\n"}
{"Action":"output","Package":"a","Test":"TestSkipped","Output":"    a_test.go:9: redis-server is not installed\n"}
{"Action":"skip","Package":"a","Test":"TestSkipped","Elapsed":0}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"output","Package":"a","Output":"ok  \ta\t2.6s\n"}
{"Action":"pass","Package":"a","Elapsed":2.6}
{"Action":"output","Package":"b","Test":"TestBad","Output":"    b_test.go:7: it is bad\n"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"    node_test.go:84: time=x level=INFO msg=serving\n"}
{"Action":"fail","Package":"b","Test":"TestBad","Elapsed":0.1}
{"Action":"output","Package":"b","Test":"TestWhole","Output":"--- FAIL: TestWhole (0.10s)\n"}
{"Action":"fail","Package":"b","Test":"TestWhole/part","Elapsed":0.1}
{"Action":"fail","Package":"b","Test":"TestWhole","Elapsed":0.1}
{"Action":"output","Package":"b","Output":"FAIL\n"}
{"Action":"output","Package":"b","Output":"FAIL\tb\t0.2s\n"}
{"Action":"fail","Package":"b","Elapsed":0.2}
{"Action":"output","Package":"c","Test":"TestPanics","Output":"panic: oh\n"}
{"Action":"output","Package":"c","Output":"FAIL\tc\t0.3s\n"}
{"Action":"fail","Package":"c","Elapsed":0.3}
{"ImportPath":"d","Action":"build-output","Output":"d/d.go:3: undefined: x\n"}
{"Action":"output","Package":"d","Output":"FAIL\td [build failed]\n"}
{"Action":"fail","Package":"d","Elapsed":0}
`

func TestReport(t *testing.T) {
	var out strings.Builder
	r := &runner{report: newReport(&out)}
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	during := out.String()
	for _, want := range []string{
		"b_test.go:7: it is bad", "panic: oh", "undefined: x", "pass in    2.6 s: a\n", "fail in    0.2 s: b\n",
	} {
		if !strings.Contains(during, want) {
			t.Errorf("%q is not shown in\n%s", want, during)
		}
	}
	if strings.Contains(during, "nobody needs") || strings.Contains(during, "ok  \t") {
		t.Errorf("too much is shown:\n%s", during)
	}
	out.Reset()
	r.report.summary(5*time.Second, []string{"tests on MariaDB"})
	after := out.String()
	for _, want := range []string{
		"2.5 s  a TestSlow\n", "SKIPPED    1: redis-server is not installed\n", "LEFT OUT: tests on MariaDB\n",
		"3 tests, 3s for the packages one after the other, 5s in all\n",
	} {
		if !strings.Contains(after, want) {
			t.Errorf("%q is not in the summary\n%s", want, after)
		}
	}
	last := "\n\nok  \ta\t2.6s\n" +
		"b TestBad failed after 0.1 s\n        b_test.go:7: it is bad\n" +
		"b TestWhole/part failed after 0.1 s\n" +
		"c TestPanics has not ended\n        panic: oh\n" +
		"FAIL\tb\t0.2s\nFAIL\tc\t0.3s\nFAIL\td [build failed]\n"
	if !strings.HasSuffix(after, last) {
		t.Errorf("what has failed and go test's lines are not the last ones:\n%s", after)
	}
	if strings.Contains(after, "inside") {
		t.Errorf("a part of a test is counted as well:\n%s", after)
	}
}

// A line of any length is read, and what follows it too.
func TestALongLineIsRead(t *testing.T) {
	var out strings.Builder
	r := &runner{report: newReport(&out)}
	long := `{"Action":"output","Package":"a","Test":"TestLoud","Output":"` + strings.Repeat("x", 17<<20) + `"}` + "\n"
	if err := r.read(strings.NewReader(long + `{"Action":"fail","Package":"a","Test":"TestLoud"}`)); err != nil {
		t.Fatal(err)
	}
	if out.Len() != 17<<20 {
		t.Errorf("%d bytes are shown", out.Len())
	}
}
