// Nodes simulates how the taps of many gateways reach the shards of a campaign. It shows the size of their batches, the
// load of a shard's Redis, and the time of a tap. It knows two costs of a script: of a batch, and of a tap in it. And
// it knows the gateways' rule: one batch of a shard at a time, with all taps that came meanwhile. The two costs are
// those of BenchmarkScript in grab/store, batches of 1, 10, 100 and 500 first wins.
//
//	go run -C tools ./nodes
package main

import (
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
	"time"
)

func main() {
	var c costs
	flag.DurationVar(&c.batch, "batch", 60*time.Microsecond, "Redis's time for a batch, without its taps")
	flag.DurationVar(&c.tap, "tap", 4500*time.Nanosecond, "Redis's time for a tap in a batch")
	flag.DurationVar(&c.way, "way", 300*time.Microsecond, "the network's time there and back")
	flag.Parse()
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(out, "gateways\tshards\ttaps/s\ttaps a batch\tRedis busy\tp50\tp99\t")
	for _, s := range []setup{
		{1, 1, 20_000}, {4, 4, 80_000}, {16, 8, 300_000}, {64, 32, 1_000_000}, {340, 128, 200_000},
		{340, 128, 1_000_000},
		{340, 128, 5_000_000}, {340, 128, 10_000_000}, {340, 128, 20_000_000},
	} {
		r := simulate(s, c, 2*time.Second)
		_, _ = fmt.Fprintf(out, "%d\t%d\t%d\t%.1f\t%.0f %%\t%v\t%v\t\n", s.gateways, s.shards, s.taps, r.perBatch,
			100*r.busy,
			r.p50.Round(10*time.Microsecond), r.p99.Round(10*time.Microsecond))
	}
	_ = out.Flush()
}
