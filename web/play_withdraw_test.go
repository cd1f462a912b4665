package web_test

import (
	"testing"

	"redrain/internal/testenv"
)

// TestPlayWithdraw takes money out: a double press is one withdrawal, and each state is told. For lost answers see
// TestPlayWithdrawUnsure.
func TestPlayWithdraw(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.won(3, 500)
	f.settle()
	p := play(t, f)
	p.shows("balance", "5.00")
	p.Press("#purse")
	p.Fill("#withdraw-amount", "7")
	p.Press("#withdraw-go")
	p.shows("withdraw-message", "Your balance is only ¥5.00")
	p.Fill("#withdraw-amount", "twelve")
	p.Press("#withdraw-go")
	p.shows("withdraw-message", "Enter an amount, such as 12.50")
	p.State("error")

	// What the organizer limits is said in the player's words.
	p.Fill("#withdraw-amount", "2.50")
	for code, says := range map[string]string{
		"withdrawal_too_small":   "That’s below the minimum withdrawal",
		"daily_limit":            "That’s over the daily limit. Withdraw less, or try again tomorrow",
		"hourly_limit":           "Too many withdrawals. Try again in an hour",
		"guests_cannot_withdraw": "Guests cannot withdraw. Sign in with the host’s account",
	} {
		f.refuse(code)
		p.Press("#withdraw-go")
		p.Press("#withdraw-yes")
		p.shows("withdraw-message", says)
	}
	f.refuse("")

	// Where it goes is named, and nothing is sent before it is said once more.
	p.Press("#withdraw-go")
	p.shows("withdraw-where", "¥2.50 will be taken off your balance and marked as paid. "+
		"The host pays you directly. Continue?")
	p.State("sure")
	p.Press("#withdraw-no")
	if !p.hidden("withdraw-sure") || len(f.withdrawn()) != 0 {
		t.Fatalf("called off: %d withdrawals", len(f.withdrawn()))
	}
	locked(&f.mu, func() { f.payout = object{"provider": "http", "name": "your WeChat balance"} })
	p.Press("#sheet-close")
	p.Press("#purse")
	p.Press("#withdraw-go")
	p.shows("withdraw-where", "Withdraw ¥2.50 to your WeChat balance?")
	p.PressTwice("#withdraw-yes")
	p.shows("withdraw-message", "Withdrawal of ¥2.50 requested")
	p.shows("sheet-balance", "2.50")
	if got := f.withdrawn(); len(got) != 1 {
		t.Fatalf("a double press made %d withdrawals", len(got))
	}
	// The second of two presses may come when the first has been answered already: the answer stays to be read.
	p.Press("#withdraw-go")
	testenv.Equal(t, p.text("withdraw-message"), "Withdrawal of ¥2.50 requested", "a press too many")
	state := func(want string) {
		t.Helper()
		p.Until("the newest withdrawal is "+want,
			`document.querySelector("#withdrawals .state")?.textContent === %q`, want)
	}
	state("requested")
	// The provider wants the player's confirmation: the way there is shown, and only where it is an https address.
	const confirm = `document.querySelector("#withdrawals .todo a")?.href ?? ""`
	f.needsSilently(object{"url": "javascript:alert(1)"})
	state("needs your confirmation") // though the message was lost
	testenv.Equal(t, eval[string](p, confirm), "", "a link to")
	f.needs(object{"url": "https://pay.example/confirm?w=1", "expires_at": f.now() + 86_400_000})
	p.Until("the way to confirm", `(%s) === "https://pay.example/confirm?w=1"`, confirm)
	p.State("action")
	f.decide("")
	state("paid")

	p.Press("#withdraw-all")
	p.Press("#withdraw-go")
	p.Press("#withdraw-yes")
	p.shows("sheet-balance", "0.00")
	f.decide("the account is closed")
	state("declined, returned")
	p.shows("sheet-balance", "2.50")
	p.shows("withdraw-message", "") // it is requested no longer
	p.State("refused")
}
