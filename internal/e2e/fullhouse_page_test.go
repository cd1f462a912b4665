package e2e

import (
	"time"

	"redrain/internal/testenv"
	"redrain/internal/testkit/browser"
	"redrain/internal/testkit/browser/browsertest"
)

// watchTurns notes the welcomes, and what the page was told of its turn and when it had asked.
const watchTurns = `{
	globalThis.welcomes = 0;
	globalThis.turns = [];
	const now = () => performance.timeOrigin + performance.now();
	const ask = globalThis.fetch;
	globalThis.fetch = async (...of) => {
		const sent = now(), answer = await ask(...of);
		if (String(of[0]).includes("/api/v1/admission?") && answer.ok) {
			const { position, retry_after_ms } = await answer.clone().json();
			if (position) turns.push({ sent, got: now(), position, retry_after_ms });
		}
		return answer;
	};
	globalThis.WebSocket = class extends WebSocket {
		constructor(...of) {
			super(...of);
			this.addEventListener("message", ({ data }) => {
				for (const line of data.split("\n")) if (JSON.parse(line).type === "welcome") welcomes++;
			});
		}
	};
}`

// housePage is a player of the house with a browser.
type housePage struct {
	*playPage

	h     *house
	visit *visit
	title struct{ queue, room string }
	about string // a pattern of the time that is left
}

// open has the next player come with a browser, and waits until they are in the room or have a place.
func (h *house) open(user string, o browser.Options) *housePage {
	h.t.Helper()
	p := &housePage{h: h, visit: h.comes(user), about: `^About (\d+ min )?\d+ s left`}
	p.title.queue, p.title.room = "The room is full. You’re number", "Waiting for the next rain"
	if o.Language != "" {
		p.title.queue, p.title.room, p.about = "现场已满，您排在第", "等待下一场红包雨", `^预计还需 (\d+ 分 )?\d+ 秒，`
	}
	o.Home, o.Scripts = h.front.url, []string{watchTurns}
	p.playPage = openPlay(h.t, h.campaign, user, o, browser.Network) // what the killed node had begun to answer
	return p
}

// room waits until the page shows the room.
func (p *housePage) room() {
	p.T.Helper()
	p.Says("#stage-title", p.title.room)
	p.Until("no banner", `document.getElementById("banner").hidden`)
	p.enters()
}

// enters notes that the page is in.
func (p *housePage) enters() {
	if p.visit.told.IsZero() {
		p.visit.told = time.Now()
		p.h.entered(false)
	}
}

// queued waits until the page shows a place and the time that is left, after so many answers.
func (p *housePage) queued(answers int) {
	p.T.Helper()
	p.Until("the next answer", "turns.length >= %d", answers)
	p.Says("#stage-title", p.title.queue)
	p.Until("the time that is left", `document.getElementById("stage-hint").textContent.match(%q) !== null`, p.about)
	p.Until("the place",
		`Number(document.getElementById("stage-title").textContent.replace(/\D/g, "")) === turns.at(-1).position`)
}

// pageTurn is what a page was told, with times in ms.
type pageTurn struct {
	Sent, Got    float64
	Position     int
	RetryAfterMS int64 `json:"retry_after_ms"`
}

func (p *housePage) answers() []pageTurn {
	p.T.Helper()
	return browsertest.Eval[[]pageTurn](p.Page, "turns")
}

// told holds what the page was told against what it was promised. The page was let in after its last place.
func (p *housePage) told() {
	p.T.Helper()
	for _, a := range p.answers() {
		sent, got := time.UnixMicro(int64(a.Sent*1000)), time.UnixMicro(int64(a.Got*1000))
		if err := p.visit.hears(sent, got, turn{Position: a.Position, RetryAfterMS: a.RetryAfterMS}); err != nil {
			p.T.Errorf("%s: %v", p.visit.user, err)
		}
	}
	p.visit.asked = p.visit.refused
}

// awaitPages waits until the pages are in, and notes when each was seen there.
func (h *house) awaitPages(pages []*housePage) {
	h.t.Helper()
	testenv.Eventually(h.t, 3*time.Minute, "the pages are in", func() bool {
		in := 0
		for _, p := range pages {
			if p.Text("#stage-title") == p.title.room {
				p.enters()
				in++
			}
		}
		return in == len(pages)
	})
}
