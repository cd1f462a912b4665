package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	rds "github.com/redis/go-redis/v9"

	"redrain/client"
	"redrain/client/openapi"
	"redrain/internal/cli"
	"redrain/internal/testenv"
	"redrain/rain"
)

// forger is an attacker who can write to Redis and to NATS, and has none of redrain's keys.
type forger struct {
	setting

	t   *testing.T
	rdb *rds.Client
	js  jetstream.JetStream
}

func newForger(t *testing.T, s setting) *forger {
	t.Helper()
	nc := testenv.Got(nats.Connect(s.nats)).Must(t)
	t.Cleanup(nc.Close)
	js := testenv.Got(jetstream.New(nc)).Must(t)
	f := &forger{setting: s, t: t, rdb: rds.NewClient(&rds.Options{Addr: s.redis}), js: js}
	t.Cleanup(func() { _ = f.rdb.Close() })
	return f
}

// messages are all that the stream has had of a shard.
func (f *forger) messages(campaign string) (all []string) {
	f.t.Helper()
	stream := testenv.Got(f.js.Stream(f.t.Context(), strings.ToUpper(f.namespace)+"_PAYOUT")).Must(f.t)
	info := testenv.Got(stream.Info(f.t.Context())).Must(f.t)
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := stream.GetMsg(f.t.Context(), seq)
		if err == nil && m.Subject == f.subject(campaign) {
			all = append(all, string(m.Data))
		}
	}
	return all
}

func (f *forger) subject(campaign string) string { return f.namespace + ".payout." + campaign + ".0" }

func (f *forger) publish(campaign, message string) {
	f.t.Helper()
	testenv.Must(f.t, testenv.Err(f.js.Publish(f.t.Context(), f.subject(campaign), []byte(message))))
}

// add adds an entry to the outbox.
func (f *forger) add(campaign string, fields ...string) {
	f.t.Helper()
	key := f.key(campaign, 0, "outbox")
	values := make([]any, len(fields))
	for i, v := range fields {
		values[i] = v
	}
	testenv.Must(f.t, f.rdb.XAdd(f.t.Context(), &rds.XAddArgs{Stream: key, Values: values}).Err())
}

// TestForgeriesArePaidToNobody: invented, altered and replayed messages in the stream and the outbox move no money, and
// each is named. Reported wins are paid.
func TestForgeriesArePaidToNobody(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.Parallel(t, testenv.Light)
	s := realSetting(t)
	n := startNode(t, s.config())
	c := createCampaign(t, n.client, fund(t, n, "forged", 10_000, 20))
	won := winners(t, n, c.ID, 4)
	awaitBooks(t, n.client, c.ID)
	f := newForger(t, s)
	alarms := listen(t, n)
	reported := f.messages(c.ID)
	if len(reported) == 0 {
		t.Fatal("the stream has nothing to forge from")
	}
	lines := strings.Split(reported[0], "\n") // seal of the message, head, packets, a line for each win
	head, line := strings.Split(lines[1], " "), strings.Split(lines[3], " ")
	at, mark, drop := head[3], line[0], line[1]
	replaced := func(old, by string) string { return strings.Replace(reported[0], old, by, 1) }

	for what, forge := range map[string]struct {
		do    func()
		alarm string
	}{
		"a message that somebody has made up": {func() {
			f.publish(c.ID, fmt.Sprintf("%s\n%s 0 %d-0 %s\n19-19\n%s %s thief", strings.Repeat("A", 43), c.ID,
				time.Now().UnixMilli(), at, mark, drop))
		}, "forged"},
		"a message with another player": {func() { f.publish(c.ID, replaced(" user-", " thief-")) }, "forged"},
		"a message with another packet": {func() { f.publish(c.ID, replaced("\n"+lines[2]+"\n", "\n19-19\n")) },
			"forged"},
		"an entry with another player": {func() {
			f.add(c.ID, "at", at, "packets", "18-18", "wins", mark+" "+drop+" thief")
		}, "forged"},
		"an entry with another drop": {func() {
			f.add(c.ID, "at", at, "packets", "17-17", "wins", mark+" 1.1 "+line[2])
		}, "forged"},
		"an entry that is played again": {func() {
			f.add(c.ID, "at", at, "packets", "16-16", "wins", lines[3])
		}, "dead_letter"},
		"the rest of an open campaign": {func() {
			f.add(c.ID, "at", at, "packets", "10-15", "reclaim", mark)
		}, "forged"},
	} {
		before := f.waiting(n.client)
		heard := alarms.count(forge.alarm, c.ID)
		forge.do()
		testenv.Eventually(t, 60*time.Second, what+": is kept",
			func() bool { return len(f.waiting(n.client)) > len(before) })
		letters := f.waiting(n.client)
		wantNamed(t, n, c.ID, what, letters[len(letters)-1].Claim)
		testenv.Eventually(t, 60*time.Second, what+": has an alarm",
			func() bool { return alarms.count(forge.alarm, c.ID) > heard })
	}
	// A true message may come again any number of times: it was paid once.
	for _, message := range slices.Backward(reported) {
		f.publish(c.ID, message)
	}
	stream := testenv.Got(f.js.Stream(t.Context(), strings.ToUpper(f.namespace)+"_PAYOUT")).Must(t)
	testenv.Must(t, stream.Purge(t.Context())) // an unpaid win is in an outbox, and is published again
	p := join(t, n, "late", c.ID)
	last := p.answered(t, p.tap(p.freshDrop(t)))
	p.await(t, 30*time.Second, "the settlement of who comes after all that", func() bool {
		return last.Outcome == "won" && len(p.settled[last.Claim]) == 1
	})

	for i, w := range won {
		testenv.Equal(t, balanceOf(t, n, fmt.Sprintf("user-%d", i)), w.Amount, "balance of user-%d", i)
	}
	testenv.Equal(t, balanceOf(t, n, "thief"), 0, "the thief has")
	testenv.Equal(t, testenv.Got(n.client.RetryPayouts(within(t, 20*time.Second), c.ID)).Must(t).Settled, 0,
		"a person has paid")
	testenv.Equal(t, testenv.Got(n.client.Reconciliation(within(t, 20*time.Second), c.ID)).Must(t).Difference, 0,
		"the books")
	f.dismissAll(t, n, c.ID)
}

// dismissAll dismisses every dead letter that keeps a packet when the campaign is over. Then nothing is left in the
// escrow.
func (f *forger) dismissAll(t *testing.T, n *node, campaign string) {
	t.Helper()
	for _, d := range f.waiting(n.client) {
		_, err := client.Post[openapi.Dismissed](within(t, 20*time.Second), n.client,
			openapi.DismissPayoutJSONBody{Reason: "a test", Letter: d.Letter}, "payouts", d.Claim, "dismiss")
		if refused := client.HasStatus(err, 409); err != nil && !refused || refused != (d.Kind == "pay") {
			t.Errorf("dismissing %+v: %v", d, err)
		}
	}
	testenv.Must(t, testenv.Err(n.client.CloseCampaign(within(t, 20*time.Second), campaign)))
	for _, d := range f.waiting(n.client) {
		testenv.Eventually(t, 60*time.Second, "dismissed when the campaign is over", func() bool {
			_, err := client.Post[openapi.Dismissed](within(t, 20*time.Second), n.client,
				openapi.DismissPayoutJSONBody{Reason: "a test", Letter: d.Letter}, "payouts", d.Claim, "dismiss")
			return err == nil
		})
	}
	code, said := reconcile(n, campaign)
	rec, err := n.client.Reconciliation(within(t, 20*time.Second), campaign)
	if err != nil || code != cli.ExitOK || rec.Funded != rec.Paid+rec.Reclaimed {
		t.Errorf("in the end: %+v (%v), exit %d, %s", rec, err, code, said)
	}
}

// wantNamed fails the test unless `redrain reconcile` says something of a campaign in time, asked for it and for
// everything.
func wantNamed(t *testing.T, n *node, campaign, what, name string) {
	t.Helper()
	for _, args := range [][]string{{campaign}, {"--full"}} {
		said := ""
		testenv.Eventually(t, 60*time.Second, what+": is named by redrain reconcile "+args[0], func() bool {
			_, said = reconcile(n, args...)
			return strings.Contains(said, name)
		})
	}
}

// heardAlarms are those that an operator hears.
type heardAlarms struct {
	open  chan struct{} // closed at the first event
	mu    sync.Mutex
	heard []operatorAlarm
}

type operatorAlarm struct {
	Code     string `json:"code"`
	Campaign string `json:"campaign"`
	Message  string `json:"message"`
}

// listen receives a node's alarms until the end of the test. The feed is open when it returns, which needs a campaign.
func listen(t *testing.T, n *node) *heardAlarms {
	t.Helper()
	a := hear(t, n)
	select {
	case <-a.open:
	case <-time.After(60 * time.Second):
		t.Fatal("no feed")
	}
	return a
}

// hear is listen without waiting for the feed.
func hear(t *testing.T, n *node) *heardAlarms {
	t.Helper()
	a := &heardAlarms{open: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var hearing sync.WaitGroup
	t.Cleanup(hearing.Wait)
	t.Cleanup(cancel)
	var once sync.Once
	endless := &http.Client{Transport: httpClient.Transport} // without its timeout
	req := testenv.Got(http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/api/v1/events", nil)).Must(t)
	req.Header.Set("Authorization", "Bearer "+viewerToken)
	hearing.Go(func() {
		for ctx.Err() == nil {
			resp, err := endless.Do(req)
			if err != nil {
				continue
			}
			kind := ""
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); { // a feed that was cut is opened again
				name, isName := strings.CutPrefix(lines.Text(), "event: ")
				if isName {
					once.Do(func() { close(a.open) })
					kind = name
				}
				data, isData := strings.CutPrefix(lines.Text(), "data: ")
				var one operatorAlarm
				if isData && kind == "alarm" && json.Unmarshal([]byte(data), &one) == nil {
					a.mu.Lock()
					a.heard = append(a.heard, one)
					a.mu.Unlock()
				}
			}
			_ = resp.Body.Close()
		}
	})
	return a
}

// count is the number of alarms of a code about a campaign.
func (a *heardAlarms) count(code, campaign string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.heard {
		if one.Code == code && one.Campaign == campaign {
			n++
		}
	}
	return n
}

// await waits for one of these alarms about a campaign.
func (a *heardAlarms) await(t *testing.T, campaign string, codes ...string) {
	t.Helper()
	testenv.Eventually(t, time.Minute, fmt.Sprintf("one of the alarms %v", codes), func() bool {
		return slices.ContainsFunc(codes, func(code string) bool { return a.count(code, campaign) > 0 })
	})
}

// waiting are the open dead letters.
func (f *forger) waiting(op *client.Client) []client.DeadLetter {
	f.t.Helper()
	list, err := client.Get[client.List[client.DeadLetter]](within(f.t, 10*time.Second), op, "payouts")
	testenv.Must(f.t, err)
	return list.Items
}

// depositOf is a sponsor's balance.
func depositOf(t *testing.T, n *node, sponsor string) rain.Money {
	t.Helper()
	ctx := within(t, 10*time.Second)
	return testenv.Got(client.Get[openapi.Sponsor](ctx, n.client, "sponsors", sponsor)).Must(t).Balance
}

// balanceOf is a player's balance; 0 for an unknown player.
func balanceOf(t *testing.T, n *node, user string) rain.Money {
	t.Helper()
	u, err := client.Get[openapi.Balance](within(t, 10*time.Second), n.client, "users", user)
	if err != nil && !client.HasStatus(err, 404) {
		t.Fatal(err)
	}
	return u.Balance
}
