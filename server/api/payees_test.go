package api

import (
	"context"
	"fmt"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/rain"
)

func (d *desk) Link(_ context.Context, user string, claim map[string]string, issuedAt int64) error {
	if claim["wechat"] == "bad" {
		return rain.Invalid{{Field: "payee", Message: "is bad"}}
	}
	d.linked = append(d.linked, fmt.Sprint(user, " ", claim["wechat"], " ", issuedAt))
	return nil
}

func (d *desk) Of(_ context.Context, user string) ([]ledger.Payee, error) {
	return []ledger.Payee{{User: user, Kind: "wechat:wx1", Account: "oUpF8uMuAJO"},
		{User: user, Kind: "wechat:wx2", Account: "oAnotherApp"}}, nil
}

// TestTokensLinkPayees at a withdrawal and when the player looks, with the time of the token.
func TestTokensLinkPayees(t *testing.T) {
	t.Parallel()
	d, call := serving()
	call("POST", "/me/withdrawals", "ann at wx1:oAnn", "", `{"amount":20}`)
	call("GET", "/me", "bob at wx1:oBob", "", "")
	call("GET", "/me", "bob", "", "")
	testenv.Equal(t, d.linked, []string{"ann wx1:oAnn 5", "bob wx1:oBob 5"}, "linked payees")
}
