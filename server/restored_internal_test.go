package server

import (
	"strings"
	"testing"

	"redrain/payout/ledger"
)

func TestStatements(t *testing.T) {
	t.Parallel()
	const text = "date,amount,reference,user,withdrawal\n1.1.,300,ref,alice,w1\n"
	got, err := readPayments(strings.NewReader(text), "bank")
	want := ledger.Payment{Withdrawal: "w1", User: "alice", Amount: 300, Receiver: "bank", Reference: "ref"}
	if err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%+v, %v", got, err)
	}
	for why, text := range map[string]string{
		"empty": "", "no amount": "withdrawal,user,reference\nw,u,r\n",
		"a fraction":   "withdrawal,user,amount,reference\nw,u,1.50,r\n",
		"a short line": "withdrawal,user,amount,reference\nw,u,1\n",
	} {
		if got, err := readPayments(strings.NewReader(text), ""); err == nil {
			t.Errorf("%s: %+v", why, got)
		}
	}
}
