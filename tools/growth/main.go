// Growth measures what proofs of large books cost: it fills a MariaDB with the ledger of so many payouts, balanced to
// the cent and chained, and times the live check of a campaign, the proof of what is recent after more payouts were
// posted by the ledger's own code, and the full proof.
//
//	make growth ROWS=10000000
//	go run -C tools ./growth -rows 1000000 -data /var/tmp/growth -json
//
// It also times what a console asks of a server, which shows whether its pages grow slow with the ledger:
//
//	go run -C tools ./growth -mysql DSN -only-fill -rows 1000000 -campaigns 500
//	redrain serve --mysql DSN --no-demo …
//	go run -C tools ./growth -ask http://127.0.0.1:8080 -token T
//
// With -data the database stays, and the next run measures it again without filling it. Redis is played by this
// program, so what it takes to read it is not in the figures.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"
)

// options are the flags.
type options struct {
	rows   int    // payouts
	dsn    string // of an empty database, or one that an earlier run has filled; "": a server is started
	data   string // where the server keeps its files; "": in a temporary folder
	memory int    // MB of the server's buffer pool
	posts  int    // payouts that are posted between the proofs
	full   bool
	asJSON bool
	log    io.Writer

	campaigns int    // of the ledger; 0: as many as the payouts make
	only      bool   // fill, and measure nothing
	server    string // that is asked what a console asks, and nothing else is done
	token     string // of an operator there
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, log io.Writer) error {
	o := options{log: log}
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.IntVar(&o.rows, "rows", 1_000_000, "payouts of the ledger, at least 10,000")
	flags.StringVar(&o.dsn, "mysql", "", "a DSN of an empty database to fill, or of one that an earlier run has "+
		"filled; without it a mariadbd is started")
	flags.StringVar(&o.data, "data", "", "the folder in which that mariadbd keeps its files, also for the next run; "+
		"without it they are removed")
	flags.IntVar(&o.memory, "memory", 4096, "MB that the mariadbd may keep in memory")
	flags.IntVar(&o.posts, "posts", 10_000, "payouts to post before what is recent is proved")
	flags.BoolVar(&o.full, "full", true, "make the full proof, too")
	flags.IntVar(&o.campaigns, "campaigns", 0, "campaigns of the ledger; 0: one for each 100,000 payouts, "+
		"and the live one")
	flags.BoolVar(&o.only, "only-fill", false, "fill the database, and measure nothing")
	flags.StringVar(&o.server, "ask", "", "time what a console asks, at the server of this address, and do nothing "+
		"else")
	flags.StringVar(&o.token, "token", "", "an operator's token for -ask")
	flags.BoolVar(&o.asJSON, "json", false, "print the figures as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.server != "" {
		return ask(ctx, o, out)
	}
	if (o.rows < leastRows && !o.only) || o.rows < 2*shards || o.posts < 1 {
		return fmt.Errorf("-rows %d -posts %d: at least %d rows (%d with -only-fill), and one to post", o.rows, o.posts,
			leastRows, 2*shards)
	}
	figures, err := measure(ctx, o)
	if len(figures) > 0 {
		err = errors.Join(err, tell(out, figures, o.asJSON))
	}
	return err
}

// figure is what one proof has taken.
type figure struct {
	What       string  `json:"what"`
	Payouts    int64   `json:"payouts"` // of the ledger at that moment
	Rows       int64   `json:"rows"`    // that the proof has read, or the payouts of its campaign
	TookMS     float64 `json:"took_ms"`
	RowsSecond float64 `json:"rows_per_second"`
	Balanced   bool    `json:"balanced"`
}

func newFigure(what string, payouts, rows int64, took time.Duration, balanced bool) figure {
	return figure{what, payouts, rows, float64(took.Microseconds()) / 1000, float64(rows) / took.Seconds(), balanced}
}

// tell prints the figures.
func tell(out io.Writer, figures []figure, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(figures)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "proof\tpayouts in the ledger\trows\ttook\trows/s\t")
	for _, f := range figures {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%d\t%.3f s\t%.0f\t\n", f.What, f.Payouts, f.Rows, f.TookMS/1000, f.RowsSecond)
	}
	return t.Flush()
}
