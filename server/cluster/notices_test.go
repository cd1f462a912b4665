package cluster_test

import (
	"encoding/json"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/ledger"
	"redrain/server/cluster"
)

// TestActions of each kind, as their player gets them.
func TestActions(t *testing.T) {
	t.Parallel()
	for want, action := range map[string]ledger.Action{
		`{"kind":"url","url":"https://pay.example/c","expires_at":9}`: {URL: "https://pay.example/c", Until: 9},
		`{"kind":"data","data":"x"}`:                                  {Data: "x"},
		`{"kind":"wechat","mch_id":"1900000109","app_id":"wx1","package":"affffddafdfafddffda==","expires_at":9}`: {
			Kind: ledger.ActionWeChat, Until: 9,
			Data: `{"mch_id":"1900000109","app_id":"wx1","package":"affffddafdfafddffda=="}`},
	} {
		view := cluster.WithdrawalView(ledger.Withdrawal{State: ledger.WithdrawalAction, Action: action})
		testenv.Equal(t, string(testenv.Got(json.Marshal(view.Action)).Must(t)), want, "action")
	}
}
