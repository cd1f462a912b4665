// Command lighthouse has Lighthouse (https://github.com/GoogleChrome/lighthouse) look at the pages: the player's, the
// big screen, the console's sign-in and the console of an operator. It fails if one of its four figures is
// under 95.
//
//	go run -C tools ./lighthouse [-runs 3] [-keep FOLDER]
//
// It starts redrain in this process, with a campaign, and needs npx, which fetches Lighthouse, and a Chromium. Of
// several runs the middle figures count: what else the machine does costs points of performance.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"

	"redrain/client"
	"redrain/rain"
	"redrain/server"
	"redrain/server/config"
)

// Secrets of a server that lives for some minutes.
const (
	operatorToken = "operator-token-of-lighthouse"
	jwtSecret     = "secret-of-lighthouse-that-is-long-enough"
)

func main() {
	runs := flag.Int("runs", 1, "how often each page is looked at; the middle figures count")
	keep := flag.String("keep", "", "a folder for the reports")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *runs, *keep)
	stop()
	if err != nil {
		slog.Error("the pages are not as they should be", "err", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, runs int, keep string) (err error) {
	if runs < 1 {
		return fmt.Errorf("-runs %d: give 1 or more", runs)
	}
	cfg := config.Default()
	cfg.Listen, cfg.OperatorToken, cfg.JWTSecret, cfg.Demo = "127.0.0.1:0", operatorToken, jwtSecret, false
	s, err := server.New(ctx, cfg, slog.New(slog.NewTextHandler(os.Stderr,
		&slog.HandlerOptions{Level: slog.LevelWarn})), io.Discard)
	if err != nil {
		return fmt.Errorf("start redrain: %w", err)
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(serving) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	home := "http://" + s.Addr().String()
	campaign, err := prepare(ctx, home)
	if err != nil {
		return err
	}
	l, err := newLighthouse(keep, os.Stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	var poor []error
	for _, p := range []page{
		{"play", home + "/?campaign=" + campaign, false},
		{"screen", home + "/screen?campaign=" + campaign, true},
		{"sign-in", home + "/console", true},
		{"console", home + "/console#token=" + operatorToken, true},
	} {
		poor = append(poor, l.judge(ctx, p, runs))
	}
	return errors.Join(poor...)
}

// prepare funds and makes a campaign, so that the pages have something to show.
func prepare(ctx context.Context, home string) (string, error) {
	api, err := client.New(client.Options{Server: home, Token: operatorToken})
	if err != nil {
		return "", err
	}
	defer api.Close()
	const budget = 1_000_000
	if _, err := api.Deposit(ctx, "acme", "for Lighthouse", 5*budget); err != nil {
		return "", err
	}
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Budget, spec.Packets = "2027 年会红包雨", "acme", budget, 2_000
	c, err := api.CreateCampaign(ctx, spec, "")
	return c.ID, err
}
