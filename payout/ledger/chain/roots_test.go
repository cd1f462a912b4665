package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
)

const day = 24 * time.Hour

// dawn is soon after the end of 2026-11-22.
var dawn = time.Date(2026, 11, 23, 0, 0, 5, 0, time.UTC)

// take takes the root of the day before a time.
func take(t testing.TB, b *paytest.Books, at time.Time) *chain.Root {
	t.Helper()
	root, err := chain.NewRoots(b.DB, at.UnixMilli).Take(t.Context())
	paytest.Must(t, err)
	return root
}

// audit is what an audit finds.
func audit(t testing.TB, b *paytest.Books, from string, noted ...chain.Root) (chain.Audited, []string) {
	t.Helper()
	var found []string
	a, err := chain.Audit(t.Context(), b.DB, chain.AuditOptions{From: from, Noted: noted,
		Found: func(what string) { found = append(found, what) }})
	paytest.Must(t, err)
	if int(a.Broken) != len(found) {
		t.Errorf("%d broken places, %q", a.Broken, found)
	}
	return a, found
}

func deposit(t testing.TB, b *paytest.Books, reference string) {
	t.Helper()
	_, err := b.Deposit(paytest.As(t, "sponsor.deposit"), "big", reference, 7)
	paytest.Must(t, err)
}

// TestADayHasOneRoot: however many nodes take it; each follows the one before. Days without a node have none of their
// own.
func TestADayHasOneRoot(t *testing.T) {
	t.Parallel()
	paytest.OnEach(t, func(b *paytest.Books) {
		t := b.T
		if root := take(t, b, dawn); root != nil {
			t.Errorf("before anything is chained: %+v", root)
		}
		fill(b)
		first := take(t, b, dawn)
		if first == nil || first.Day != "2026-11-22" || first.Previous != "" {
			t.Fatalf("%+v", first)
		}
		if again := take(t, b, dawn.Add(day-time.Minute)); again != nil {
			t.Errorf("taken twice: %+v", again)
		}
		deposit(t, b, "more")
		second := take(t, b, dawn.Add(3*day))
		if second == nil || second.Day != "2026-11-25" || second.Previous != first.Hash || second.Hash == first.Hash {
			t.Fatalf("%+v", second)
		}
		links := int64(0)
		for _, e := range second.Stripes {
			links += e.Links
		}
		if a, found := audit(t, b, "", *first, *second); a.Roots != 2 || a.Links != links || len(found) > 0 {
			t.Errorf("%+v, %q", a, found)
		}
		if a, _ := audit(t, b, "2026-11-22"); a.Roots != 2 || a.Links != 2 {
			t.Errorf("from the first root on: %+v", a)
		}
		_, err := chain.Audit(t.Context(), b.DB, chain.AuditOptions{From: "2026-11-23"})
		if unknown, ok := errors.AsType[chain.UnknownDayError](err); !ok || unknown != "2026-11-23" {
			t.Errorf("%v", err)
		}
	})
}

// TestARootFromTheFuture: a row that is dated ahead, or a clock that has gone back, would keep days without roots.
func TestARootFromTheFuture(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	deposit(t, b, "first")
	take(t, b, dawn.Add(5*day))
	root, err := chain.NewRoots(b.DB, dawn.UnixMilli).Take(t.Context())
	if root != nil || err == nil ||
		!strings.Contains(err.Error(), "root of 2026-11-27 already, a day that has not ended") {
		t.Errorf("%+v, %v", root, err)
	}
}

// TestWhatAnAuditFinds: what was changed before a root was taken, whatever the thief has made whole again. With the
// roots that were noted outside of the database nothing escapes.
func TestWhatAnAuditFinds(t *testing.T) {
	t.Parallel()
	const (
		theft  = "UPDATE deposit SET reference = 'thief' WHERE txn_id = 13"
		insert = "INSERT INTO audit (at, actor, role, action, target, detail, stripe, link, hash) SELECT at, 'ann', " +
			"role, " +
			"'thief', target, detail, stripe, 4, hash FROM audit WHERE id = 3"
		lastDay = "DELETE FROM chain_root WHERE day = '2026-11-23'"
		hashOf  = "(SELECT hash FROM txn WHERE id = 14)"
	)
	for name, c := range map[string]struct {
		sql     []string
		rewrite bool
		noted   bool
		want    string // "" = nothing
	}{
		"one byte": {[]string{theft}, false, false, "transaction 13 (deposit:big:r0; link 13 of chain"},
		"the last row": {[]string{"DELETE FROM txn WHERE id = 15"}, false, false,
			"link 15: link 15 was removed at the end"},
		"a row that is added": {[]string{insert}, false, false, "audit record 4 (thief; link 4 of chain"},
		"the last row, and the head goes back": {[]string{"DELETE FROM txn WHERE id = 15",
			"UPDATE chain_head SET links = 14, hash = " + hashOf + " WHERE book = 'txn'"}, false, false,
			"link 15: by the root of 2026-11-22 it was there, and is removed"},
		"a root": {[]string{"UPDATE chain_root SET taken_at = 7"}, false, false,
			"the root of 2026-11-22 in the table"},
		"the first root": {[]string{"DELETE FROM chain_root WHERE day = '2026-11-22'"}, false, false,
			"there was one before it"},
		"the last root": {[]string{lastDay}, false, true, "the root of 2026-11-23 was noted, and is not in the " +
			"table"},
		"everything, unnoted": {[]string{theft}, true, false, ""},
		"everything": {[]string{theft}, true, true,
			"row 15 of the table txn (link 15 of chain "},
		"everything, from the last row on": {[]string{"DELETE FROM audit WHERE id = 3"}, true, true,
			"link 3: by the root of 2026-11-22 it was there, and is removed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paytest.OnEach(t, func(b *paytest.Books) {
				t := b.T
				fill(b)
				noted := []chain.Root{*take(t, b, dawn), *take(t, b, dawn.Add(day))}
				for _, statement := range c.sql {
					b.Statement(t, statement)
				}
				if c.rewrite {
					paytest.Must(t, chain.Rewrite(t.Context(), b.DB))
				}
				if !c.noted {
					noted = nil
				}
				_, found := audit(t, b, "", noted...)
				if all := strings.Join(found, "\n"); (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
					t.Errorf("found %q, want %q", found, c.want)
				}
			})
		})
	}
}

// TestANotedRootThatWasChanged is not believed.
func TestANotedRootThatWasChanged(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	deposit(t, b, "first")
	noted := *take(t, b, dawn)
	noted.Stripes[0].Links++
	_, found := audit(t, b, "", noted)
	if len(found) != 1 || !strings.HasPrefix(found[0], "the noted root of 2026-11-22 was changed") {
		t.Errorf("%q", found)
	}
}

// TestRootsGoToAFile: each once, also those that were taken by others and before a restart; what is in the file is what
// an audit takes.
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
		paytest.Must(t, err)
		roots, err = chain.ReadRoots(bytes.NewReader(text))
		paytest.Must(t, err)
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
	if a, found := audit(t, b, "", roots...); a.Roots != 4 || len(found) > 0 || roots[0].Hash != other.Hash {
		t.Errorf("%+v, %q", a, found)
	}
	if n := strings.Count(log.String(), `"the root of the audit chains"`); n != 3 {
		t.Errorf("%d roots are in the log, want those that this node took:\n%s", n, log.String())
	}
	if !strings.Contains(log.String(), fmt.Sprintf("%q", roots[3].Hash)) {
		t.Errorf("the log does not tell the root %s:\n%s", roots[3].Hash, log.String())
	}
}

// run runs rounds for a while.
func run(t *testing.T, r *chain.RootRounds, during time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	if err := r.Run(ctx); err != nil {
		t.Error(err)
	}
}

// TestATornFileOfRoots: a line that is no root is named, and nothing is written behind it.
func TestATornFileOfRoots(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	deposit(t, b, "first")
	root := take(t, b, dawn)
	line, err := json.Marshal(root)
	paytest.Must(t, err)
	path := filepath.Join(t.TempDir(), "roots.jsonl")
	torn := string(line) + "\n" + string(line[:40])
	paytest.Must(t, os.WriteFile(path, []byte(torn), 0o600))
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
	if !strings.Contains(log.String(), "line 2 is no root") || !strings.Contains(log.String(), "may be removed") {
		t.Error(log.String())
	}
}
