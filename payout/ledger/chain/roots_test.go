package chain_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/internal/testenv"
	"redrain/payout/ledger/chain"
	"redrain/payout/paytest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const day = 24 * time.Hour

// dawn is soon after the end of 2026-11-22.
var dawn = time.Date(2026, 11, 23, 0, 6, 0, 0, time.UTC)

// take hashes all rows, and takes the root of the day before a time.
func take(t testing.TB, b *paytest.Books, at time.Time) *chain.Root {
	t.Helper()
	paytest.HashAll(t, b.DB)
	root := testenv.Got(chain.NewRoots(b.DB, at.UnixMilli).Take(t.Context())).Must(t)
	return root
}

// verify returns the findings of a verification.
func verify(t testing.TB, b *paytest.Books, from string, noted ...chain.Root) (chain.Verified, []string) {
	t.Helper()
	var found []string
	v := testenv.Got(chain.NewRoots(b.DB, b.Clock.Now).Verify(t.Context(), chain.VerifyOptions{From: from, Noted: noted,
		Found: func(what string) { found = append(found, what) }})).Must(t)
	if int(v.Faults) != len(found) {
		t.Errorf("%d faults, %q", v.Faults, found)
	}
	return v, found
}

// fill writes transactions and audit records.
func fill(t testing.TB, b *paytest.Books) {
	t.Helper()
	for n := range 5 {
		deposit(t, b, fmt.Sprint("r", n))
	}
}

func deposit(t testing.TB, b *paytest.Books, reference string) {
	t.Helper()
	testenv.Must(t, testenv.Err(b.Deposit(paytest.As(t, "sponsor.deposit"), "big", reference, 7)))
}

// TestADayHasOneRoot: for any number of nodes; each follows the previous one. Days without a node have no root.
func TestADayHasOneRoot(t *testing.T) {
	paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
		testenv.Equal(t, take(t, b, dawn), nil, "before anything is hashed")
		fill(t, b)
		first := take(t, b, dawn)
		if first == nil || first.Day != "2026-11-22" || first.Previous != "" || len(first.Blocks) != 2 {
			t.Fatalf("%+v", first)
		}
		testenv.Equal(t, take(t, b, dawn.Add(day-2*time.Minute)), nil, "taken twice")
		deposit(t, b, "more")
		second := take(t, b, dawn.Add(3*day))
		if second == nil || second.Day != "2026-11-25" || second.Previous != first.Hash || second.Hash == first.Hash {
			t.Fatalf("%+v", second)
		}
		v, found := verify(t, b, "", *first, *second)
		if v.Roots != 2 || v.Rows != 12 || v.Blocks != 4 || len(found) > 0 {
			t.Errorf("%+v, %q", v, found)
		}
		if v, _ := verify(t, b, "2026-11-22"); v.Roots != 2 || v.Rows != 2 {
			t.Errorf("from the first root on: %+v", v)
		}
		_, err := chain.NewRoots(b.DB, b.Clock.Now).Verify(t.Context(), chain.VerifyOptions{From: "2026-11-23"})
		if unknown, ok := errors.AsType[chain.UnknownDayError](err); !ok || unknown != "2026-11-23" {
			t.Errorf("%v", err)
		}
	})
}

// TestARootFromTheFuture: a row with a future day, or a clock that has gone back, would leave days without roots.
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

// TestVerify: the hashes of rows detect edits, the blocks detect deletions, and the roots outside the database detect
// recomputed hashes.
func TestVerify(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql   string // statements, separated by semicolons
		noted bool
		want  []string // none: no finding
	}{
		"nothing": {"", true, nil},
		"a paper": {"UPDATE deposit SET reference = 'thief' WHERE txn_id = 3", false,
			[]string{"transaction 3 (deposit:big:r2) is not what was hashed"}},
		"a line": {"UPDATE entry SET amount = amount + 1 WHERE txn_id = 3", false, []string{"transaction 3"}},
		"an audit record": {"UPDATE audit SET actor = 'thief' WHERE id = 2", false,
			[]string{"audit record 2 (sponsor.deposit)"}},
		"a hash": {"UPDATE txn SET hash = x'" + strings.Repeat("00ff", 16) + "' WHERE id = 3", false,
			[]string{"transaction 3", "block 1 of the table txn is not the hash"}},
		"a record removed": {"DELETE FROM audit WHERE id = 2", false,
			[]string{"block 1 of the table audit has 4 of 5 rows"}},
		"a record numbered": {"UPDATE audit SET id = 77 WHERE id = 2", false,
			[]string{"block 1 of the table audit has 4 of 5 rows"}},
		"a record numbered below 1": {"UPDATE audit SET id = -2 WHERE id = 2", false,
			[]string{"block 1 of the table audit is not the hash of its 5 rows"}},
		"a block": {"UPDATE block SET rows_hashed = 4 WHERE book = 'txn' AND number = 1", false,
			[]string{"block 1 of the table txn has 5 of 4 rows", "is not the one of the root of 2026-11-22"}},
		"a block removed": {"DELETE FROM block WHERE book = 'txn' AND number = 1", false,
			[]string{"block 2 of the table txn does not follow block 0"}},
		"a root": {"UPDATE root SET taken_at = 7", false,
			[]string{"the root of 2026-11-22 in the table root was changed"}},
		"the first root": {"DELETE FROM root WHERE day = '2026-11-22'", false,
			[]string{"the root of 2026-11-23 does not follow"}},
		"the last root": {"DELETE FROM root WHERE day = '2026-11-23'", true,
			[]string{"the root of 2026-11-23 was noted, and is not in"}},
		"all blocks, made anew": {"DELETE FROM audit WHERE id = 2;DELETE FROM block;DELETE FROM root", true,
			[]string{"block 1 of the table audit is not the one of the root of 2026-11-22"}},
	} {
		t.Run(name, func(t *testing.T) {
			paytest.OnEach(t, func(t *testing.T, b *paytest.Books) {
				fill(t, b)
				noted := []chain.Root{*take(t, b, dawn)}
				deposit(t, b, "more")
				noted = append(noted, *take(t, b, dawn.Add(day)))
				for statement := range strings.SplitSeq(c.sql, ";") {
					if statement != "" {
						b.Statement(t, statement)
					}
				}
				if strings.Contains(name, "anew") {
					paytest.HashAll(t, b.DB)
				}
				if !c.noted {
					noted = nil
				}
				_, found := verify(t, b, "", noted...)
				all := strings.Join(found, "\n")
				if (len(c.want) == 0) != (all == "") {
					t.Errorf("found %q, want %q", found, c.want)
				}
				for _, want := range c.want {
					if !strings.Contains(all, want) {
						t.Errorf("found %q, want %q", found, want)
					}
				}
			})
		})
	}
}

// TestTheHasherWaits: rows are hashed after a minute, when no transaction with a lower id can come.
func TestTheHasherWaits(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	h := chain.NewRootRounds(chain.NewRoots(b.DB, nil), "", nil, nil)
	deposit(t, b, "first")
	now := time.Now()
	for _, c := range []struct {
		after time.Duration
		rows  int
	}{{0, 0}, {59 * time.Second, 0}, {61 * time.Second, 1}, {110 * time.Second, 1}, {130 * time.Second, 2}} {
		testenv.Must(t, h.Hash(t.Context(), now.Add(c.after)))
		if rows := b.Count(t, "SELECT COALESCE(SUM(rows_hashed), 0) FROM block WHERE book = 'txn'"); rows != c.rows {
			t.Errorf("after %s %d rows are hashed, want %d", c.after, rows, c.rows)
		}
		if c.after == 0 {
			deposit(t, b, "second")
		}
	}
}

// TestARootHasAllRowsOfItsDay: a node that starts after midnight has not hashed them yet, and takes no root before.
// Neither does a node whose hashing fails.
func TestARootHasAllRowsOfItsDay(t *testing.T) {
	t.Parallel()
	for name, forged := range map[string]bool{"a start": false, "a block that ends behind all rows": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := paytest.OnSQLite(t)
			deposit(t, b, "first")
			paytest.HashAll(t, b.DB)
			deposit(t, b, "second")
			if forged {
				b.Statement(t, "UPDATE block SET last_id = 9223372036854775807 WHERE book = 'txn'")
			}
			var log bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				clock := func() int64 { return dawn.Add(time.Since(began)).UnixMilli() }
				run(t, chain.NewRootRounds(chain.NewRoots(b.DB, clock), "", nil,
					slog.New(slog.NewTextHandler(&log, nil))), 3*time.Minute)
			})
			roots := b.Count(t, "SELECT COUNT(*) FROM root")
			whole := b.Count(t, `SELECT COUNT(*) FROM root WHERE blocks LIKE '%"txn","number":2,"last":2,"rows":1%'`)
			switch {
			case forged && (roots != 0 || !strings.Contains(log.String(), "ends with row 9223372036854775807")):
				t.Errorf("%d roots\n%s", roots, log.String())
			case !forged && (roots != 1 || whole != 1):
				t.Errorf("%d roots, %d with the last row of the day\n%s", roots, whole, log.String())
			}
		})
	}
}

// TestWalkReadsInSteps: small blocks share a step.
func TestWalkReadsInSteps(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	for n := range 10 {
		deposit(t, b, fmt.Sprint("r", n))
		paytest.HashAll(t, b.DB)
	}
	w := &chain.Walk{SkipTxns: true, Found: func(fault string) { t.Error(fault) }}
	steps := 1
	for more := true; more; steps++ {
		more = testenv.Got(w.Step(t.Context(), b.DB)).Must(t)
	}
	if steps > 3 || w.Blocks < 20 {
		t.Errorf("%d steps for %d blocks", steps, w.Blocks)
	}
}

// TestANotedRootThatWasChanged is not trusted.
func TestANotedRootThatWasChanged(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	deposit(t, b, "first")
	noted := *take(t, b, dawn)
	noted.Blocks[0].Rows++
	_, found := verify(t, b, "", noted)
	if len(found) != 1 || !strings.HasPrefix(found[0], "the noted root of 2026-11-22 was changed") {
		t.Errorf("%q", found)
	}
}
