package web_test

import (
	"testing"
	"time"

	"redrain/internal/testenv"
	chromium "redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// brightest keeps the largest number of pixels with a win's colour that the canvas has shown around a point.
const brightest = `(() => {
	const canvas = document.getElementById("rain"), side = 120;
	const copy = Object.assign(document.createElement("canvas"), { width: side, height: side });
	const c = copy.getContext("2d", { willReadFrequently: true });
	globalThis.brightest = 0;
	const look = () => {
		const scale = canvas.width / innerWidth;
		c.clearRect(0, 0, side, side);
		c.drawImage(canvas, (%d - side / 2) * scale, (%d - side / 2) * scale, side * scale, side * scale,
			0, 0, side, side);
		const { data } = c.getImageData(0, 0, side, side);
		let gold = 0;
		for (let i = 0; i < data.length; i += 4) {
			if (data[i] > 240 && data[i + 1] > 185 && data[i + 2] > 75 && data[i + 2] < 205) gold++;
		}
		brightest = Math.max(brightest, gold);
		requestAnimationFrame(look);
	};
	look();
	return true;
})()`

// TestWinsLieOnTop: no packet that falls covers a win.
func TestWinsLieOnTop(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.judge = func(string) object { return f.won(1, 88) }
	p := openTab(t, f, chromium.Options{Device: chromium.Phone}, chromium.Network)
	p.goIn("/?debug&campaign=c1")
	start := p.rains([3]int{500, 0, slowly}, [3]int{500, 0, slowly}, [3]int{480, 0, slowly}, [3]int{520, 0, slowly})
	const rows = 5
	for n := range rows { // a wall of packets, below the first and above it
		at := start + int64(n-rows/2)*15_000
		f.wave(n+1, at, [3]int{350, 0, slowly}, [3]int{430, 0, slowly}, [3]int{570, 0, slowly}, [3]int{650, 0, slowly})
	}
	p.Until("a wall of packets", `redrain.drops(redrain.serverNow()).length === 24`)
	at := eval[chromium.Point](p, `(({ x, y }) => ({ x, y }))(
		redrain.drops(redrain.serverNow()).find((d) => d.id === "0.0"))`)
	browsertest.Eval[bool](p.Page, brightest, int(at.X), int(at.Y)-46) // the plate rises
	p.hitDrop(0, start, 500)
	p.shows("announce", "You won 0.88 yuan, packet 1 of up to 3")
	p.Until("the win is seen whole", `brightest > 5000`)
}

// TestYouLead: the page says "you" where the lists of the room name the player.
func TestYouLead(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.judge = func(string) object { return f.won(1, 88) }
	f.code("K1", "guest-0123456789abcdef7f3a")
	p := openPage(t, f, "/?campaign=c1#code=K1", 390, 844)
	p.mode("waiting")
	start := p.rains([3]int{500, 0, slowly})
	p.hitDrop(0, start, 500)
	p.shows("mine-count", "1")
	best := func(amount int) {
		one := []object{{"user": "g*7f3a", "amount": amount}}
		f.push(f.figures(4999, 1, object{"winners": one, "top": one}))
	}
	best(88)
	p.shows("ticker-text", "You won ¥0.88")
	p.ends()
	p.shows("card-hall", "You’re in the lead with ¥0.88")
	best(99) // a guest with the same digits
	p.shows("card-hall", "In the lead: Guest 7f3a, ¥0.99")
}

// TestHostEndsEarly: the card of a rain that the host has ended says so, and gives no advice for a rain that is over.
// In a pause the page shows the player's wins.
func TestHostEndsEarly(t *testing.T) {
	browserFrom(t, testenv.All)
	f := newFake(t)
	f.judge = func(string) object { return f.won(1, 88) }
	p := play(t, f)
	const stopped, closed = "The host ended this rain early", "The host has closed the event"
	packet := [3]int{500, 0, slowly}
	p.rains(packet)
	p.ends()
	p.shows("card-title", "The rain is over")
	p.shows("card-sub", "Stay here for the next rain")
	p.shows("card-stopped", stopped)

	f.rainID = "r2"
	p.rains(packet)
	f.setCampaign(object{"state": "closed"})
	p.ends()
	p.shows("card-sub", "Thanks for joining. See you next time")
	p.shows("card-stopped", closed)

	f.setCampaign(object{"state": "raining"})
	f.rainID = "r3"
	start := p.rains(packet)
	p.hitDrop(0, start, 500)
	p.shows("mine-count", "1")
	f.phase("paused")
	p.shows("note", "You’ve won ¥0.88 in this rain")
	p.ends()
	p.shows("card-stopped", stopped)
	f.setCampaign(object{"state": "closed"}) // the news of the event may come later than that of its rain
	p.shows("card-stopped", closed)
	p.shows("card-amount", "¥0.88")
}

// jumps keeps what has moved by itself on the page: how far, and in which mode.
const jumps = `globalThis.jumps = [];
new PerformanceObserver((list) => {
	for (const { value, hadRecentInput, sources } of list.getEntries()) {
		if (hadRecentInput) continue;
		const moved = sources.map((s) => s.node?.id || s.node?.className || s.node?.nodeName).join(" ");
		jumps.push({ value, text: document.body.dataset.mode + " " + value.toFixed(3) + ": " + moved });
	}
}).observe({ type: "layout-shift", buffered: true });`

// TestNothingJumps: the page stands still when a rain is announced, begins and ends.
func TestNothingJumps(t *testing.T) {
	browserFrom(t, testenv.All)
	for _, d := range []chromium.Device{chromium.SmallPhone, chromium.Phone, chromium.Landscape, chromium.Desktop} {
		f := newFake(t)
		f.judge = func(string) object { return f.won(1, 88) }
		p := openTab(t, f, chromium.Options{Device: d, Scripts: []string{jumps, rememberModes}}, chromium.Network)
		p.goIn("/?campaign=c1")
		p.Until("practice is offered", `!document.getElementById("practice").hidden`)
		winners := func(won int) {
			f.push(f.figures(5000-won, won, object{"winners": []object{{"user": "张*", "amount": 88 + won}}}))
			p.Until("a winner", `document.getElementById("ticker-text").textContent.includes(%q)`, "0.")
		}
		p.Settle()
		eval[bool](p, `(jumps.length = 0, true)`)
		winners(1)
		f.setRain(3500*time.Millisecond, time.Hour)
		p.mode("countdown")
		p.mode("falling")
		p.Until("the shout is over", `document.getElementById("big").textContent === ""`)
		winners(2)
		p.ends()
		p.Settle()
		p.Press("#card-ok")
		p.mode("waiting")
		p.Settle()
		const most = 0.1 // web.dev/cls: good
		type jump struct {
			Value float64
			Text  string
		}
		sum, seen := 0.0, eval[[]jump](p, "jumps")
		for _, j := range seen {
			sum += j.Value
		}
		t.Logf("%s: the page moves by %.3f", d.Name, sum)
		if sum >= most {
			t.Errorf("%s: the page moves by %.3f, want less than %v: %v", d.Name, sum, most, seen)
		}
	}
}
