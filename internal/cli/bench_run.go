package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"redrain/internal/bench"
	"redrain/internal/operator"
)

// benchRun is one run of bench: the servers, the campaigns and the players' tokens that it uses.
type benchRun struct {
	cmd       *benchCmd
	app       *App
	nodes     []benchNode
	client    *operator.Client // of the first node, with the operator's or viewer's token
	campaigns []string
	own       bool // the campaign is ours
	players   *identities
	crowd     *bench.Crowd
	screen    *benchScreen
}

// prepare gets everything ready but the players, so that mistakes in the settings show before anybody plays.
func (c *benchCmd) prepare(ctx context.Context, app *App) (*benchRun, error) {
	s := &benchRun{cmd: c, app: app, campaigns: c.Campaign, screen: newBenchScreen(app)}
	for _, address := range c.nodes() {
		n, err := benchNodeOf(address)
		if err != nil {
			return nil, err
		}
		s.nodes = append(s.nodes, n)
	}
	var err error
	if s.client, err = operator.New(operator.Options{Server: s.nodes[0].http, Token: c.Token}); err != nil {
		return nil, err
	}
	run := make([]byte, 4)
	_, _ = rand.Read(run) // never fails
	name := "bench-" + hex.EncodeToString(run)
	if s.players, err = newIdentities(ctx, c, name, s.nodes[0].http); err != nil {
		return nil, errors.Join(err, s.end())
	}
	if err := s.choose(ctx, name); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

// choose finds the campaigns to play, or creates one.
func (s *benchRun) choose(ctx context.Context, name string) error {
	switch {
	case len(s.campaigns) > 0:
		return nil
	case s.cmd.Token == "":
		l, err := s.client.Lobby(ctx)
		if err == nil && l.Campaign == "" {
			return errors.New("there is no campaign to play now; name one with --campaign, " +
				"or give the operator's --token to have one made")
		}
		s.campaigns = []string{l.Campaign}
		return err
	default:
		spec := s.cmd.spec(name)
		s.screen.say("making campaign %s: %s in %d packets", name, spec.Budget, spec.Packets)
		if _, err := s.client.Deposit(ctx, spec.Sponsor, name, spec.Budget); err != nil {
			return err
		}
		made, err := s.client.CreateCampaign(ctx, spec, name)
		if err != nil {
			return err
		}
		s.campaigns, s.own = []string{made.ID}, true
		return nil
	}
}

// play connects the players, starts a rain or waits for one, and has them tap.
func (s *benchRun) play(ctx context.Context) (*bench.Report, error) {
	defer s.screen.close()
	var err error
	if s.crowd, err = bench.Gather(ctx, s.options()); err != nil {
		return nil, err
	}
	if s.own {
		if _, err := s.client.StartRain(ctx, s.campaigns[0], s.cmd.rain(), s.campaigns[0]); err != nil {
			return nil, err
		}
	}
	if err := s.awaitRain(ctx); err != nil {
		return nil, err
	}
	plan := s.cmd.plan()
	done := s.screen.follow(s.crowd, plan.Duration)
	defer done()
	return s.crowd.Play(ctx, plan)
}

func (s *benchRun) options() bench.Options {
	targets := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		targets[i] = n.socket
	}
	return bench.Options{
		Targets: targets, Campaigns: s.campaigns, Players: s.cmd.Players, Token: s.players.token, Ramp: s.cmd.Ramp,
		JoinWithin: s.cmd.joinWithin(), Turn: s.players.turn, Knock: s.cmd.Capacity > 0,
		Arrived: s.screen.arrival(s.cmd.Players),
	}
}

func (s *benchRun) awaitRain(ctx context.Context) error {
	s.screen.say("waiting for rain in %s", strings.Join(s.campaigns, ", "))
	limit := s.cmd.Wait
	if s.own {
		limit = time.Minute // it starts within a second
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch {
	case s.crowd.AwaitRain(waiting):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return fmt.Errorf("it did not rain within %s; start one (redrain rain start %s), or wait longer with --wait",
			limit, s.campaigns[0])
	}
}

// tidy closes bench's own campaign, so that the sponsor gets back what is left.
func (s *benchRun) tidy(ctx context.Context) {
	if !s.own {
		return
	}
	s.own = false
	if _, err := s.client.CloseCampaign(ctx, s.campaigns[0]); err != nil {
		s.screen.say("campaign %s could not be closed: %v", s.campaigns[0], err)
	}
}

// end disconnects the players.
func (s *benchRun) end() error {
	var err error
	if s.crowd != nil {
		err = s.crowd.Leave()
		s.crowd = nil
	}
	s.tidy(context.Background())
	s.client.Close()
	if s.players != nil {
		s.players.close()
	}
	return err
}

// close is end without its error.
func (s *benchRun) close() {
	if err := s.end(); err != nil {
		s.screen.say("%v", err)
	}
}
