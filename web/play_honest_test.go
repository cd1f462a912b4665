package web_test

import (
	"net/http"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser/browsertest"
)

// honest is what the page says where there is nothing to play, or nobody to play as.
func (v *visit) honest(t *testing.T) {
	t.Helper()
	v.open(t, func(f *fakeServer) {
		f.setAnswer("GET /lobby", reply(http.StatusNotFound, object{"status": 404, "code": "unknown_campaign"}))
	})
	v.Go("/?campaign=mistyped")
	v.look("wrong-id", `document.body.dataset.mode === "problem"`)
	v.open(t, nil)
	v.fake.code("K1", "u1")
	v.Go("/?campaign=c1#code=K1")
	v.mode("waiting")
	v.fake.code("K2", "wang.xiaoyu")
	browsertest.Eval[bool](v.Page, `(location.hash = "#code=K2", true)`)
	v.look("who", `document.getElementById("who").open`)
	v.Press("#who-now")
	v.fake.hangUp(4500)
	v.Until("the way on", `!document.getElementById("play").hidden`)
	v.look("expired", `document.body.dataset.mode === "problem"`)
	v.open(t, nil)
	v.Go("/?campaign=c1#code=used")
	v.Until("the way on", `!document.getElementById("play").hidden`)
	v.look("code-over", `document.body.dataset.mode === "problem"`)

	// The line is lost in the middle of the rain, with a tap out.
	v.open(t, func(f *fakeServer) { f.judge = func(string) object { return nil } })
	v.Press("#play")
	v.mode("waiting")
	v.fake.setRain(-2*time.Minute, time.Hour)
	v.mode("falling")
	v.pour()
	v.hitOne()
	v.fake.phase("ended")
	v.look("unsure", `document.getElementById("card").open`)
}

// TestNothingToPlay: nobody is asked to play where nothing is on, and comes in by themselves when something is.
func TestNothingToPlay(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	f := newFake(t)
	on := f.answer["GET /lobby"]
	f.answer["GET /lobby"] = reply(http.StatusOK,
		object{"campaign": "", "name": "", "wins_per_user": 0, "guests": true})
	p := openPage(t, f, "/", 390, 844)
	p.shows("stage-title", "No event right now")
	if !p.hidden("play") || !p.hidden("have-token") || !p.hidden("retry") {
		t.Error("there is nothing to play, and a button to do so")
	}
	f.setAnswer("GET /lobby", on)
	p.mode("landing")
	if p.hidden("play") {
		t.Error("there is something to play, and no button")
	}

	// An id that is wrong leads to what is on.
	f.setAnswer("GET /lobby", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("campaign") != "" {
			reply(http.StatusNotFound, object{"status": 404, "code": "unknown_campaign"})(w, r)
			return
		}
		on(w, r)
	})
	p.Go("/?campaign=mistyped")
	p.shows("stage-title", "We can’t find this event")
	if !p.hidden("play") {
		t.Error("what cannot be found can be played")
	}
	p.Press("#other")
	p.mode("landing")
	p.shows("stage-title", "年会红包雨")
}

// TestPlayExpired: who has come with a token that is over is told so, and may go on as a guest only where that is said.
func TestPlayExpired(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.code("K1", "u1")
	p := openPage(t, f, "/?campaign=c1#code=K1", 390, 844)
	p.mode("waiting")
	f.hangUp(4500)
	p.shows("stage-title", "You’ve been signed out")
	p.shows("play", "Play as a guest")
	if !p.hidden("signin") {
		t.Error("a code is asked for before somebody says that they have one")
	}
	p.Press("#language")
	p.shows("play", "以游客身份参加")
	p.Press("#play")
	testenv.Eventually(t, patience, "a guest's hello", func() bool { return f.token() == "t1" })
	p.mode("waiting")
}

// TestPlayUnsure: the line breaks with a tap out and the rain ends. Nothing is said of it before it is known, and then
// what it was.
func TestPlayUnsure(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.judge = func(string) object { return nil }
	p := play(t, f)
	start := p.rains([3]int{300, 0, slowly})
	p.hitDrop(0, start, 300)
	testenv.Eventually(t, patience, "the tap", func() bool { return len(f.tapped()) == 1 })
	p.ends()
	p.shows("card-title", "Confirming…")
	f.push(object{"type": "goodbye", "reason": "shutdown", "reconnect_after_ms": 100})
	f.setDown(true)
	p.Until("the banner", `!document.getElementById("banner").hidden`)
	testenv.Equal(t, p.text("card-title"), "Confirming…", "offline the card says")
	f.setJudge(func(string) object { return f.won(1, 66) })
	f.setDown(false)
	p.shows("card-title", "Congratulations!")
	p.shows("card-amount", "¥0.66")
	if got := f.tapped(); len(got) != 2 || got[0] != got[1] || p.text("mine-count") != "1" {
		t.Errorf("taps %v, %s packets", got, p.text("mine-count"))
	}
}
