package posting_test

import (
	"fmt"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger/booking"
	"redrain/payout/paytest"
)

func TestBookRefusesWhatDoesNotBalance(t *testing.T) {
	paytest.OnEachChecked(t, func(t *testing.T, b *paytest.Books) {
		for what, bad := range map[string]booking.Txn{
			"money from nowhere": {Kind: "x", Key: "x",
				Lines: []booking.Line{{Account: booking.UserAccount("u"), Amount: 5},
					{Account: booking.UserAccount("v"), Amount: 5}}},
			"one cent lost": {Kind: "x", Key: "x",
				Lines: []booking.Line{{Account: booking.World, Amount: -5},
					{Account: booking.UserAccount("u"), Amount: 4}}},
			"one line": {Kind: "x", Key: "x",
				Lines: []booking.Line{{Account: booking.UserAccount("u"), Amount: 0}}},
			"no key": {Kind: "x", Lines: []booking.Line{{Account: booking.World, Amount: -5},
				{Account: booking.UserAccount("u"), Amount: 5}}},
			"sum that overflows": {Kind: "x", Key: "x",
				Lines: []booking.Line{{Account: booking.World, Amount: 1 << 62},
					{Account: booking.World, Amount: 1 << 62}, {Account: booking.UserAccount("u"), Amount: -1 << 63}}},
			"more than there is":  booking.Move("x", "x", booking.UserAccount("u"), booking.UserAccount("v"), 1),
			"a negative movement": booking.Move("x", "x", booking.UserAccount("u"), booking.UserAccount("v"), -1),
		} {
			testenv.WantFail(t, b.InTx(t, []booking.Txn{booking.Move("x", "good", booking.World,
				booking.UserAccount("w"), 1), bad}), fmt.Sprintf("%s is booked", what))
		}
		testenv.Equal(t, b.Count(t, "SELECT COUNT(*) FROM txn"), 0, "transactions are there")
	})
}
