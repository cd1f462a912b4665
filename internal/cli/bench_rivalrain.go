package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"redrain/client"
	"redrain/internal/bench"
)

// playRivals plays all rains of --farm and --bot, and reports.
func (s *benchRun) playRivals(ctx context.Context) error {
	people, rivals := s.cmd.sides(s.nodes[0].http)
	defer people.close()
	defer rivals.close()
	report := &rivalReport{Against: rivals.name, Rains: []rivalRainReport{}}
	for i := range s.cmd.rivalRains() {
		if s.cmd.Bot {
			rivals.forget() // its verdict holds in all rains
		}
		s.screen.say("rain %d of %d", i+1, s.cmd.rivalRains())
		played, err := s.playRival(ctx, people, rivals)
		if err != nil {
			s.screen.close()
			return err
		}
		report.Rains = append(report.Rains, played)
	}
	s.screen.close()
	report.sum(s.cmd, people, rivals)
	return errors.Join(s.app.show(s.cmd.JSON, report), failed(report.Problems))
}

// playRival plays one rain in a new campaign.
func (s *benchRun) playRival(ctx context.Context, people, rivals *benchPlayers) (out rivalRainReport, err error) {
	for _, side := range []*benchPlayers{rivals, people} {
		if err := side.makeGuests(ctx, s.screen.say); err != nil {
			return out, err
		}
	}
	campaign := s.cmd.rivalSpec(runName())
	if err := s.open(ctx, campaign); err != nil {
		return out, err
	}
	out.Campaign, out.Packets = s.campaigns[0], campaign.Packets
	defer func() {
		s.own = false
		_, closing := s.client.CloseCampaign(context.WithoutCancel(ctx), out.Campaign)
		err = errors.Join(err, closing)
	}()
	// The rivals come first, as in reality. People without a slot are a part of the result.
	theirs, err := s.gather(ctx, rivals)
	if err != nil {
		return out, err
	}
	defer theirs.Leave()
	ours, err := s.gather(ctx, people)
	if err != nil {
		return out, err
	}
	defer ours.Leave()
	spec := s.cmd.rivalRain()
	if _, err := s.client.StartRain(ctx, out.Campaign, spec, out.Campaign); err != nil {
		return out, err
	}
	plan := bench.Plan{Duration: millis(*spec.StartsInMS+spec.DurationMS) + time.Second}
	var both sync.WaitGroup
	both.Go(func() { out.People.play(ctx, ours, people, plan) })
	both.Go(func() { out.Rivals.play(ctx, theirs, rivals, plan) })
	both.Wait()
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err := s.settled(ctx, out.Campaign); err != nil {
		return out, err
	}
	err = s.confirmHeld(ctx, &out, people.users(), rivals.users())
	return out, err
}

// gather lets a side join, each player from a separate address.
func (s *benchRun) gather(ctx context.Context, side *benchPlayers) (*bench.Crowd, error) {
	o := s.options(side)
	o.JoinWithin, o.Knock = s.cmd.Wait, true
	crowd, err := bench.Gather(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("the %s: %w", side.name, err)
	}
	s.screen.say("%d of %d of %s are in", crowd.Progress().Joined, side.count, side.name)
	return crowd, nil
}

// play lets the players of a side tap, and counts their reported wins.
func (s *rivalSideReport) play(ctx context.Context, crowd *bench.Crowd, side *benchPlayers, plan bench.Plan) {
	plan.Hand = side.hand
	report := crowd.Play(ctx, plan)
	claims, heads := map[string]struct{}{}, make([]int, side.count)
	for _, w := range report.Told {
		if _, again := claims[w.Claim]; !again {
			claims[w.Claim] = struct{}{}
			heads[w.Player]++
		}
	}
	slices.Sort(heads)
	s.Joined, s.Taps, s.Won, s.heads = report.Joined, report.Taps, len(claims), heads
}

// confirmHeld counts the players whose wins are held, and returns these wins to bench's sponsor.
func (s *benchRun) confirmHeld(ctx context.Context, out *rivalRainReport, people, rivals map[string]bool) error {
	var claims []string
	users := map[string]bool{}
	for w, err := range client.All(ctx, s.client.HeldWins) {
		switch {
		case err != nil:
			return err
		case w.Campaign != out.Campaign:
			continue
		case people[w.User] && !users[w.User]:
			out.People.Held++
			for _, reason := range w.Reasons {
				s.screen.say("%s was held: %s", w.User, reason.Sentence)
			}
		case rivals[w.User] && !users[w.User]:
			out.Rivals.Held++
		}
		users[w.User] = true
		claims = append(claims, w.Claim)
	}
	for some := range slices.Chunk(claims, atOnce) {
		if _, err := s.client.DecideHeld(ctx, "confirm", some, "bench"); err != nil {
			return err
		}
	}
	return nil
}

// settled waits until all wins of a rain are in the ledger.
func (s *benchRun) settled(ctx context.Context, campaign string) error {
	until := time.Now().Add(s.cmd.SettleWithin)
	for {
		stats, err := s.client.Stats(ctx, campaign)
		switch {
		case err != nil:
			return err
		case stats.Outbox == 0:
			return nil
		case time.Now().After(until) || !bench.Pause(ctx, readEvery):
			return fmt.Errorf("%s in flight to the ledger after %s", count(int(stats.Outbox), "win"),
				s.cmd.SettleWithin)
		}
	}
}
