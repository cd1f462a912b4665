package live

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/room"
	"redrain/server/cluster"
	"redrain/server/servertest"
)

// sums are a campaign's figures in Redis and in the ledger.
type sums struct {
	levels  store.Levels
	lost    error
	reports map[string]store.NodeReport
	ranked  error
	teller  string // the node that reports the figures; "": none
	told    []cluster.Figures
	untold  error // the error of choosing that node
}

func (s *sums) Levels(context.Context, *rain.Campaign) (store.Levels, error) { return s.levels, s.lost }

func (s *sums) Report(_ context.Context, _, node string, _ int64, r store.NodeReport) error {
	s.reports[node] = r
	return nil
}

func (s *sums) Reports(context.Context, string) (map[string]store.NodeReport, error) {
	return maps.Clone(s.reports), nil
}

func (s *sums) TakeTelling(_ context.Context, _, node string, _ time.Duration) (bool, error) {
	if s.untold != nil {
		return false, s.untold
	}
	if s.teller == "" {
		s.teller = node
	}
	return s.teller == node, nil
}

// Figures notes the figures that the node sends to the others.
func (s *sums) Figures(_ string, n cluster.Figures) { s.told = append(s.told, n) }

func (s *sums) Top(context.Context, *rain.Campaign) ([]store.Ranked, error) {
	if s.ranked != nil {
		return nil, s.ranked
	}
	return []store.Ranked{{User: "annabel", Amount: 40}}, nil
}

func (s *sums) Totals(context.Context, string) (posting.Totals, error) {
	return posting.Totals{Paid: 5, AmountPaid: 50, Reclaimed: 7, AmountReclaimed: 700}, nil
}
func (s *sums) Dead(context.Context, string) (int64, int64, error) { return 3, 2, nil }

func (s *sums) Counts(context.Context, *rain.Campaign) (waiting, seated int64, err error) {
	return 21, 22, nil
}

// hall is the figures of node a, with a lobby that runs, and an open campaign c.
type hall struct {
	*Figures
	lobby  *room.Lobby
	known  *cluster.Known
	counts *Counts
}

func newHall(t *testing.T, s *sums) *hall {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	h := &hall{known: cluster.NewKnown(), counts: NewCounts(), lobby: room.NewLobby(room.Options{Log: quiet})}
	h.known.Store(&rain.Campaign{ID: "c", Status: rain.Open, Revision: 1})
	s.reports = map[string]store.NodeReport{}
	h.Figures = NewFigures(FiguresOptions{
		Node: "a", Door: s, Sums: s, Reports: s, Ranking: s, Paid: s, Dead: s, Known: h.known, Lobby: h.lobby,
		Counts: h.counts, Bus: s, KeepFor: time.Hour, Clock: func() int64 { return time.Now().UnixMilli() }, Log: quiet,
	})
	testenv.Run(t, h.lobby.Run)
	return h
}

// won returns a notice of players' wins.
func won(users ...string) (n cluster.Won) {
	for _, user := range users {
		n.Winners = append(n.Winners, cluster.Winner{User: user, Amount: 1})
	}
	return n
}

// A campaign's figures are the sum over all nodes; of a node that has gone only its counters. Wins that are neither
// paid nor dead are in flight. Their number is never negative.
func TestStats(t *testing.T) {
	now := int64(1_000_000)
	s := &sums{levels: store.Levels{Won: 9, Stock: 4, AmountWon: 90, AmountLeft: 40}}
	s.reports = map[string]store.NodeReport{
		"a": {T: now, Online: 3, Taps: 10, GrabsPerSecond: 2, Latency: map[int]int64{4: 10},
			Outcomes: outcome.Counts{outcome.Won: 4, outcome.Empty: 6}},
		"b": {T: now - staleReport, Online: 2, Taps: 5, GrabsPerSecond: 1, Outcomes: outcome.Counts{outcome.Won: 5},
			Latency: map[int]int64{-1: 1, latencyBuckets: 1}}, // of another version, which has other buckets
		"gone": {T: now - staleReport - 1, Online: 100, Taps: 7, GrabsPerSecond: 100,
			Outcomes: outcome.Counts{outcome.Late: 7}, Latency: map[int]int64{200: 1000}},
	}
	f := NewFigures(FiguresOptions{Door: s, Sums: s, Reports: s, Paid: s, Dead: s, Clock: func() int64 { return now }})
	c := &rain.Campaign{ID: "c", Status: rain.Open}
	got, err := f.Stats(t.Context(), c)
	testenv.Must(t, err)
	if got.Online != 5 || got.Taps != 22 || got.GrabsPerSecond != 3 || got.Won != 9 || got.Stock != 4 ||
		got.Paid != 5 || got.Dead != 3 || got.Waiting != 21 || got.Seated != 22 || got.Outbox != 9-5-2 ||
		got.AmountLeft != 40 || got.AmountPaid != 50 {
		t.Errorf("%+v", got)
	}
	if len(got.Outcomes) != outcome.Count-1 || got.Outcomes[outcome.Won] != 9 || got.Outcomes[outcome.Late] != 7 {
		t.Errorf("outcomes %v", got.Outcomes)
	}
	if got.TapP50MS == nil || *got.TapP50MS > 0.005 || *got.TapP99MS < 1_000 {
		t.Errorf("%v and %v ms", *got.TapP50MS, *got.TapP99MS)
	}
	s.levels.Unknown = 2
	if got, err := f.Stats(t.Context(), c); err != nil || got.UnknownShards != 2 || got.Won != 9 {
		t.Errorf("with unknown shards: %+v, %v", got, err)
	}
	// Not yet stocked, it is not a loss that Redis does not know all of it.
	if got, err := f.Stats(t.Context(), &rain.Campaign{Status: rain.Loading}); err != nil || got.UnknownShards != 0 ||
		got.Stock != 0 {
		t.Errorf("with unknown shards while it is stocked: %+v, %v", got, err)
	}
	// Some time after the drain Redis has removed the campaign. The ledger has its wins and its reclaims.
	drained := &rain.Campaign{Status: rain.Closed, Drained: true, Spec: rain.Spec{Budget: 1_000}}
	if got, err := f.Stats(t.Context(), drained); err != nil || got.Won != 5+2 || got.AmountWon != 1_000-700 ||
		got.AmountPaid != 50 || got.AmountReclaimed != 700 || got.UnknownShards != 0 || got.Outbox != 0 {
		t.Errorf("long after it was drained: %+v, %v", got, err)
	}
	s.levels.Unknown = 0
	if got, err := f.Stats(t.Context(), drained); err != nil || got.Won != 9 || got.AmountWon != 90 {
		t.Errorf("drained, and Redis still knows it: %+v, %v", got, err)
	}
	s.levels.Won = 1 // Redis was asked before the ledger
	if got, err := f.Stats(t.Context(), c); err != nil || got.Outbox != 0 {
		t.Errorf("%d in flight, %v", got.Outbox, err)
	}
	for name, is := range map[string]struct {
		c    *rain.Campaign
		lost error
		ok   bool
	}{
		"loading":       {&rain.Campaign{Status: rain.Loading}, store.ErrNoState, true},
		"drained":       {&rain.Campaign{Status: rain.Closed, Drained: true}, store.ErrNoState, true},
		"lost":          {c, store.ErrNoState, false},
		"Redis is away": {&rain.Campaign{Status: rain.Loading}, errors.New("away"), false},
	} {
		s.lost = is.lost
		if _, err := f.Stats(t.Context(), is.c); (err == nil) != is.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A node reports its counts, and sends its rooms the sums of all nodes. A room shows the masked winners, without the
// ranking if that cannot be read. A drained campaign without viewers is reported once more, and removed.
func TestFiguresAreReportedAndTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sums{levels: store.Levels{Won: 2, Stock: 8}}
		f := newHall(t, s)
		f.Won("c", won("nobody is there"))
		ear := &servertest.Ear{}
		member := f.lobby.NewMember(ear.Connect(t))
		f.lobby.Join("c", "u", member)
		screen := f.lobby.NewMember((&servertest.Ear{}).Connect(t))
		f.lobby.Watch("c", "hall", screen) // not counted as online
		f.counts.Of("c").Tap(outcome.Won, time.Millisecond)
		f.Won("c", won("annabel", "bertrand"))
		s.ranked = errors.New("away")
		testenv.Run(t, f.Run)
		synctest.Wait()
		if r := s.reports["a"]; r.Online != 1 || r.Taps != 1 || r.GrabsPerSecond != 1 || r.Keep != 0 {
			t.Errorf("reported %+v", r)
		}
		told := ear.Of(wire.TypeRoom)
		if len(told) != 1 {
			t.Fatalf("the room was notified %d times", len(told))
		}
		want := `"online":1,"stock":8,"won":2,"amount_won":0,"winners":[{"user":"` + wire.Mask("bertrand") +
			`","amount":1},{"user":"` + wire.Mask("annabel") + `","amount":1}],"top":[]`
		testenv.Contains(t, string(told[0].Data), want, "the room received")
		f.known.Store(&rain.Campaign{ID: "c", Status: rain.Closed, Drained: true, Revision: 2})
		f.lobby.Leave(member)
		<-time.After(2*ReportEvery + ReportEvery/2) // of the bubble
		synctest.Wait()
		if len(f.newest("c")) == 0 {
			t.Error("the winners are forgotten before a screen that shows them")
		}
		f.lobby.Leave(screen)
		<-time.After(2*ReportEvery + ReportEvery/2) // of the bubble
		synctest.Wait()
		if r := s.reports["a"]; r.Online != 0 || r.Taps != 1 || r.GrabsPerSecond != 0 || r.Keep != time.Hour {
			t.Errorf("reported in the end %+v", r)
		}
		if len(f.counts.campaigns()) != 0 || len(f.newest("c")) != 0 {
			t.Error("a drained campaign is still remembered")
		}
	})
}
