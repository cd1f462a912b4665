package main

import (
	"testing"
	"time"
)

var usual = costs{batch: 15 * time.Microsecond, tap: 5 * time.Microsecond, way: 300 * time.Microsecond}

// TestBatchesGrowWhereRedisIsTheLimit: more taps than Redis could decide one by one are decided all the same.
func TestBatchesGrowWhereRedisIsTheLimit(t *testing.T) {
	little := simulate(setup{gateways: 340, shards: 128, taps: 1_000_000}, usual, time.Second)
	much := simulate(setup{gateways: 340, shards: 128, taps: 10_000_000}, usual, time.Second)
	if little.perBatch > 1.1 || little.busy > 0.2 || little.p99 > time.Millisecond {
		t.Errorf("little: %+v", little)
	}
	if much.perBatch < 1.5 || much.p99 > 50*time.Millisecond {
		t.Errorf("much: %+v", much)
	}
}

func TestALoneTapLeavesAtOnce(t *testing.T) {
	r := simulate(setup{gateways: 1, shards: 1, taps: 100}, usual, 10*time.Second)
	if r.p50 != usual.way+usual.batch+usual.tap || r.perBatch > 1.1 {
		t.Errorf("%+v", r)
	}
}
