package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"redrain/client"
	"redrain/internal/bench"
	"redrain/rain"
)

// Run plays, compares with the ledger, and reports. It fails if the ledger differs, or the server broke the protocol.
func (c *benchCmd) Run(app *App) error {
	ctx, cancel := interruptible()
	defer cancel()
	s, err := c.prepare(app)
	if err != nil {
		return err
	}
	defer s.close()
	if c.rivals() {
		return s.playRivals(ctx)
	}
	report, err := s.playAlone(ctx)
	if err != nil {
		return err
	}
	cancel() // from now on Ctrl-C ends the wait for the ledger
	after, cancelAfter := interruptible()
	defer cancelAfter()
	report.URLs = c.nodes()
	report.Judge(s.audit(after, report))
	s.tidy(context.WithoutCancel(after))
	return errors.Join(app.show(c.JSON, benchReport(*report)), failed(report.Problems))
}

// failed returns the problems of a report as an error.
func failed(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "\n"))
}

// benchRun is one run of bench: the servers, the campaigns and the players that it uses.
type benchRun struct {
	cmd       *benchCmd
	app       *App
	nodes     []benchNode
	client    *client.Client // of the first node, with the operator's or viewer's token
	campaigns []string
	own       bool // the campaign is bench's own, and open
	players   *benchPlayers
	screen    *benchScreen
}

func (c *benchCmd) prepare(app *App) (*benchRun, error) {
	s := &benchRun{cmd: c, app: app, campaigns: c.Campaign, screen: newBenchScreen(app)}
	for _, address := range c.nodes() {
		n, err := benchNodeOf(address)
		if err != nil {
			return nil, err
		}
		s.nodes = append(s.nodes, n)
	}
	var err error
	s.client, err = client.New(client.Options{Server: s.nodes[0].http, Token: c.Token})
	return s, err
}

// runName is the name of a campaign, of its sponsor, and of minted players.
func runName() string {
	return "bench-" + strings.ToLower(rand.Text()[:8])
}

// playAlone gets players and a campaign, starts a rain or waits for one, and lets the players tap.
func (s *benchRun) playAlone(ctx context.Context) (*bench.Report, error) {
	defer s.screen.close()
	name := runName()
	s.players = newBenchPlayers(name, s.cmd.Players, s.nodes[0].http, nil, nil)
	if s.cmd.JWTSecret != "" {
		if err := s.players.mint(s.cmd); err != nil {
			return nil, err
		}
	}
	if err := s.players.check(ctx); err != nil {
		return nil, err
	}
	if err := s.choose(ctx, name); err != nil {
		return nil, err
	}
	o := s.options(s.players)
	o.Ramp, o.JoinWithin, o.Knock = s.cmd.Ramp, 30*time.Second, s.cmd.Capacity > 0
	if s.cmd.AdmitPerSecond > 0 {
		o.JoinWithin += time.Duration(s.cmd.Players/s.cmd.AdmitPerSecond) * time.Second
	}
	o.Arrived = func(joined int) { s.screen.arrived(joined, s.cmd.Players) }
	crowd, err := bench.Gather(ctx, o)
	if err != nil {
		return nil, err
	}
	defer crowd.Leave()
	if s.own {
		if _, err := s.client.StartRain(ctx, s.campaigns[0], s.cmd.rain(), s.campaigns[0]); err != nil {
			return nil, err
		}
	}
	if err := s.awaitRain(ctx, crowd); err != nil {
		return nil, err
	}
	plan := s.cmd.plan()
	done := s.screen.follow(crowd, plan.Duration)
	defer done()
	return crowd.Play(ctx, plan), nil
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
				"or give the operator's --token to create one")
		}
		s.campaigns = []string{l.Campaign}
		return err
	default:
		return s.open(ctx, s.cmd.spec(name))
	}
}

// open creates bench's own campaign.
func (s *benchRun) open(ctx context.Context, spec rain.Spec) error {
	s.screen.say("making campaign %s: %s in %d packets", spec.Name, spec.Budget, spec.Packets)
	if _, err := s.client.Deposit(ctx, spec.Sponsor, spec.Name, spec.Budget); err != nil {
		return err
	}
	made, err := s.client.CreateCampaign(ctx, spec, spec.Name)
	if err != nil {
		return err
	}
	s.campaigns, s.own = []string{made.ID}, true
	return nil
}

func (s *benchRun) options(players *benchPlayers) bench.Options {
	o := bench.Options{Campaigns: s.campaigns, Players: players.count, Token: players.token, Turn: players.turn,
		Header: players.header}
	for _, n := range s.nodes {
		o.Targets = append(o.Targets, n.socket)
	}
	return o
}

func (s *benchRun) awaitRain(ctx context.Context, crowd *bench.Crowd) error {
	s.screen.say("waiting for rain in %s", strings.Join(s.campaigns, ", "))
	limit := s.cmd.Wait
	if s.own {
		limit = time.Minute // it starts within a second
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch {
	case crowd.AwaitRain(waiting):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return fmt.Errorf("it did not rain within %s; start one (redrain rain start %s), or wait longer with --wait",
			limit, s.campaigns[0])
	}
}

// tidy closes bench's own campaign, so that its rest returns to the sponsor.
func (s *benchRun) tidy(ctx context.Context) {
	if !s.own {
		return
	}
	s.own = false
	if _, err := s.client.CloseCampaign(ctx, s.campaigns[0]); err != nil {
		s.screen.say("campaign %s could not be closed: %v", s.campaigns[0], err)
	}
}

func (s *benchRun) close() {
	s.tidy(context.Background())
	s.client.Close()
	if s.players != nil {
		s.players.close()
	}
}
