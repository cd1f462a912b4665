package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
)

// slotMover moves slots as an operator would by hand.
type slotMover struct {
	t       *testing.T
	masters []*rds.Client
	ids     []string
}

func newSlotMover(t *testing.T, addrs []string) *slotMover {
	t.Helper()
	m := &slotMover{t: t}
	for _, addr := range addrs {
		c := rds.NewClient(&rds.Options{Addr: addr})
		t.Cleanup(func() { _ = c.Close() })
		role := testenv.Got(c.Do(t.Context(), "ROLE").Slice()).Must(t)
		if role[0] != "master" {
			continue
		}
		id := testenv.Got(c.Do(t.Context(), "CLUSTER", "MYID").Text()).Must(t)
		m.masters, m.ids = append(m.masters, c), append(m.ids, id)
	}
	return m
}

// move moves the slot of a key to the next master: one key after the other, or all at once.
func (m *slotMover) move(key string, oneByOne bool) {
	m.t.Helper()
	ctx := within(m.t, time.Minute)
	slot := m.masters[0].ClusterKeySlot(ctx, key).Val()
	from := m.owner(ctx, slot)
	to := (from + 1) % len(m.masters)
	m.do(ctx, to, "CLUSTER", "SETSLOT", slot, "IMPORTING", m.ids[from])
	m.do(ctx, from, "CLUSTER", "SETSLOT", slot, "MIGRATING", m.ids[to])
	for {
		keys := testenv.Got(m.masters[from].ClusterGetKeysInSlot(ctx, int(slot), 100).Result()).Must(m.t)
		if len(keys) == 0 {
			break
		}
		if oneByOne {
			keys = keys[:1]
		}
		m.migrate(ctx, from, to, keys)
	}
	for _, i := range []int{to, from} {
		m.do(ctx, i, "CLUSTER", "SETSLOT", slot, "NODE", m.ids[to])
	}
}

func (m *slotMover) migrate(ctx context.Context, from, to int, keys []string) {
	m.t.Helper()
	host, port, _ := strings.Cut(m.masters[to].Options().Addr, ":")
	args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
	for _, key := range keys {
		args = append(args, key)
	}
	m.do(ctx, from, args...)
}

// owner is the master that has a slot.
func (m *slotMover) owner(ctx context.Context, slot int64) int {
	m.t.Helper()
	for i, c := range m.masters {
		if n, err := c.ClusterCountKeysInSlot(ctx, int(slot)).Result(); err == nil && n > 0 {
			return i
		}
	}
	m.t.Fatalf("nobody has keys of slot %d", slot)
	return -1
}

func (m *slotMover) do(ctx context.Context, i int, args ...any) {
	m.t.Helper()
	if err := m.masters[i].Do(ctx, args...).Err(); err != nil {
		m.t.Fatal(fmt.Errorf("%v: %w", args, err))
	}
}
