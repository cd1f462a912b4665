package cli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"redrain/internal/bench"
	"redrain/internal/operator"
	"redrain/rain"
)

// ledgerCheck is the result of comparing the wins that players were told of with the ledger.
type ledgerCheck struct {
	bench.AuditFindings
	checked bool
	reason  error // why it could not be checked
	waited  time.Duration
}

// audit compares repeatedly, until every win that was told is settled or the time is up.
func (s *benchRun) audit(ctx context.Context, r *bench.Report) ledgerCheck {
	began := time.Now()
	told := slices.Clone(r.Told)
	for before := -1; ; {
		a := bench.NewAudit(told, s.cmd.Players, s.players.user)
		err := s.read(ctx, a, told)
		c := ledgerCheck{AuditFindings: a.Findings(), checked: err == nil, reason: err, waited: time.Since(began)}
		if err == nil && c.Settled > before {
			before = c.Settled
			s.screen.say("%d of %s are in the ledger", c.Settled, count(c.Told, "told win"))
		}
		late := c.waited >= s.cmd.SettleWithin
		// a missing win may be moving from one list to the other
		settling := err == nil && c.Unsettled+c.Missing > 0
		if (!settling && !retriable(err)) || late || !rest(ctx) {
			return s.behind(ctx, c)
		}
	}
}

// behind separates wins that the list leaves out from wins that are nowhere. Where settlement is far behind, the list
// holds only the oldest wins on their way; the statistics count all of them.
func (s *benchRun) behind(ctx context.Context, c ledgerCheck) ledgerCheck {
	if c.Missing == 0 || s.cmd.Token == "" {
		return c
	}
	waiting := -c.Unsettled
	for _, campaign := range s.campaigns {
		stats, err := s.client.Stats(ctx, campaign)
		if err != nil {
			return c // the worse result stands
		}
		waiting += int(stats.Outbox)
	}
	unlisted := min(c.Missing, max(0, waiting))
	c.Missing, c.Unsettled = c.Missing-unlisted, c.Unsettled+unlisted
	if unlisted > 0 {
		c.Examples = nil // nobody knows which wins they are
	}
	return c
}

// rest pauses before the ledger is read again. It is false where ctx ends first.
func rest(ctx context.Context) bool {
	const pause = 500 * time.Millisecond
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retriable tells whether a request may succeed when it is repeated.
func retriable(err error) bool {
	return err != nil && !refused(err) && !errors.Is(err, context.Canceled)
}

// read gives the ledger's rows to an audit: the campaigns' lists if there is an operator's or viewer's token, otherwise
// each player's own list.
func (s *benchRun) read(ctx context.Context, a *bench.Audit, told []bench.Win) error {
	if s.cmd.Token == "" {
		return s.readPlayers(ctx, a, told)
	}
	for _, campaign := range s.campaigns {
		if err := s.readCampaign(ctx, a, campaign); err != nil {
			return err
		}
	}
	return nil
}

// readCampaign reads a campaign's list as CSV, which is one stream however long it is.
func (s *benchRun) readCampaign(ctx context.Context, a *bench.Audit, campaign string) error {
	r, w := io.Pipe()
	var g errgroup.Group
	g.Go(func() error {
		err := s.client.ClaimsCSV(ctx, campaign, w)
		return errors.Join(err, w.CloseWithError(err))
	})
	err := readClaims(r, a)
	_ = r.CloseWithError(err) // ends the writer where the reader failed
	if failed := g.Wait(); failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	return err
}

func readClaims(from io.Reader, a *bench.Audit) error {
	rows := csv.NewReader(from)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil {
		return fmt.Errorf("the list of claims: %w", err)
	}
	var at [4]int
	for i, name := range [...]string{"claim", "user", "amount", "state"} {
		if at[i] = slices.Index(header, name); at[i] < 0 {
			return fmt.Errorf("the list of claims has no column %s", name)
		}
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the list of claims: %w", err)
		}
		amount, err := strconv.ParseInt(row[at[2]], 10, 64)
		if err != nil {
			return fmt.Errorf("the list of claims: amount %q", row[at[2]])
		}
		a.Row(bench.LedgerRow{
			Claim: row[at[0]], User: row[at[1]], Amount: rain.Money(amount),
			Settled: row[at[3]] == operator.ClaimSettled,
		})
	}
}

// readPlayers asks with the token of each player who was told of a win.
func (s *benchRun) readPlayers(ctx context.Context, a *bench.Audit, told []bench.Win) error {
	const atOnce = 16
	var players []int
	for _, w := range told {
		players = append(players, w.Player)
	}
	slices.Sort(players)
	pages := make(chan []operator.Claim)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for page := range pages {
			for _, c := range page {
				a.Row(bench.LedgerRow{Claim: c.Claim, User: c.User, Amount: c.Amount,
					Settled: c.State == operator.ClaimSettled})
			}
		}
	}()
	for _, player := range slices.Compact(players) {
		g.Go(func() error { return s.readPlayer(ctx, player, pages) })
	}
	err := g.Wait()
	close(pages)
	<-done
	return err
}

func (s *benchRun) readPlayer(ctx context.Context, player int, pages chan<- []operator.Claim) error {
	token, err := s.players.token(ctx, player)
	if err != nil {
		return err
	}
	me, err := operator.New(operator.Options{Server: s.nodes[0].http, Token: token, HTTPClient: s.players.http})
	if err != nil {
		return err
	}
	var claims []operator.Claim
	for c, err := range operator.All(ctx, me.MyClaims) {
		if err != nil {
			return err
		}
		claims = append(claims, c)
	}
	pages <- claims
	return nil
}
