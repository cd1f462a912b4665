package names

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/internal/wire"
)

// shelf is a Store.
type shelf struct {
	mu    sync.Mutex
	away  error
	fail  func() error // nil: Tell does what away says
	names map[string]store.Named
	told  int
	most  int // in one go
}

func (s *shelf) Tell(_ context.Context, named []store.Named) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail()
	}
	if s.away != nil {
		return s.away
	}
	s.most = max(s.most, len(named))
	for _, one := range named {
		s.names[one.User] = one
		s.told++
	}
	return nil
}

func (s *shelf) Read(_ context.Context, users []string) ([]store.Named, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var named []store.Named
	for _, user := range users {
		if one, known := s.names[user]; known {
			named = append(named, one)
		}
	}
	return named, s.away
}

// A name is published once in a minute, when its player is called and is here. After an error it is published again at
// once. A banned player is shown without a name. Names from the store are checked again.
func TestABookTellsWhoIsCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{names: map[string]store.Named{}}
		b := New(Options{Store: s, Hosts: Hosts{"img.example"}, Log: slog.New(slog.DiscardHandler),
			Registerer: prometheus.NewRegistry(),
			Here: func(user string) (wire.Profile, bool) {
				profiles := map[string]wire.Profile{"a": {Name: "小雨"}, "b": {Name: "B"}, "plain": {}}
				return profiles[user], user != "elsewhere"
			},
			Banned: func(user string) bool { return user == "b" },
		})
		stop := testenv.Run(t, b.Run)
		call := func(want int, users ...string) {
			t.Helper()
			b.Called(users)
			synctest.Wait()
			testenv.Equal(t, s.told, want, "published names, of %v", s.names)
		}
		call(2, "a", "b", "plain", "elsewhere")
		call(2, "a", "b", "a")
		s.away = errors.New("away")
		s.names = map[string]store.Named{}
		if _, err := b.Profiles(t.Context(), []string{"a"}); err == nil {
			t.Error("no error where nothing could be read")
		}
		<-time.After(publishedFor + 1) // of the bubble
		call(2, "a")
		s.away = nil
		call(3, "a")
		s.names["b"] = store.Named{User: "b", Name: "B"}
		s.names["forged"] = store.Named{User: "forged", Name: "x\u202e", Avatar: "https://evil.example/x", Face: "../x"}
		profiles, err := b.Profiles(t.Context(), []string{"a", "b", "forged", "elsewhere"})
		want := map[string]wire.Profile{"a": {Name: "小雨"}, "b": {}, "forged": {Name: "x"}}
		if err != nil || !maps.Equal(profiles, want) {
			t.Errorf("%v, %v; want %v", profiles, err, want)
		}
		stop()
		// After the end no reader is left, and adding names does not block.
		before := testutil.ToFloat64(b.lost)
		for i := range waiting + 7 {
			b.add(store.Named{User: strconv.Itoa(i)})
		}
		testenv.Equal(t, testutil.ToFloat64(b.lost)-before, 7, "names were lost")
	})
}

// A player's name is this node's, or else the published one, checked again. If the store cannot be read, the names of
// this node remain.
func TestKnown(t *testing.T) {
	s := &shelf{names: map[string]store.Named{
		"far": {User: "far", Name: "远\u202e方"}, "near": {User: "near", Name: "old"},
	}}
	b := New(Options{Store: s, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		Here: func(user string) (wire.Profile, bool) {
			profile, here := map[string]wire.Profile{"near": {Name: "近"}, "nameless": {}}[user]
			return profile, here
		},
		Banned: func(string) bool { return false },
	})
	users := []string{"near", "far", "nameless", "nobody"}
	known, err := b.Known(t.Context(), users)
	testenv.Must(t, err)
	testenv.Equal(t, known, map[string]wire.Profile{"near": {Name: "近"}, "far": {Name: "远方"}}, "profiles")
	s.away = errors.New("away")
	known, err = b.Known(t.Context(), users)
	if err == nil || !maps.Equal(known, map[string]wire.Profile{"near": {Name: "近"}}) {
		t.Errorf("without the store: %v, %v", known, err)
	}
}

// bookOfAll is a book of a node on which all players are.
func bookOfAll(s *shelf) *Book {
	return New(Options{Store: s, Registerer: prometheus.NewRegistry(),
		Here: func(user string) (wire.Profile, bool) { return wire.Profile{Name: user}, true }})
}

// Waiting names are published together, and never too many at once.
func TestManyNamesAreToldInParts(t *testing.T) {
	s := &shelf{names: map[string]store.Named{}}
	b := bookOfAll(s)
	for i := range 2*atOnce + 1 {
		b.Called([]string{strconv.Itoa(i)})
	}
	if err := b.publish(t.Context()); err != nil || s.told != 2*atOnce+1 || s.most != atOnce {
		t.Errorf("%d names were published, %d at once (%v)", s.told, s.most, err)
	}
}

// A name whose publishing failed is counted and published again, after an error and after a panic.
func TestLostNamesAreToldAgain(t *testing.T) {
	s := &shelf{names: map[string]store.Named{}}
	b := bookOfAll(s)
	const many = 2*atOnce + 1
	for i, away := range []func() error{
		func() error { return errors.New("away") }, func() error { panic("torn") }, nil,
	} {
		s.fail = away
		for i := range many {
			b.Called([]string{strconv.Itoa(i)})
		}
		var none *loop.Recoverer
		err := none.Try("names", func() error { return b.publish(t.Context()) })
		lost := testutil.ToFloat64(b.lost)
		isWell := away == nil
		if (s.told == many) != isWell || (err == nil) != isWell || lost != many*float64(min(i+1, 2)) {
			t.Errorf("round %d: published %d, lost %v (%v)", i, s.told, lost, err)
		}
	}
}

func TestProfileOfAToken(t *testing.T) {
	b := New(Options{Registerer: prometheus.NewRegistry(), Hosts: Hosts{"img.example"}})
	got := b.Profile(auth.Grant{User: "u", Name: " 小\u200b雨 ", Picture: "https://img.example/1", Face: "koi"})
	if (got != wire.Profile{Name: "小雨", Avatar: "https://img.example/1", Face: "koi"}) {
		t.Errorf("%+v", got)
	}
}
