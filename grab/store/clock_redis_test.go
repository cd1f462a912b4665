package store_test

import (
	"testing"
	"time"

	"redrain/grab/grabtest"
	"redrain/grab/store"
)

func TestClockOfARealRedis(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			c := store.NewClock(rdb, nil)
			if err := c.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			if off := c.Now() - time.Now().UnixMilli(); off < -50 || off > 50 {
				t.Errorf("on the same machine, and off by %d ms", off)
			}
		})
	}
}
