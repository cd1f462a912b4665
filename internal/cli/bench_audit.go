package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"redrain/client"
	"redrain/internal/bench"
)

// audit compares repeatedly, until every reported win is settled or the time is up.
func (s *benchRun) audit(ctx context.Context, r *bench.Report) bench.Ledger {
	began := time.Now()
	for before := -1; ; {
		isLast := time.Since(began) >= s.cmd.SettleWithin // before the pass: one over millions of claims takes long
		a := bench.NewAudit(r.Told, s.cmd.Players, s.players.user)
		err := s.read(ctx, a, r.Told)
		l := a.Ledger()
		l.Checked, l.WaitedMS = err == nil, time.Since(began).Milliseconds()
		if err != nil {
			l.Reason = err.Error()
		} else if l.Settled > before {
			before = l.Settled
			s.screen.say("%d of %s are in the ledger", l.Settled, count(l.Told, "told win"))
		}
		// A missing win may be moving from one list to the other.
		settling := err == nil && l.Unsettled+l.Missing > 0
		if (!settling && !retriable(err)) || isLast || !bench.Pause(ctx, readEvery) {
			return s.behind(ctx, l)
		}
	}
}

// behind separates wins beyond the end of the list from missing ones. If settlement is far behind, the list has the
// oldest wins in flight only; the statistics count all of them.
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

// readEvery is the pause before the ledger is read again.
const readEvery = 500 * time.Millisecond

// retriable reports whether a repeated request may succeed.
func retriable(err error) bool {
	return err != nil && !refused(err) && !errors.Is(err, context.Canceled)
}

// read passes the ledger's claims to an audit. With an operator's or viewer's token it reads the campaigns' lists,
// otherwise each player's own list.
func (s *benchRun) read(ctx context.Context, a *bench.Audit, told []bench.Win) error {
	if s.cmd.Token == "" {
		return s.readPlayers(ctx, a, told)
	}
	for _, campaign := range s.campaigns {
		claims := client.Pages[client.Claim](s.client, nil, "campaigns", campaign, "claims")
		for claim, err := range client.All(ctx, claims) {
			if err != nil {
				return err
			}
			a.Row(claim)
		}
	}
	return nil
}

// readPlayers reads with the token of each player with a reported win.
func (s *benchRun) readPlayers(ctx context.Context, a *bench.Audit, told []bench.Win) error {
	players := map[int]struct{}{}
	for _, w := range told {
		players[w.Player] = struct{}{}
	}
	var mu sync.Mutex // guards a
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for player := range players {
		g.Go(func() error {
			token, err := s.players.token(ctx, player)
			if err != nil {
				return err
			}
			me, err := s.players.client(player, token)
			if err != nil {
				return err
			}
			claims, err := collect(client.All(ctx, client.Pages[client.Claim](me, nil, "me", "claims")))
			mu.Lock()
			defer mu.Unlock()
			for _, claim := range claims {
				a.Row(claim)
			}
			return err
		})
	}
	return g.Wait()
}
