package e2e

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/internal/wire"
)

// reconcile runs `redrain reconcile` against a node, and returns its exit code and its output.
func reconcile(n *node, args ...string) (code int, said string) {
	var stdout, stderr bytes.Buffer
	args = append([]string{"reconcile", "--server", n.url, "--token", viewerToken}, args...)
	code = cli.Main(args, func(string) (string, bool) { return "", false }, &stdout, &stderr)
	return code, stdout.String() + stderr.String()
}

// wantBooks runs `redrain reconcile` for a campaign and for everything.
func wantBooks(t *testing.T, n *node, campaign, what string, code int, names ...string) {
	t.Helper()
	for _, args := range [][]string{{campaign}, {}, {"--full"}} {
		got, said := reconcile(n, args...)
		testenv.Equal(t, got, code, "%s: redrain reconcile %v, which says %q, exits with", what, args, said)
		for _, name := range names {
			if !strings.Contains(said, name) {
				t.Errorf("%s: redrain reconcile %v does not say %q:\n%s", what, args, name, said)
			}
		}
	}
}

// winners lets players win one packet each.
func winners(t *testing.T, n *node, campaign string, count int) []wire.Result {
	t.Helper()
	startRain(t, n.client, campaign, longRain(16))
	won := make([]wire.Result, count)
	for i := range won {
		p := join(t, n, fmt.Sprintf("user-%d", i), campaign)
		won[i] = p.winOne(t)
	}
	return won
}

// TestEditedBooksAreFound edits a row under a running node: an alarm, the metrics and `redrain reconcile` say so until
// the row is as it was.
func TestEditedBooksAreFound(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	cfg := s.config()
	cfg.ReconcileEvery = time.Second
	n := startNode(t, cfg)
	startNode(t, cfg) // a second one, which leaves the work to the first
	c := createCampaign(t, n.client, fund(t, n, "edited", 10_000, 20))
	winners(t, n, c.ID, 2)
	awaitBooks(t, n.client, c.ID)
	wantBooks(t, n, c.ID, "before", cli.ExitOK, "every cent is accounted for")
	heard := listen(t, n)
	db := testenv.Got(sql.Open("mysql", s.mysql)).Must(t)
	defer func() { _ = db.Close() }()
	add := func(amount int) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), "UPDATE campaign_tally SET amount_paid = amount_paid + ?", amount)
		testenv.Must(t, err)
	}
	figures := func() float64 {
		return metric(t, n, "redrain_reconcile_difference") + metric(t, n, "redrain_reconcile_findings")
	}
	add(1)
	heard.await(t, c.ID, "reconciliation")
	if figures() < 1 {
		t.Error("the metrics show nothing")
	}
	wantBooks(t, n, c.ID, "edited", cli.ExitFailure, "tally")
	add(-1)
	testenv.Eventually(t, 30*time.Second, "figures of peace", func() bool { return figures() == 0 })
	wantBooks(t, n, c.ID, "as it was", cli.ExitOK)
}

// metric is the value of a metric without labels.
func metric(t *testing.T, n *node, name string) (value float64) {
	t.Helper()
	for line := range strings.Lines(metricsOf(t, n)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			testenv.Must(t, testenv.Err(fmt.Sscan(rest, &value)))
			return value
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

func metricsOf(t *testing.T, n *node) string {
	t.Helper()
	answer := testenv.Got(get(t, n.url+"/metrics")).Must(t)
	defer func() { _ = answer.Body.Close() }()
	text := testenv.Got(io.ReadAll(answer.Body)).Must(t)
	return string(text)
}
