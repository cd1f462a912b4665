package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/internal/testenv"
	"redrain/payout/ledger/posting"
)

func TestANoticeOfASettlementIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, want := range []Settled{
		{Campaign: "c1", Claims: []SettledClaim{
			{Claim: "c1-7", User: "u1", Packet: 7, Drop: "7.3", Amount: 88, Balance: 1 << 60}}},
		{Campaign: "c1", Claims: []SettledClaim{
			{Claim: "c1-0", User: " 张 three  ", Packet: 0, Drop: "0.0", Amount: 1, Balance: 1},
			{Claim: "c1-99999999", User: "u", Packet: 99_999_999, Drop: "b12", Amount: 2, Balance: 3}}},
	} {
		got, err := readSettled(want.text())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
}

// The claims of many players come in few notices, and those of one player together.
func TestNoticesOfSettlements(t *testing.T) {
	t.Parallel()
	var settlements []posting.Settlement
	for claim := range 3 {
		for player := range noticeClaims {
			settlements = append(settlements, posting.Settlement{User: fmt.Sprintf("player-%d", player),
				Packet: claim*noticeClaims + player, Drop: "0.1"})
		}
	}
	notices, claims, in := settledNotices("c", settlements), 0, map[string]int{} // the notice that a player is in
	for n, notice := range notices {
		for i, c := range notice.Claims {
			claims++
			if before, known := in[c.User]; known && (before != n || notice.Claims[i-1].User != c.User) {
				t.Errorf("the claims of %s are parted", c.User)
			}
			in[c.User] = n
		}
	}
	testenv.Equal(t, len(notices), 3, "notices")
	testenv.Equal(t, claims, len(settlements), "claims")
}

func TestWhatIsNoNoticeOfASettlementIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "c1", "c1\n", "c1\n7 88 88 7.3", "c1\n7 88 x 7.3 u", "c1\n7 88 88 7.3 u\n",
		"c1\n7 88 " + strings.Repeat("9", 20) + " 7.3 u", `{"campaign":"c1","claims":[]}`} {
		if n, err := readSettled([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, n)
		}
	}
}

// FuzzReadSettled: any input is read or refused, and a read notice is written unchanged.
func FuzzReadSettled(f *testing.F) {
	f.Add([]byte("c1\n7 88 88 7.3 u"))
	f.Add([]byte("c1\n-1 0 0  \n2 3 4 5 6 7"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := readSettled(data)
		if err != nil {
			return
		}
		again, err := readSettled(n.text())
		if diff := cmp.Diff(n, again); diff != "" || err != nil {
			t.Error(err, diff)
		}
	})
}
