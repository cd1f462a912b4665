package web_test

import (
	"net/http"
	"testing"

	"redrain/internal/testenv"
)

// TestCardSums: the card has every win of its rain, by whichever way the page has heard of it, and no other.
func TestCardSums(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.judge = func(string) object { return f.won(1, 10) }
	p := play(t, f)
	start := p.rains([3]int{300, 0, slowly})
	p.hitDrop(0, start, 300)
	p.shows("mine-count", "1")

	// The page is loaded anew in the middle of the rain.
	p.Go("/?campaign=c1")
	p.mode("falling")
	p.shows("mine-count", "1")
	// What was won in another campaign is paid meanwhile: that is the player's, but not this rain's.
	f.push(object{"type": "settled", "claims": []object{{"claim": "c2-9", "amount": 500}}, "balance": 500})
	p.shows("balance", "5.00")

	// The line breaks between a win and its result, and comes back too late for the drop.
	f.setJudge(func(string) object { f.won(2, 30); return nil })
	f.wave(1, start+1000, [3]int{700, 0, slowly})
	p.hitDrop(1, start+1000, 700)
	testenv.Eventually(t, patience, "the second tap", func() bool { return len(f.tapped()) == 2 })
	f.setJudge(func(string) object { return object{"outcome": "late"} })
	f.cut()
	testenv.Eventually(t, patience, "the tap is sent again", func() bool { return len(f.tapped()) == 3 })
	p.shows("mine-count", "3")

	p.ends()
	p.shows("card-amount", "¥0.40")
	p.shows("card-sub", "You caught 2 packets")
	p.shows("card-taps", "") // fewer are counted here than have won
}

// TestFollowsOut: the campaign is gone, as after a restart of a server that keeps nothing, and another one is on.
func TestFollowsOut(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	f := newFake(t)
	p := enter(t, f, "/")
	p.mode("waiting")
	f.setAnswer("GET /lobby", reply(http.StatusOK, object{"campaign": "c2", "name": "Next", "wins_per_user": 1,
		"guests": true}))
	f.hangUp(4502)
	p.mode("problem")
	p.shows("stage-title", "We can’t find this event")
	testenv.Eventually(t, patience, "a hello to the other campaign", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.hello["campaign"] == "c2"
	})
	p.mode("waiting")
}

// TestPlayWithdrawUnsure: as long as it is not known what became of a withdrawal, it is asked for under the same key,
// and nothing is said to have been made that was not.
func TestPlayWithdrawUnsure(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	// There is an older withdrawal of the same amount, and the page cannot learn of it before the new one is asked for.
	f.out = []object{{"withdrawal": "w-old", "user": "guest-7f3a", "amount": 250, "state": "paid",
		"created_at": f.now() - 60_000}}
	list := f.answer["GET /me/withdrawals"]
	f.answer["GET /me/withdrawals"] = reply(http.StatusServiceUnavailable, object{"code": "unavailable", "status": 503})
	p := play(t, f)
	f.won(3, 500)
	f.settle()
	p.shows("balance", "5.00")

	answers := make(chan http.HandlerFunc, 2)
	keys := make(chan string, 3)
	f.setAnswer("POST /me/withdrawals", func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Idempotency-Key")
		select {
		case answer := <-answers:
			answer(w, r)
		default:
			f.withdraw(w, r)
		}
	})
	answers <- reply(http.StatusBadGateway, object{}) // a proxy's: what is behind it may have done it
	answers <- reply(http.StatusConflict, object{"code": "idempotency_in_progress", "title": "being worked on",
		"status": 409})
	const again = "No answer yet. Press again: you won’t withdraw twice"
	asked := func() (key string) {
		testenv.Eventually(t, patience, "a withdrawal is asked for", func() bool {
			select {
			case key = <-keys:
				return true
			default:
				return false
			}
		})
		return key
	}
	p.Press("#purse")
	p.Fill("#withdraw-amount", "2.50")
	f.setAnswer("GET /me/withdrawals", list)
	p.Press("#withdraw-go")
	p.Press("#withdraw-yes")
	first := asked()
	p.Says("#withdrawals .state", "paid by the host")
	p.shows("withdraw-message", again)
	p.Press("#withdraw-go")
	second := asked()
	p.shows("withdraw-message", again)
	p.shows("withdraw-go", "Withdraw")
	p.Press("#withdraw-go")
	third := asked()
	p.shows("withdraw-message", "Withdrawal of ¥2.50 requested")
	if first != second || second != third {
		t.Errorf("three tries under the keys %s, %s, %s", first, second, third)
	}
	testenv.Equal(t, len(f.withdrawn()), 2, "withdrawals")
}
