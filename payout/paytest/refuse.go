package paytest

import (
	"fmt"
	"testing"

	"redrain/internal/sqldb"
)

// Refused is why the database does not do what it was told to refuse.
const Refused = "the test refuses it"

// Refuse makes the database refuse every payout to a player; allow undoes it.
func (b *Books) Refuse(t testing.TB, user string) (allow func()) {
	t.Helper()
	return b.refuse(t, "INSERT ON payout", "NEW.user_id", user)
}

// RefuseRemoval makes the database refuse to delete a list's member; allow undoes it.
func (b *Books) RefuseRemoval(t testing.TB, who string) (allow func()) {
	t.Helper()
	return b.refuse(t, "DELETE ON list_member", "OLD.who", who)
}

// refuse makes the database refuse a change of a row with a value.
func (b *Books) refuse(t testing.TB, change, column, value string) (allow func()) {
	t.Helper()
	trigger := "CREATE TRIGGER refused BEFORE %s WHEN %s = '%s' BEGIN SELECT RAISE(ABORT, '%s'); END"
	if b.DB.Dialect() == sqldb.MySQL {
		trigger = "CREATE TRIGGER refused BEFORE %s FOR EACH ROW IF %s = '%s' THEN " +
			"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '%s'; END IF"
	}
	b.Statement(t, fmt.Sprintf(trigger, change, column, value, Refused))
	return func() { b.Statement(t, "DROP TRIGGER refused") }
}
