package archive_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"redrain/internal/sqldb"
	"redrain/payout/archive"
	"redrain/payout/paytest"
)

// TestAServersUserBeginsNothing has a campaign dropped by the user of the database that servers have: no paper says
// that it was begun, and nothing is gone.
func TestAServersUserBeginsNothing(t *testing.T) {
	t.Parallel()
	user, owner := paytest.OnRights(t)
	over(t, owner, "c1", 5)
	f := read(t, exported(t, owner, "c1"))
	before := rowsLeft(t, owner)
	_, err := archive.New(user.DB, owner.Clock.Now).Campaign(t.Context(), "c1", f, "mallory")
	if err == nil || !strings.Contains(err.Error(), "may not delete rows of payout, so nothing was begun") {
		t.Errorf("%v", err)
	}
	if n := owner.Count(t, "SELECT COUNT(*) FROM archive"); n != 0 || rowsLeft(t, owner) != before {
		t.Errorf("%d archives, and %d rows of %d", n, rowsLeft(t, owner), before)
	}
	clean(t, owner, "refused")
}

// TestTheAuditNamesBoth has a removal begun by one and ended by another.
func TestTheAuditNamesBoth(t *testing.T) {
	t.Parallel()
	b := paytest.OnSQLite(t)
	over(t, b, "c1", 5)
	f := read(t, exported(t, b, "c1"))
	killed := errors.New("killed")
	a := archive.New(b.DB, b.Clock.Now)
	a.Passed = func(string) error { return killed }
	if _, err := a.Campaign(t.Context(), "c1", f, "ann"); !errors.Is(err, killed) {
		t.Fatal(err)
	}
	if _, err := archive.New(b.DB, b.Clock.Now).Campaign(t.Context(), "c1", f, "bob"); err != nil {
		t.Fatal(err)
	}
	says, err := sqldb.List(t.Context(), b.DB, func(scan sqldb.Scan) (says string, err error) {
		var actor string
		err = scan(&says, &actor)
		return says + " by " + actor, err
	}, "SELECT action, actor FROM audit WHERE action LIKE 'campaign.drop%' ORDER BY id")
	if want := []string{"campaign.drop by ann", "campaign.dropped by bob"}; err != nil || !slices.Equal(says, want) {
		t.Errorf("%q, %v", says, err)
	}
}
