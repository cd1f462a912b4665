//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"redrain/client"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/tools/compare/baseline"
)

const (
	operatorToken = "operator-token-of-the-comparison"
	jwtSecret     = "secret-of-the-comparison-that-is-long-enough"
	amount        = 88 // of a packet
)

// contestant is a server under test: a process of its own.
type contestant struct {
	process

	name string
	url  string                                       // of HTTP
	open func(packets int) (campaign string)          // makes a campaign
	rain func(campaign string, falling rain.RainSpec) // starts a rain

	operator *client.Client // redrain's only
}

// falling is a rain that begins at once.
func falling(duration time.Duration, dropsPerSecond int, fall time.Duration) rain.RainSpec {
	spec := rain.DefaultRain()
	spec.StartsInMS = new(int64(0))
	spec.DurationMS, spec.DropsPerSecond, spec.FallMS = duration.Milliseconds(), dropsPerSecond, fall.Milliseconds()
	return spec
}

func (c *contestant) socket() string { return "ws" + strings.TrimPrefix(c.url, "http") + "/ws" }

var listens = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// launch starts a server that says on standard output where it listens.
func launch(s *scope, name, program string, args ...string) *contestant {
	out, to, err := os.Pipe()
	s.check("make a pipe", err)
	cmd := exec.Command(program, args...) //nolint:noctx // testenv ends it
	cmd.Stdout, cmd.Stderr = to, s.log
	p := testenv.Start(s, cmd)
	s.check("close a pipe", to.Close())
	url := make(chan string, 1)
	go func() { // until the process ends
		defer close(url)
		defer out.Close() //nolint:errcheck // it was only read
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if found := listens.FindString(lines.Text()); found != "" {
				url <- found
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	c := &contestant{name: name, process: process{ofServer, p.PID()}}
	select {
	case c.url = <-url:
	case <-time.After(time.Minute):
	}
	if c.url == "" {
		s.Fatalf("%s does not serve", name)
	}
	return c
}

// startRedrain starts redrain. Without flags for back ends it uses those inside its process.
func startRedrain(s *scope, b *backends, flags ...string) *contestant {
	program := b.redrain
	if program == "" {
		program = testenv.Binary(s)
	}
	c := launch(s, "redrain", program, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--operator-token", operatorToken, "--jwt-secret", jwtSecret, "--no-demo",
		"--no-guests", "--log-level", "warn",
		"--tap-rate", "0", "--hello-rate", "0", "--max-connections", "20000", "--reconcile-every", "0",
	}, flags...)...)
	api, err := client.New(client.Options{Server: c.url, Token: operatorToken})
	s.check("speak to redrain", err)
	s.Cleanup(api.Close)
	c.operator = api
	c.open = func(packets int) string { return c.offer(s, packets, 1_000_000) }
	c.rain = func(campaign string, falling rain.RainSpec) {
		_, err := api.StartRain(s.ctx, campaign, falling, "")
		s.check("start a rain", err)
	}
	return c
}

// offer makes a campaign of redrain whose packets all hold the same.
func (c *contestant) offer(s *scope, packets, winsPerUser int) (campaign string) {
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Packets, spec.WinsPerUser = "compare", "compare", packets, winsPerUser
	spec.Budget = rain.Money(packets) * amount
	_, err := c.operator.Deposit(s.ctx, spec.Sponsor, "deposit "+rand.Text(), spec.Budget)
	s.check("deposit", err)
	made, err := c.operator.CreateCampaign(s.ctx, spec, "")
	s.check("make a campaign", err)
	return made.ID
}

// endRain stops the rain of a campaign of redrain.
func (c *contestant) endRain(s *scope, campaign string) {
	is, err := c.operator.Campaign(s.ctx, campaign)
	s.check("read a campaign", err)
	_, err = c.operator.StopRain(s.ctx, campaign, is.Rains[len(is.Rains)-1].ID)
	s.check("stop a rain", err)
}

// flags make a redrain use the real servers.
func (b *backends) flags(s *scope, db *database, roles string) []string {
	return []string{"--redis", b.redisAddr, "--nats", b.natsURL, "--mysql", db.dsn, "--namespace", testenv.Namespace(s),
		"--roles", roles}
}

// startBaseline starts the textbook design.
func startBaseline(s *scope, b *backends, flags ...string) *contestant {
	prefix := testenv.Namespace(s)
	c := launch(s, "baseline", own(s), append([]string{"baseline", "--redis", b.redisAddr, "--secret", jwtSecret,
		"--prefix", prefix}, flags...)...)
	campaigns := 0
	c.open = func(packets int) string {
		campaigns++
		id := "c" + strconv.Itoa(campaigns)
		c.post(s, "/campaigns", baseline.Campaign{ID: id, Packets: packets, Amount: amount})
		return id
	}
	c.rain = func(campaign string, falling rain.RainSpec) { c.post(s, "/campaigns/"+campaign+"/rains", falling) }
	return c
}

// own is the path of this program, which also serves as the baseline.
func own(s *scope) string {
	path, err := os.Executable()
	s.check("find this program", err)
	return path
}

func (c *contestant) post(s *scope, path string, body any) {
	data, err := json.Marshal(body)
	s.check("write a request", err)
	ctx, cancel := context.WithTimeout(s.ctx, 5*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(data))
	s.check("make a request", err)
	s.check("ask "+c.name, expect(req, http.StatusCreated, nil))
}

// metric returns the sum of a metric over all its labels.
func (c *contestant) metric(s *scope, name string) float64 {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, c.url+"/metrics", nil)
	s.check("make a request", err)
	var text bytes.Buffer
	s.check("ask "+c.name, expect(req, http.StatusOK, &text))
	sum, found := 0.0, false
	for line := range strings.Lines(text.String()) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || (rest[0] != ' ' && rest[0] != '{') {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' ')+1:]), 64)
		s.check("read "+name, err)
		sum, found = sum+value, true
	}
	if !found {
		s.Fatalf("%s has no metric %s", c.name, name)
	}
	return sum
}

// expect makes a request and copies the answer.
func expect(req *http.Request, status int, to io.Writer) error {
	api := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // the request's context bounds it
	resp, err := api.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	if resp.StatusCode != status {
		return fmt.Errorf("%s is answered %s", req.URL.Path, resp.Status)
	}
	if to != nil {
		_, err = io.Copy(to, resp.Body)
	}
	return err
}
