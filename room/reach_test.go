package room

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkReach is how late a wave is read by those who read, with nobody and with every twentieth member stalled:
// a wave each quarter of a second, as it rains. p99-ms and last-ms are of all waves and members, from the broadcast
// to the end of the player's read.
func BenchmarkReach(b *testing.B) {
	for _, n := range []int{5_000, 15_000} {
		for _, percent := range []int{0, 5} {
			b.Run(fmt.Sprintf("%d/stalled=%d%%", n, percent),
				func(b *testing.B) { benchmarkReach(b, n, n*percent/100) })
		}
	}
}

func benchmarkReach(b *testing.B, n, stalled int) {
	b.Helper()
	l := runningWith(b, Options{WriteTimeout: 10 * time.Minute, PongWait: 10 * time.Minute}) // the stalled stay
	leave := seatCrowd(b, l, "c", n, stalled)
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for range 4 { // the first waves find everything cold, and the stalled still with room in their buffers
		l.Room("c").Broadcast(Rain, wave)
		<-tick.C
	}
	before := processorTime(b)
	b.ResetTimer()
	for range b.N {
		l.Room("c").Broadcast(Rain, stamped())
		<-tick.C
	}
	b.StopTimer()
	used := processorTime(b) - before
	var heard, half, most, last int64
	leave(&heard, &half, &most, &last)
	b.ReportMetric(float64(half)/1e6, "p50-ms")
	b.ReportMetric(float64(most)/1e6, "p99-ms")
	b.ReportMetric(float64(last)/1e6, "last-ms")
	b.ReportMetric(float64(used)/float64(heard), "cpu-ns/frame")
	b.ReportMetric(100*float64(heard)/float64(b.N*(n-stalled)), "heard-%") // who is far behind misses the oldest
	b.ReportMetric(0, "ns/op")                                             // the pause, mostly
}
