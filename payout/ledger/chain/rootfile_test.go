package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
)

// TestRootsGoToAFile: each once, including those of other nodes and from before a restart. An audit can read the
// file.
func TestRootsGoToAFile(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	deposit(t, b, "first")
	other := take(t, b, dawn)
	path := filepath.Join(t.TempDir(), "roots.jsonl")
	var log bytes.Buffer
	days := func(t testing.TB) (days string, roots []chain.Root) {
		t.Helper()
		text, err := os.ReadFile(path)
		testenv.Must(t, err)
		roots, err = chain.ReadRoots(text)
		testenv.Must(t, err)
		for _, root := range roots {
			days += root.Day + " "
		}
		return days, roots
	}
	for start, want := range []string{"2026-11-22 2026-11-23 2026-11-24 ",
		"2026-11-22 2026-11-23 2026-11-24 2026-11-25 "} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			clock := func() int64 { return dawn.Add(day + time.Since(began) + time.Duration(start)*day).UnixMilli() }
			run(t, chain.NewRootRounds(chain.NewRoots(b.DB, clock), path, nil,
				slog.New(slog.NewJSONHandler(&log, nil))),
				day+time.Hour)
			if got, _ := days(t); got != want {
				t.Errorf("the file has %q, want %q", got, want)
			}
		})
	}
	_, roots := days(t)
	if v, found := verify(t, b, "", roots...); v.Roots != 4 || len(found) > 0 || roots[0].Hash != other.Hash {
		t.Errorf("%+v, %q", v, found)
	}
	if n := strings.Count(log.String(), `"the root of the day"`); n != 3 {
		t.Errorf("%d roots are in the log, want those that this node took:\n%s", n, log.String())
	}
	if !strings.Contains(log.String(), fmt.Sprintf("%q", roots[3].Hash)) {
		t.Errorf("the log does not name the root %s:\n%s", roots[3].Hash, log.String())
	}
}

// run runs rounds for a while.
func run(t *testing.T, r *chain.RootRounds, during time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	testenv.WantErr(t, r.Run(ctx), nil)
}

// TestATornFileOfRoots: an invalid line is reported, and nothing is appended.
func TestATornFileOfRoots(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	deposit(t, b, "first")
	root := take(t, b, dawn)
	line, err := json.Marshal(root)
	testenv.Must(t, err)
	path := filepath.Join(t.TempDir(), "roots.jsonl")
	torn := string(line) + "\n" + string(line[:40])
	testenv.Must(t, os.WriteFile(path, []byte(torn), 0o600))
	take(t, b, dawn.Add(day))
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		clock := func() int64 { return dawn.Add(day).UnixMilli() }
		run(t, chain.NewRootRounds(chain.NewRoots(b.DB, clock), path, nil, slog.New(slog.NewTextHandler(&log, nil))),
			time.Hour)
	})
	if text, err := os.ReadFile(path); err != nil || string(text) != torn {
		t.Errorf("%q, %v", text, err)
	}
	if !strings.Contains(log.String(), "line 2: invalid root") || !strings.Contains(log.String(), "may be removed") {
		t.Error(log.String())
	}
}
