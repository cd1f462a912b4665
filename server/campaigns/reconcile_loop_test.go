package campaigns

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/loop"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/server/servertest"
)

// twoOpen knows two open campaigns, "bad" before "good".
type twoOpen struct{ told }

func (twoOpen) Live() []*rain.Campaign {
	return []*rain.Campaign{
		{ID: "bad", Status: rain.Open, Revision: 1, ExpiresAt: 1 << 60},
		{ID: "good", Status: rain.Open, Revision: 1, ExpiresAt: 1 << 60},
	}
}

// tornStock panics for the campaign "bad", and notes when it was asked to apply another.
type tornStock struct {
	memoryStock

	mu      sync.Mutex
	applied map[string]int
}

func (s *tornStock) Apply(_ context.Context, c *rain.Campaign) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applied[c.ID]++
	if c.ID == "bad" {
		panic("a torn campaign")
	}
	return errors.New("again") // so that it is applied in the next round as well
}

// TestAPanicHoldsUpNoOtherCampaign: a panic is logged with its stack, raises one alarm in all, and fails its round. The
// round goes on with the other campaigns, and the next round runs.
func TestAPanicHoldsUpNoOtherCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log servertest.Log
		logger := slog.New(slog.NewTextHandler(&log, nil))
		alarms := 0
		recoverer, err := loop.NewRecoverer(nil, logger, func(part, _ string) {
			if part == "reconcile loop" {
				alarms++
			}
		})
		testenv.Must(t, err)
		known := &twoOpen{told{map[string]int64{}, map[string]int64{}}}
		stock := &tornStock{applied: map[string]int{}}
		node := memoryNode(known, known, func() int64 { return time.Now().UnixMilli() })
		node.Recoverer, node.Log = recoverer, logger
		loop := &ReconcileLoop{Node: node,
			Service: NewService(ServiceOptions{Node: node, Ledger: memoryLedger{}, Stock: stock})}
		stop := testenv.Run(t, loop.Run)
		time.Sleep(keepEvery + keepEvery/2) // of the bubble's clock: two rounds
		synctest.Wait()
		stop()
		if stock.applied["bad"] != 2 || stock.applied["good"] != 2 || alarms != 1 {
			t.Errorf("applied %v, %d alarms", stock.applied, alarms)
		}
		if said := log.String(); !strings.Contains(said, "a torn campaign") ||
			!strings.Contains(said, "reconcile_loop_test.go") || !strings.Contains(said, `what="the upkeep of`) {
			t.Errorf("the log:\n%s", said)
		}
	})
}
