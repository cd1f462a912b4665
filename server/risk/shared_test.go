package risk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/payout/ledger/standing"
	"redrain/server/config"
)

// redis is a Shared in memory, for some nodes.
type redis struct {
	mu    sync.Mutex
	fails bool
	told  int
	of    map[store.Trait]map[string]bool // by trait, without the player
	hands map[string]map[string]string    // by player and node
}

func newRedis() *redis {
	return &redis{of: map[store.Trait]map[string]bool{}, hands: map[string]map[string]string{}}
}

var errAway = errors.New("redis is away")

func (r *redis) Tell(_ context.Context, traits []store.Trait) (having []int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails {
		return nil, errAway
	}
	for _, t := range traits {
		what := store.Trait{Kind: t.Kind, Value: t.Value}
		if t.User == "" {
			having = append(having, len(r.of[what]))
			continue
		}
		r.told++
		if r.of[what] == nil {
			r.of[what] = map[string]bool{}
		}
		if r.of[what][t.User] = true; t.Gone {
			delete(r.of[what], t.User)
		}
		having = append(having, len(r.of[what]))
	}
	return having, nil
}

func (r *redis) Hands(_ context.Context, node string, own map[string]string) (map[string][]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails {
		return nil, errAway
	}
	others := map[string][]string{}
	for user, text := range own {
		if r.hands[user] == nil {
			r.hands[user] = map[string]string{}
		}
		for n, other := range r.hands[user] {
			if n != node {
				others[user] = append(others[user], other)
			}
		}
		r.hands[user][node] = text
	}
	return others, nil
}

// nodes are watches that share a Redis and a book.
func nodes(t *testing.T, n int, now *int64) (all []*Watch, r *redis, b *book) {
	t.Helper()
	r, b = newRedis(), newBook()
	for i := range n {
		all = append(all, NewWatch(Options{Limits: config.Default().RiskLimits, Verdicts: b,
			Clock:  func() int64 { return *now },
			Shared: r, Node: strconv.Itoa(i),
			Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}))
	}
	return all, r, b
}

func rulesOf(b *book, user string) (names []string) {
	for _, r := range standing.ParseReasons(b.of[user].Reasons) {
		names = append(names, r.Rule)
	}
	return names
}

// A program whose taps go to two nodes in turn is found after as many taps as one that plays on one node.
func TestAHandOnTwoNodes(t *testing.T) {
	now := int64(rainStarts)
	all, _, b := nodes(t, 2, &now)
	c := campaign()
	var hands []*Hand
	for _, w := range all {
		hands = append(hands, w.Hand(Caller{User: "bot", Address: "a"}))
		w.Among("bot", 2)
		w.Among("nobody", 2)
	}
	for wave := range int64(6) {
		now = rainStarts + wave*250
		tapWave(hands[wave%2], c, wave, 1)
		look(t, all[wave%2])
		if _, found := b.of["bot"]; found != (wave == 5) {
			t.Errorf("after %d taps it is found: %v", wave+1, found)
		}
	}
}

// A person on several nodes is not taken for a program. A node's old report does not count.
func TestAPersonOnTwoNodes(t *testing.T) {
	random := testenv.Random(t)
	now := int64(rainStarts)
	all, r, b := nodes(t, 2, &now)
	c := campaign()
	r.hands["late"] = map[string]string{"gone": noted{At: now, sums: sums{Taps: moments{6, 6, 6}, Fast: 6}}.text()}
	for _, user := range []string{"person", "late"} {
		for wave := range int64(100) {
			now = rainStarts + notedForMS + 1 + wave*250
			w := all[wave%2]
			h := w.Hand(Caller{User: user, Address: user})
			w.Among(user, 2)
			tapWave(h, c, wave, people(random, false))
			look(t, w)
		}
	}
	if len(b.of) > 0 {
		t.Errorf("held: %v", b.of)
	}
}

// A report that no hand can have caused is ignored.
func TestWhatNoHandCanHaveDone(t *testing.T) {
	const now = 1_000_000
	good := noted{At: now, sums: sums{Taps: moments{12, 1200, 130_000}, Gaps: moments{11, 1100, 120_000}, Fast: 6,
		Astray: 2}}
	if s, ok := readNoted(good.text(), now+notedForMS); !ok || s != good.sums {
		t.Errorf("%+v, %v", s, ok)
	}
	for name, spoil := range map[string]func(*noted){
		"old":                    func(n *noted) { n.At -= notedForMS + 1 },
		"of the future":          func(n *noted) { n.At += 2*notedForMS + 1 },
		"more than a hand knows": func(n *noted) { n.Taps.N = 65 },
		"less than nothing":      func(n *noted) { n.Astray = -1 },
		"faster than it tapped":  func(n *noted) { n.Fast = 13 },
		"more gaps than taps":    func(n *noted) { n.Gaps.N = 13 },
		"no numbers":             func(n *noted) { n.Taps.Squares = 1 },
		"below nothing":          func(n *noted) { n.Taps.Sum = -1 },
	} {
		bad := good
		spoil(&bad)
		if s, ok := readNoted(bad.text(), now+notedForMS); ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for _, text := range []string{"", "{", "null", `{"At":1e999}`, `[]`} {
		if _, ok := readNoted(text, now); ok {
			t.Errorf("%q is believed", text)
		}
	}
}

// Accounts of one session are found, and so is a farm with one rhythm behind one address. Each of many nodes sees too
// few of them. Without Redis they are found on one node.
func TestFarms(t *testing.T) {
	for _, many := range []int{8, 1} {
		now := int64(rainStarts - 1)
		all, r, b := nodes(t, many, &now)
		r.fails = many == 1
		c := campaign()
		for second := range int64(4) { // the first ones are compared again with their next taps
			now = rainStarts + second*sharedFor
			for i := range 10 {
				h := all[i%many].Hand(Caller{User: fmt.Sprint("s", i), Address: fmt.Sprint(i), Session: "one"})
				tapWave(h, c, second, 333+10*int64(i))
			}
			for i := range 24 {
				h := all[i%many].Hand(Caller{User: fmt.Sprint("f", i), Address: "farm", Issued: rainStarts})
				h.Won()
				for wave := range int64(30) {
					tapWave(h, c, wave, 300+(17*wave+7*int64(i))%45) // 13 ms of spread, around the same middle
				}
			}
			for _, w := range all {
				look(t, w)
			}
		}
		sessions, farm := 0, 0
		for _, user := range slices.Sorted(maps.Keys(b.of)) {
			switch rules := rulesOf(b, user); {
			case slices.Contains(rules, "one_session"):
				sessions++
			case slices.Contains(rules, "same_rhythm"):
				farm++
			default:
				t.Errorf("%s: %v", user, rules)
			}
		}
		if sessions != 10 || farm < 24*9/10 {
			t.Errorf("on %d nodes %d of 10 of a session and %d of 24 of a farm are held", many, sessions, farm)
		}
		if r.told > 34*5 {
			t.Errorf("%d reports of 34 players", r.told)
		}
	}
}

// If Redis is away, each node judges alone, and reports later. A player who has dropped a rhythm no longer counts for
// it.
func TestRedisIsAway(t *testing.T) {
	now := int64(rainStarts)
	all, r, b := nodes(t, 2, &now)
	c := campaign()
	r.fails = true
	bot := all[0].Hand(Caller{User: "bot"})
	all[0].Among("bot", 2)
	steady := all[1].Hand(Caller{User: "steady", Address: "x", Session: "s"})
	for wave := range int64(12) {
		tapWave(bot, c, wave, 1)
		tapWave(steady, c, wave, 300+wave%2*5)
	}
	look(t, all[0])
	look(t, all[1])
	if len(b.of) != 2 {
		t.Errorf("held without Redis: %v", b.of)
	}
	r.fails = false
	tapWave(steady, c, 12, 300)
	look(t, all[1])
	rhythm := store.Trait{Kind: "rhythm", Value: "31"}
	if !r.of[rhythm]["steady"] || !r.of[store.Trait{Kind: "session", Value: "s"}]["steady"] {
		t.Errorf("reported: %v", r.of)
	}
	for wave := int64(13); wave < 40; wave++ {
		tapWave(steady, c, wave, 250+wave*37%300)
	}
	look(t, all[1])
	if r.of[rhythm]["steady"] {
		t.Error("who plays by hand is still counted among programs")
	}
}
