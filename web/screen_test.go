package web_test

import (
	"bytes"
	"fmt"
	"image"
	_ "image/png"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
)

// figures is a room message.
func (f *fakeServer) figures(stock, won int, more object) object {
	m := object{
		"type": "room", "t": f.now(), "online": 312, "stock": stock, "won": won, "amount_won": won * 200,
		"winners": []object{}, "top": []object{},
	}
	maps.Copy(m, more)
	return m
}

// openScreen opens /screen on a wall.
func openScreen(t *testing.T, f *fakeServer, o chromium.Options, path string) *tab {
	t.Helper()
	o.Home, o.Scripts = f.URL, append(o.Scripts, rememberModes)
	if o.Device.Width == 0 {
		o.Device = chromium.Device{Width: 1280, Height: 720, Scale: 1}
	}
	p := openTab(t, f, o, chromium.Network)
	p.Go(path)
	return p
}

// hostileName is a name that a player may choose.
const hostileName = `<img src=x onerror=alert(1)>`

// TestScreenEvening shows a hall the wait, the numbers, the rain and the board. The clocks stand still at the test's
// times.
func TestScreenEvening(t *testing.T) {
	testenv.ParallelBrowser(t, testenv.Heavy)
	f := newFake(t)
	f.stopClock()
	p := openScreen(t, f, chromium.Options{Scripts: []string{stopped}}, "/screen")
	p.mode("waiting")
	p.shows("campaign", "年会红包雨")
	if !f.watches() {
		t.Error("the screen has not said that it only looks on: the server takes it for a player")
	}
	f.push(f.figures(4990, 10, object{"online": 31280}))
	p.shows("online", "31,280")
	p.Until("the queue is empty", `!document.getElementById("waiting")`)
	f.push(f.figures(4990, 10, object{"online": 31280, "waiting": 4321}))
	p.shows("waiting", "4,321")
	p.Says(".waiting", "in the queue")

	for in, big := range map[time.Duration]string{9_500 * time.Millisecond: "10", 2_100 * time.Millisecond: "3"} {
		f.setRain(in, time.Hour)
		p.mode("countdown")
		p.shows("big", big)
	}
	p.rains([3]int{500, 0, slowly}, [3]int{100, 1, slowly})
	f.push(f.figures(4988, 12, object{"winners": []object{{"user": "g*1a2b", "amount": 88},
		{"user": "张*", "amount": 100000000}}}))
	p.shows("stock", "4,988")
	p.shows("winners", "Guest 1a2b¥0.88张*¥1,000,000.00")
	// The next second's list overlaps: known wins are not shown again.
	f.push(f.figures(4987, 13, object{"winners": []object{{"user": "李*", "amount": 5},
		{"user": "g*1a2b", "amount": 88}}}))
	p.shows("winners", "李*¥0.05Guest 1a2b¥0.88张*¥1,000,000.00")
	// Names come a moment later, are others' words, and nothing but words.
	f.push(f.figures(4987, 13, object{"winners": []object{{"user": "李*", "amount": 5, "name": hostileName},
		{"user": "g*1a2b", "amount": 88, "name": "مرحبا"}}}))
	p.shows("winners", hostileName+"¥0.05مرحبا¥0.88张*¥1,000,000.00")
	p.Until("it rains", `(() => {
		const { width, height } = document.getElementById("rain");
		const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
		copy.drawImage(document.getElementById("rain"), 0, 0);
		return copy.getImageData(0, 0, width, height).data.filter((v, i) => i % 4 === 3 && v > 0).length > 5000;
	})()`)
	f.phase("ended")
	p.mode("board")
	f.push(f.figures(4900, 100, object{"top": []object{{"user": "王*", "amount": 900, "name": "王 <b>一"},
		{"user": "g*77ff", "amount": 800}}}))
	p.shows("given", "90") // of this rain
	p.shows("amount", "¥180.00")
	p.shows("players", "312")
	if got := p.Text(".step-1"); !strings.Contains(got, "王 <b>一") || !strings.Contains(got, "¥9.00") {
		t.Errorf("the winner: %q", got)
	}
	if got := p.Text(".step-2"); !strings.Contains(got, "Guest 77ff") {
		t.Errorf("the second: %q", got)
	}
	// The next rain is announced: the board stays, with its clock and the figures of the rain that was; then come its
	// numbers.
	locked(&f.mu, func() { f.rain = nil })
	f.rainID = "r2"
	f.setRain(time.Minute, time.Hour)
	p.Says(".board .next", "1:00")
	p.shows("given", "90")
	p.shows("players", "312")
	f.setRain(5*time.Second, time.Hour)
	p.mode("countdown")
	p.shows("big", "5")
	// It begins, and counts from the figures before it. A cancelled rain removes no board.
	f.setRain(-time.Second, time.Hour)
	p.mode("falling")
	f.push(f.figures(4893, 107, nil))
	p.shows("stock", "4,893")
	f.phase("ended")
	p.shows("given", "7")
	locked(&f.mu, func() { f.rain = nil })
	f.rainID = "r3"
	f.setRain(time.Minute, time.Hour)
	f.phase("ended")
	p.Says(".board .foot", "for the next rain")
	f.push(f.figures(4892, 108, nil)) // a last win of the rain before
	p.shows("given", "8")
}

// read is the text that a phone would read off the wall.
func (p *tab) read() string {
	p.t.Helper()
	png := testenv.Got(p.Screenshot()).Must(p.t)
	picture, _, err := image.Decode(bytes.NewReader(png))
	testenv.Must(p.t, err)
	bits := testenv.Got(gozxing.NewBinaryBitmapFromImage(picture)).Must(p.t)
	found, err := qrcode.NewQRCodeReader().Decode(bits,
		map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_TRY_HARDER: true})
	if err != nil {
		return ""
	}
	return found.GetText()
}

// TestScreenCode photographs the wall and reads the code on it.
func TestScreenCode(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	f := newFake(t)
	f.setAnswer("GET /lobby", reply(http.StatusOK, object{"campaign": "c1", "join": "http://192.168.1.20:8080/"}))
	for _, c := range []struct{ path, want, spoken string }{
		// The page was opened as 127.0.0.1, which is every phone itself.
		{"/screen", "http://192.168.1.20:8080/", "192.168.1.20:8080"},
		{"/screen?campaign=c1", "http://192.168.1.20:8080/?campaign=c1", "192.168.1.20:8080/?campaign=c1"},
		{"/screen?join=https://hongbao.example.com/gala", "https://hongbao.example.com/gala",
			"hongbao.example.com/gala"},
		{"/screen?join=party.example.com", "http://party.example.com/", "party.example.com"},
	} {
		p := openScreen(t, f, chromium.Options{Device: chromium.Device{Width: 960, Height: 540, Scale: 1}}, c.path)
		p.mode("waiting")
		p.Says(".address", c.spoken)
		testenv.Eventually(t, patience, "a phone reads "+c.want, func() bool { return p.read() == c.want })
	}

	f.setAnswer("GET /lobby", reply(http.StatusOK, object{"campaign": "c1"}))
	p := openScreen(t, f, chromium.Options{}, "/screen?join=javascript://alert(1)")
	p.mode("waiting")
	p.Says(".join-card", "Phones can’t open localhost")
	testenv.Equal(t, p.read(), "", "a code that no phone can open")
}

// TestScreenWithoutServer: the line breaks before a rain. The show goes on by the clock, and comes back with the
// server.
func TestScreenWithoutServer(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	f := newFake(t)
	p := openScreen(t, f, chromium.Options{}, "/screen")
	p.mode("waiting")
	if !p.hidden("status") {
		t.Error("a mark while everything is well")
	}
	f.setRain(9500*time.Millisecond, 6*time.Second)
	p.passed("countdown")
	f.setDown(true)
	p.Says("#status", "Reconnecting")
	p.passed("falling")
	p.Shoot("alone")
	p.mode("board")
	f.setDown(false)
	testenv.Eventually(t, patience, "it comes back", func() bool { return f.greeted() == 2 && p.hidden("status") })
}

// guests counts the guests that are made, and numbers their tokens.
func (f *fakeServer) guests() (made func() int) {
	var mu sync.Mutex
	n := 0
	f.setAnswer("POST /guests", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n++
		token := fmt.Sprintf("t%d", n)
		mu.Unlock()
		reply(http.StatusCreated, object{"user": "guest-7f3a", "token": token,
			"expires_at": time.Now().Add(time.Hour).UnixMilli()})(w, r)
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// TestScreenRefused: the screen gets a new token by itself.
func TestScreenRefused(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	made := f.guests()
	p := openScreen(t, f, chromium.Options{}, "/screen")
	p.mode("waiting")
	p.Go("/screen")
	p.mode("waiting")
	testenv.Equal(t, made(), 1, "guests of one screen that was loaded twice")
	greeted := f.greeted()
	f.hangUp(4500)
	testenv.Eventually(t, patience, "a hello of a new guest",
		func() bool { return f.greeted() > greeted && f.token() == "t2" })
	p.mode("waiting")

	p.Go("about:blank") // or it would be refused, and made a guest, with the next screen

	// A screen with a token keeps it over a reload, and is a guest when it is refused.
	f.code("K1", "hall")
	p = openScreen(t, f, chromium.Options{}, "/screen#code=K1")
	p.mode("waiting")
	testenv.Equal(t, eval[string](p, `location.href`), f.URL+"/screen", "the address is")
	greeted = f.greeted()
	p.do(chromedp.Reload())
	testenv.Eventually(t, patience, "a hello after the reload", func() bool { return f.greeted() > greeted })
	testenv.Equal(t, f.token(), "token-hall", "after the reload a hello with")
	p.mode("waiting")
	f.hangUp(4500)
	testenv.Eventually(t, patience, "a hello of a guest", func() bool { return f.token() == "t3" })

	// The server has been replaced by one that this page is too old for.
	p.Until("the mark is gone", `document.getElementById("status").hidden`)
	old := eval[float64](p, `performance.timeOrigin`)
	f.hangUp(4501)
	testenv.Eventually(t, patience, "the page is loaded anew", func() bool {
		// a page that is just leaving has no answer
		origin, err := chromium.Eval[float64](p.Page.Page, `performance.timeOrigin`)
		return err == nil && origin != old
	})
}

// TestScreenFollows: the campaign is closed, and another is on.
func TestScreenFollows(t *testing.T) {
	browserFrom(t, testenv.Nightly)
	f := newFake(t)
	f.setAnswer("GET /lobby", reply(http.StatusOK, object{"campaign": "", "name": "", "wins_per_user": 0,
		"guests": true}))
	p := openScreen(t, f, chromium.Options{}, "/screen")
	p.mode("none")
	p.shows("campaign", "Starting soon")
	f.setAnswer("GET /lobby", reply(http.StatusOK, object{"campaign": "c1"}))
	p.mode("waiting")
	f.push(f.figures(4000, 1000, object{"top": []object{{"user": "王*", "amount": 900}}}))
	f.setCampaign(object{"state": "closed"})
	p.mode("board")
	p.shows("title", "Thanks for playing")
	p.shows("given", "1,000")
	locked(&f.mu, func() { f.about["state"], f.about["name"] = "ready", "Second evening" })
	f.setAnswer("GET /lobby", reply(http.StatusOK, object{"campaign": "c2"}))
	p.mode("waiting")
	p.shows("campaign", "Second evening")
	p.shows("online", "–") // of the first nothing is left
}
