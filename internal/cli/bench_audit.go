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

	"redrain/client"
	"redrain/internal/bench"
	"redrain/rain"
)

// audit compares repeatedly, until every win that was told is settled or the time is up.
func (s *benchRun) audit(ctx context.Context, r *bench.Report) bench.Ledger {
	began := time.Now()
	for before := -1; ; {
		a := bench.NewAudit(r.Told, s.cmd.Players, s.players.user)
		err := s.read(ctx, a, r.Told)
		l, waited := a.Ledger(), time.Since(began)
		l.Checked, l.WaitedMS = err == nil, waited.Milliseconds()
		if err != nil {
			l.Reason = err.Error()
		} else if l.Settled > before {
			before = l.Settled
			s.screen.say("%d of %s are in the ledger", l.Settled, count(l.Told, "told win"))
		}
		// A missing win may be moving from one list to the other.
		settling := err == nil && l.Unsettled+l.Missing > 0
		if (!settling && !retriable(err)) || waited >= s.cmd.SettleWithin || !rest(ctx) {
			return s.behind(ctx, l)
		}
	}
}

// behind separates wins that the list leaves out from wins that are nowhere. If settlement is far behind, the list
// holds only the oldest wins in flight; the statistics count all of them.
func (s *benchRun) behind(ctx context.Context, l bench.Ledger) bench.Ledger {
	if l.Missing == 0 || s.cmd.Token == "" {
		return l
	}
	waiting := -l.Unsettled
	for _, campaign := range s.campaigns {
		stats, err := s.client.Stats(ctx, campaign)
		if err != nil {
			return l // the worse result stands
		}
		waiting += int(stats.Outbox)
	}
	unlisted := min(l.Missing, max(0, waiting))
	l.Missing, l.Unsettled = l.Missing-unlisted, l.Unsettled+unlisted
	if unlisted > 0 {
		l.Examples = []string{} // the wins are not known
	}
	return l
}

// rest pauses before the ledger is read again. It is false if ctx ends first.
func rest(ctx context.Context) bool { return pauseFor(ctx, 500*time.Millisecond) }

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
			Settled: row[at[3]] == client.ClaimSettled,
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
	pages := make(chan []client.Claim)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for page := range pages {
			for _, c := range page {
				a.Row(bench.LedgerRow{Claim: c.Claim, User: c.User, Amount: c.Amount,
					Settled: c.State == client.ClaimSettled})
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

func (s *benchRun) readPlayer(ctx context.Context, player int, pages chan<- []client.Claim) error {
	token, err := s.players.token(ctx, player)
	if err != nil {
		return err
	}
	me, err := s.players.client(player, token)
	if err != nil {
		return err
	}
	var claims []client.Claim
	for c, err := range client.All(ctx, me.MyClaims) {
		if err != nil {
			return err
		}
		claims = append(claims, c)
	}
	pages <- claims
	return nil
}
