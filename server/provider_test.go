package server

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/payout/paytest"
)

// TestAnotherProviderIsTold: a node that starts with another receiver raises an alarm with the command. It makes a new
// order after the old one expires, and does not repeat a rejected order before its next start. A node with a replaced
// receiver makes no order.
func TestAnotherProviderIsTold(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	var alarms []string
	node := func(receiver string, named bool) *providerStart {
		return &providerStart{
			approvals: b.Approvals, receiver: receiver, named: named, log: slog.New(slog.DiscardHandler),
			alarm: func(code, _, message string) { alarms = append(alarms, code+": "+message) },
		}
	}
	look := func(p *providerStart, want string) {
		t.Helper()
		alarms = nil
		testenv.Must(t, p.look(t.Context()))
		if got := strings.Join(alarms, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("alarms: %q, want %q", got, want)
		}
	}
	first, other := node("a", true), node("b", true)
	look(first, "")
	look(other, "provider_changed: withdrawals are to be sent to b instead of a")
	old := other.order
	look(other, "")
	b.Clock.Add((24 * time.Hour).Milliseconds())
	look(other, "redrain approval confirm a")
	if other.order == old || other.done {
		t.Errorf("the old order: %+v", other)
	}
	_, err := b.Approvals.Reject(t.Context(), other.order, ledger.Person{Name: "ann"})
	testenv.Must(t, err)
	look(other, "")
	restarted := node("b", true)
	look(restarted, "redrain approval confirm a")
	_, _, err = b.Approvals.Confirm(t.Context(), restarted.order, ledger.Person{Name: "ann"})
	testenv.Must(t, err)
	look(restarted, "")
	if !first.done || !restarted.done || other.done {
		t.Error("which nodes are done:", first.done, restarted.done, other.done)
	}
	look(node("c", false), "withdrawals are sent to c instead of b from now on")
	look(node("c", true), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	testenv.Must(t, node("d", true).run(ctx))
}
