package web_test

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/rain"
)

// TestCardLuck: the card of a rain with draws has a button that computes the player's beats again, and names the one
// claim that the seed has not granted.
func TestCardLuck(t *testing.T) {
	browserFrom(t, testenv.All)
	for lang, said := range map[string][3]string{
		"en": {"The seed isn’t published yet", "Draws: %[2]d, lucky: %[1]d, packets won: ",
			"This doesn’t match the published seed: c1-66"},
		"zh": {"结果还没有公布", "本场 %[2]d 次机会，%[1]d 次中签，其中 ", "结果与公布的不一致：c1-66"},
	} {
		f := newFake(t)
		drawn := &rain.Rain{Seed: rain.Seed{7}, Settings: rain.Settings{Odds: rain.OddsOne / 2, BeatMS: 1_000}}
		const beats, waves = 10, 40
		lucky, unlucky := 0, int64(-1)
		for beat := range int64(beats) {
			if drawn.LuckyIn("guest-7f3a", beat) {
				lucky++
			} else {
				unlucky = beat
			}
		}
		fairness := object{"commitment": drawn.Seed.Commitment(), "schedule": object{"rain": rainID, "campaign": "c1",
			"starts_at": f.now(), "odds": 0.5, "beat_ms": 1_000, "first_wave": 0, "waves": waves}}
		f.draws = object{"odds": 0.5, "beat_ms": 1_000, "commitment": drawn.Seed.Commitment()}
		path := "GET /campaigns/c1/rains/" + rainID + "/fairness"
		f.setAnswer(path, reply(http.StatusOK, fairness))

		p := play(t, f)
		if lang == "zh" {
			p.Press("#language")
		}
		f.setRain(-slowly/3*time.Millisecond, time.Hour)
		p.mode("falling")
		p.ends()
		check := func(what string) {
			t.Helper()
			p.Press("#card-luck")
			p.Until("the page says "+what, `document.getElementById("card-luck-said").textContent.includes(%q)`, what)
		}
		check(said[0])
		fairness["seed"] = hex.EncodeToString(drawn.Seed[:])
		f.setAnswer(path, reply(http.StatusOK, fairness))
		check(fmt.Sprintf(said[1], lucky, beats))
		f.mu.Lock()
		f.claims = append(f.claims, object{"claim": "c1-66", "packet": "66", "amount": 5, "state": "settled",
			"at": f.now(), "ticket": fmt.Sprintf("b%d", 4*unlucky)})
		f.mu.Unlock()
		check(said[2])
	}
}
