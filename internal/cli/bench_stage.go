package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"redrain/internal/bench"
	"redrain/internal/operator"
)

// node is one server: where its sockets and its HTTP interface are.
type node struct{ socket, http string }

// nodeOf reads an address.
func nodeOf(address string) (node, error) {
	u, err := url.Parse(address)
	scheme := map[string]string{"http": "ws", "ws": "ws", "https": "wss", "wss": "wss"}
	if err != nil || u.Host == "" || scheme[u.Scheme] == "" || u.RawQuery != "" || u.Fragment != "" {
		return node{}, fmt.Errorf("%q is not like http://host:port or ws://host:port/ws", address)
	}
	root := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/ws")
	web, socket := *u, *u
	web.Scheme, web.Path = map[string]string{"ws": "http", "wss": "https"}[scheme[u.Scheme]], root
	socket.Scheme, socket.Path = scheme[u.Scheme], root+"/ws"
	return node{socket: socket.String(), http: web.String()}, nil
}

// stage is what a run of bench needs: the servers, the campaigns, the players' tokens.
type stage struct {
	cmd       *benchCmd
	app       *App
	nodes     []node
	client    *operator.Client // of the first node, with the operator's or viewer's token
	campaigns []string
	own       bool // the campaign is ours
	players   *troupe
	crowd     *bench.Crowd
	screen    *benchScreen
}

// stage gets everything ready but the players themselves. What it cannot do shows here, before anybody plays.
func (c *benchCmd) stage(ctx context.Context, app *App) (*stage, error) {
	s := &stage{cmd: c, app: app, campaigns: c.Campaign, screen: newBenchScreen(app)}
	for _, address := range c.URL {
		n, err := nodeOf(address)
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
	if s.players, err = newTroupe(ctx, c, name, s.nodes[0].http); err != nil {
		return nil, errors.Join(err, s.end())
	}
	if err := s.choose(ctx, name); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

// choose finds the campaigns to play, or makes one.
func (s *stage) choose(ctx context.Context, name string) error {
	switch {
	case len(s.campaigns) > 0:
		return nil
	case s.cmd.Token == "":
		l, err := s.client.Lobby(ctx)
		if err == nil && l.Campaign == "" {
			return errors.New("there is no campaign to play now; name one with --campaign, or give the operator's --token to have one made")
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

// play has the players come in, lets it rain or waits for rain, and lets them tap.
func (s *stage) play(ctx context.Context) (*bench.Report, error) {
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

func (s *stage) options() bench.Options {
	targets := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		targets[i] = n.socket
	}
	return bench.Options{
		Targets: targets, Campaigns: s.campaigns, Players: s.cmd.Players, Token: s.players.token, Ramp: s.cmd.Ramp,
		Arrived: s.screen.arrival(s.cmd.Players),
	}
}

func (s *stage) awaitRain(ctx context.Context) error {
	s.screen.say("waiting for rain")
	limit := s.cmd.Wait
	if s.own {
		limit = time.Minute // it is due in a second
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

// tidy closes bench's own campaign, so that what is left goes back to its sponsor.
func (s *stage) tidy(ctx context.Context) {
	if !s.own {
		return
	}
	s.own = false
	if _, err := s.client.CloseCampaign(ctx, s.campaigns[0]); err != nil {
		s.screen.say("campaign %s could not be closed: %v", s.campaigns[0], err)
	}
}

// end lets the players go.
func (s *stage) end() error {
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

// close is end where nobody asks what came of it.
func (s *stage) close() {
	if err := s.end(); err != nil {
		s.screen.say("%v", err)
	}
}
