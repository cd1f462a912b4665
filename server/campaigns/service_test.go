package campaigns

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/servertest"
)

// memoryNode is a node without back ends.
func memoryNode(known Known, bus Bus, clock rain.Clock) Node {
	return Node{Name: "n", Leases: servertest.Leases{}, Known: known, Bus: bus, Clock: clock,
		Log: slog.New(slog.DiscardHandler)}
}

// memoryLedger keeps campaigns in memory.
type memoryLedger map[string]*rain.Campaign

func (m memoryLedger) CreateCampaign(_ context.Context, c *rain.Campaign) error {
	if m[c.ID] != nil {
		return ledger.ErrCampaignExists
	}
	m[c.ID] = c.Clone()
	return nil
}

func (m memoryLedger) Campaign(_ context.Context, id string) (*rain.Campaign, error) {
	if c := m[id]; c != nil {
		return c.Clone(), nil
	}
	return nil, posting.ErrUnknownCampaign
}

func (m memoryLedger) Update(ctx context.Context, id string,
	change func(*rain.Campaign) error) (*rain.Campaign, error) {
	c, err := m.Campaign(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := change(c); err != nil {
		return nil, err
	}
	c.Revision++
	m[id] = c
	return c.Clone(), nil
}

func (m memoryLedger) Abandon(ctx context.Context, id string) (*rain.Campaign, error) {
	return m.Update(ctx, id, func(c *rain.Campaign) error { c.Status = rain.Closed; return nil })
}

func (m memoryLedger) Cleared(context.Context, string) (bool, error) { return true, nil }

// memoryStock is a Redis that notes its commands, or is away.
type memoryStock struct {
	away error
	did  []string
}

func (m *memoryStock) note(what string) error {
	if m.away == nil {
		m.did = append(m.did, what)
	}
	return m.away
}

func (m *memoryStock) Open(context.Context, *rain.Campaign, int64) error {
	return m.note("open")
}
func (m *memoryStock) Apply(context.Context, *rain.Campaign) error         { return m.note("apply") }
func (m *memoryStock) CloseCampaign(context.Context, *rain.Campaign) error { return m.note("close") }

// told notes the versions that this node and the others received.
type told struct{ known, others map[string]int64 }

func (h *told) Put(c *rain.Campaign) *rain.Campaign { h.known[c.ID] = c.Revision; return c }
func (h *told) Cached(string) *rain.Campaign        { return nil }
func (h *told) Live() []*rain.Campaign              { return nil }
func (h *told) Changed(c *rain.Campaign)            { h.others[c.ID] = c.Revision }
func (h *told) Restored(string)                     {}
func (h *told) Restocked(string, int)               {}
func (h *told) SoldOut(string, rain.Lane)           {}
func (h *told) Alarm(string, string, string)        {}

// memoryService is a service without back ends but books, with the campaign "Gala".
func memoryService(t *testing.T, books ServiceLedger) (s *Service, c *rain.Campaign, hears *told, stock *memoryStock) {
	t.Helper()
	hears, stock = &told{map[string]int64{}, map[string]int64{}}, &memoryStock{}
	s = NewService(ServiceOptions{Node: memoryNode(hears, hears, func() int64 { return 1_000 }), Ledger: books,
		Stock: stock})
	spec := servertest.EvenSpec(1_000, 10, 1)
	c, err := s.Create(t.Context(), spec, "")
	testenv.Must(t, err)
	return s, c, hears, stock
}

// TestACommandIsToldToAll: each command takes effect in Redis, and this node and the others receive it at once. If
// Redis is away they receive it, too, because the command stands.
func TestACommandIsToldToAll(t *testing.T) {
	s, c, hears, stock := memoryService(t, memoryLedger{})
	check := func(command string, wantErr error, do func() (*rain.Campaign, error)) {
		t.Helper()
		was := hears.others[c.ID]
		is, err := do()
		if !errors.Is(err, wantErr) || is == nil {
			t.Fatalf("%s: %v", command, err)
		}
		if is.Revision <= was || hears.known[c.ID] != is.Revision || hears.others[c.ID] != is.Revision {
			t.Errorf("%s made revision %d; this node knows %d, the others %d", command, is.Revision,
				hears.known[c.ID], hears.others[c.ID])
		}
	}
	id := c.ID
	check("pause", nil, func() (*rain.Campaign, error) { return s.Pause(t.Context(), id) })
	check("resume", nil, func() (*rain.Campaign, error) { return s.Resume(t.Context(), id) })
	check("start", nil, func() (*rain.Campaign, error) {
		is, _, err := s.StartRain(t.Context(), id, rain.DefaultRain(), "")
		return is, err
	})
	stock.away = errors.New("away")
	check("pause without Redis", ErrApply, func() (*rain.Campaign, error) { return s.Pause(t.Context(), id) })
	stock.away = nil
	check("close", nil, func() (*rain.Campaign, error) { return s.Close(t.Context(), id) })
	if got := stock.did[len(stock.did)-1]; stock.did[0] != "open" || got != "close" {
		t.Errorf("Redis received %v", stock.did)
	}
}
