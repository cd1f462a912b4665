package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"redrain/internal/bench"
	"redrain/internal/operator"
)

// rivalRain is one rain that two sides play, in a campaign of its own.
type rivalRain struct {
	cmd            *benchCmd
	client         *operator.Client
	screen         *benchScreen
	people, rivals *rivalSide
	campaign       string
}

// play has both sides play, and tells what each has won.
func (r *rivalRain) play(ctx context.Context) (out rivalRainReport, err error) {
	for _, side := range []*rivalSide{r.rivals, r.people} {
		if err := side.makeGuests(ctx, r.screen.say); err != nil {
			return out, err
		}
	}
	if err := r.make(ctx, &out); err != nil {
		return out, err
	}
	defer func() {
		_, closing := r.client.CloseCampaign(context.WithoutCancel(ctx), r.campaign)
		err = errors.Join(err, closing)
	}()
	// The rivals come first, as they would; people who find no room then are a part of the result.
	theirs, err := r.gather(ctx, r.rivals)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, theirs.Leave()) }()
	ours, err := r.gather(ctx, r.people)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, ours.Leave()) }()
	spec := r.cmd.rivalRain()
	if _, err := r.client.StartRain(ctx, r.campaign, spec, r.campaign); err != nil {
		return out, err
	}
	plan := bench.Plan{Duration: millis(*spec.StartsInMS+spec.DurationMS) + time.Second}
	var both errgroup.Group
	both.Go(func() error { return out.People.play(ctx, ours, r.people, plan) })
	both.Go(func() error { return out.Rivals.play(ctx, theirs, r.rivals, plan) })
	if err := both.Wait(); err != nil {
		return out, err
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	err = r.held(ctx, &out)
	return out, err
}

// make makes the campaign.
func (r *rivalRain) make(ctx context.Context, out *rivalRainReport) error {
	random := make([]byte, 4)
	_, _ = rand.Read(random) // never fails
	name := "bench-" + hex.EncodeToString(random)
	spec := r.cmd.rivalSpec(name)
	if _, err := r.client.Deposit(ctx, spec.Sponsor, name, spec.Budget); err != nil {
		return err
	}
	made, err := r.client.CreateCampaign(ctx, spec, name)
	r.campaign, out.Campaign, out.Packets = made.ID, made.ID, spec.Packets
	return err
}

// gather has a side come in, each from the address that it has.
func (r *rivalRain) gather(ctx context.Context, side *rivalSide) (*bench.Crowd, error) {
	var targets []string
	for _, address := range r.cmd.nodes() {
		n, err := benchNodeOf(address)
		if err != nil {
			return nil, err
		}
		targets = append(targets, n.socket)
	}
	crowd, err := bench.Gather(ctx, bench.Options{
		Targets: targets, Campaigns: []string{r.campaign}, Players: side.players, JoinWithin: r.cmd.Wait,
		Header: side.header, Token: side.token, Turn: side.turn, Knock: true,
	})
	if err != nil {
		return nil, fmt.Errorf("the %s: %w", side.name, err)
	}
	r.screen.say("%d of %d of %s are in", crowd.Progress().Joined, side.players, side.name)
	return crowd, nil
}

// play has the players of a side tap, and counts what they were told to have won.
func (s *rivalSideReport) play(ctx context.Context, crowd *bench.Crowd, side *rivalSide, plan bench.Plan) error {
	plan.Hand = side.hand
	report, err := crowd.Play(ctx, plan)
	if err != nil {
		return err
	}
	claims, heads := map[string]struct{}{}, make([]int, side.players)
	for _, w := range report.Told {
		if _, again := claims[w.Claim]; !again {
			claims[w.Claim] = struct{}{}
			heads[w.Player]++
		}
	}
	slices.Sort(heads)
	s.Joined, s.Taps, s.Won, s.heads = report.Joined, report.Taps, len(claims), heads
	return nil
}

// held counts whose wins are kept apart, when all are settled, and gives these wins back to bench's sponsor: nobody is
// to decide about them.
func (r *rivalRain) held(ctx context.Context, out *rivalRainReport) error {
	if err := r.settled(ctx); err != nil {
		return err
	}
	people, rivals := r.people.users(), r.rivals.users()
	var claims []string
	users := map[string]bool{}
	for w, err := range operator.All(ctx, r.client.HeldWins) {
		switch {
		case err != nil:
			return err
		case w.Campaign != r.campaign:
			continue
		case people[w.User] && !users[w.User]:
			out.People.Held++
			for _, reason := range w.Reasons {
				r.screen.say("%s was held: %s", w.User, reason.Sentence)
			}
		case rivals[w.User] && !users[w.User]:
			out.Rivals.Held++
		}
		users[w.User] = true
		claims = append(claims, w.Claim)
	}
	for some := range slices.Chunk(claims, decidedAtOnce) {
		if _, err := r.client.DecideHeld(ctx, "confirm", some, "bench"); err != nil {
			return err
		}
	}
	return nil
}

// settled waits until all wins of the rain are in the ledger.
func (r *rivalRain) settled(ctx context.Context) error {
	until := time.Now().Add(r.cmd.SettleWithin)
	for {
		stats, err := r.client.Stats(ctx, r.campaign)
		switch {
		case err != nil:
			return err
		case stats.Outbox == 0:
			return nil
		case time.Now().After(until) || !rest(ctx):
			return fmt.Errorf("%s on the way to the ledger after %s", count(int(stats.Outbox), "win"),
				r.cmd.SettleWithin)
		}
	}
}
