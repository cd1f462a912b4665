package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/altcha-org/altcha-lib-go"

	"redrain/internal/testenv"
)

// demand lets guests in for a proof only. It returns the proofs that have come.
func (f *fakeServer) demand(challenge func() object, good func(proof string) bool) (proofs func() []string) {
	var all []string
	f.mu.Lock()
	made := f.answer["POST /guests"]
	f.mu.Unlock()
	f.setAnswer("POST /guests", func(w http.ResponseWriter, r *http.Request) {
		var said struct {
			Proof string `json:"proof"`
		}
		_ = json.NewDecoder(r.Body).Decode(&said) // no body: no proof
		if said.Proof != "" {
			locked(&f.mu, func() { all = append(all, said.Proof) })
		}
		if said.Proof == "" || !good(said.Proof) {
			reply(http.StatusForbidden, object{"status": 403, "code": "challenge_required", "title": "Forbidden",
				"challenge": challenge()})(w, r)
			return
		}
		made(w, r)
	})
	return func() []string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return append([]string{}, all...)
	}
}

// work is a challenge that takes a browser some tenths of a second.
func work(t *testing.T) object {
	t.Helper()
	number := int64(40_000)
	c, err := altcha.CreateChallenge(altcha.ChallengeOptions{Algorithm: altcha.SHA256, MaxNumber: 50_000, HMACKey: "k",
		Number: &number})
	if err != nil {
		t.Error(err)
	}
	return object{"kind": "work", "work": c}
}

func worked(proof string) bool {
	ok, err := altcha.VerifySolutionSafe(proof, "k", true)
	return err == nil && ok
}

// TestAGuestWorks: the page does what the server wants, more than once where that has risen, and plays.
func TestAGuestWorks(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	times := 0
	proofs := f.demand(func() object { return work(t) }, func(proof string) bool {
		times++
		return times == 2 && worked(proof)
	})
	p := enter(t, f, "/")
	p.mode("waiting")
	p.shows("user", "Playing as Guest 7f3a")
	if got := proofs(); len(got) != 2 || !worked(got[0]) || got[0] == got[1] {
		t.Errorf("proofs %q", got)
	}
	if p.isOpen("challenge") {
		t.Error("the dialog is still there")
	}
}

// TestAScreenWorks: nobody sits at a big screen.
func TestAScreenWorks(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	proofs := f.demand(func() object { return work(t) }, worked)
	openPage(t, f, "/screen", 1280, 720)
	testenv.Eventually(t, patience, "the screen is in the room", func() bool { return f.greeted() > 0 })
	testenv.Equal(t, len(proofs()), 1, "proofs")
}

// TestAGuestIsAPerson: a service's widget is shown, and what it says is the proof.
func TestAGuestIsAPerson(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.setAnswer("GET /widget.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, `globalThis.turnstile = { render(place, { sitekey, callback }) {
			const box = document.createElement("button");
			box.id = "box";
			box.textContent = "I am a person";
			box.addEventListener("click", () => callback("a person at " + sitekey));
			place.append(box);
		} };`)
	})
	proofs := f.demand(func() object {
		return object{"kind": "turnstile", "site_key": "site", "script": f.URL + "/api/v1/widget.js"}
	}, func(proof string) bool { return proof == "a person at site" })
	p := enter(t, f, "/")
	p.Until("the widget is there to be ticked", `!!document.getElementById("box") && `+
		`!document.getElementById("challenge").getAnimations().length`)
	p.State("challenge")
	p.Press("#box")
	p.mode("waiting")
	testenv.Equal(t, len(proofs()), 1, "proofs")
}
