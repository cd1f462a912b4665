package risk

import (
	"fmt"
	"math"

	"redrain/payout/ledger/standing"
	"redrain/server/config"
)

// Signals are the input of the rules about a player. Times are in milliseconds.
type Signals struct {
	Taps     int     // within the drops' time in the air
	Fast     int     // those within FastMS of their drop's opening
	Mean     float64 // mean time from a drop's opening to the tap
	Spread   float64 // standard deviation of that
	Gaps     int     // number of gaps between consecutive taps
	GapSplay float64 // standard deviation of the time between them
	Astray   int     // taps on drops that were not there yet, or never are

	Winners  int     // players with wins at the player's address
	Chorus   int     // players with the same rhythm, within some milliseconds, and as steady
	Crowd    float64 // the number expected by chance, from the neighbouring rhythms
	Sessions int     // players whose tokens come from the same session of the issuer
	Young    bool    // the player's first visit and token came after the rain's announcement
}

// Rule is one reason for a verdict. Its score is 0 if it does not apply.
type Rule struct {
	Name  string
	Judge func(s Signals, l config.RiskLimits) (score int, sentence string)
}

// Rules lists all rules. Their scores add up. Honest players of one hall share an address and have young accounts;
// these scores together are below a hold.
var Rules = []Rule{
	{"fast_hands", fastHands}, {"steady_hands", steadyHands}, {"steady_rhythm", steadyRhythm}, {"astray", astray},
	{"same_rhythm", sameRhythm}, {"many_winners", manyWinners}, {"one_session", oneSession}, {"young", young},
}

// fastHands: no person can see a drop and tap it within a tenth of a second, the limit of a false start in athletics.
func fastHands(s Signals, l config.RiskLimits) (int, string) {
	if s.Taps < l.Taps || s.Fast*2 < s.Taps {
		return 0, ""
	}
	return 70, fmt.Sprintf("%d of %d taps came within %d ms of their drop's opening, which is faster than people are",
		s.Fast, s.Taps, l.FastMS)
}

// steadyHands: the reaction times of a person differ by some tens of milliseconds.
func steadyHands(s Signals, l config.RiskLimits) (int, string) {
	if s.Taps < 2*l.Taps || s.Spread >= float64(l.SpreadMS) {
		return 0, ""
	}
	return 60, fmt.Sprintf("the time from a drop's opening to the tap is %.0f ms and differs by %.0f ms over %d taps, "+
		"which is steadier than people are", s.Mean, s.Spread, s.Taps)
}

// steadyRhythm alone is no proof: an assistive program may tap for an honest player.
func steadyRhythm(s Signals, l config.RiskLimits) (int, string) {
	if s.Gaps < 2*l.Taps || s.GapSplay >= float64(l.SpreadMS) {
		return 0, ""
	}
	return 20, fmt.Sprintf("the time from one tap to the next differs by %.0f ms over %d taps", s.GapSplay, s.Gaps)
}

// astray: a player who taps missing drops guesses their ids. A wrong clock has the same effect.
func astray(s Signals, l config.RiskLimits) (int, string) {
	if s.Astray < 2*l.Taps || s.Astray < s.Taps {
		return 0, ""
	}
	return 30, fmt.Sprintf("%d of %d taps were on drops that were not there yet, or never are", s.Astray,
		s.Astray+s.Taps)
}

// sameRhythm: one program is likely if many more steady hands have a rhythm than the neighbouring ones. Of 100,000
// people some hundred seem steady for a while, spread over rhythms from 300 to 600 ms.
func sameRhythm(s Signals, l config.RiskLimits) (int, string) {
	if s.Chorus < l.Chorus || float64(s.Chorus) < peak(s.Crowd) {
		return 0, ""
	}
	return 50, fmt.Sprintf("%d players tap %.0f ms after a drop's opening, and each of them steadily; of a crowd it "+
		"would be %.1f", s.Chorus, s.Mean, s.Crowd)
}

// peak returns the number from which a rhythm is too frequent, given the expected one. It adds half, because people's
// times are not spread evenly, and five standard deviations of a Poisson distribution. The 2 covers the error of the
// expectation.
func peak(expected float64) float64 { return 1.5*expected + 5*math.Sqrt(expected) + 2 }

// manyWinners alone is no proof: a hall has one address too.
func manyWinners(s Signals, l config.RiskLimits) (int, string) {
	if s.Winners < l.Winners {
		return 0, ""
	}
	return 20, fmt.Sprintf("%d players behind the same address have won", s.Winners)
}

func oneSession(s Signals, l config.RiskLimits) (int, string) {
	if s.Sessions < l.Sessions {
		return 0, ""
	}
	return 60, fmt.Sprintf("%d players have tokens of the same session of the issuer", s.Sessions)
}

// young alone is no proof: all guests are young.
func young(s Signals, _ config.RiskLimits) (int, string) {
	if !s.Young {
		return 0, ""
	}
	return 5, "the account is younger than the rain"
}

// Judgement is the result of all rules about a player.
type Judgement struct {
	Act     standing.VerdictAct
	Score   int
	Reasons []standing.Reason
}

// Judge applies all rules.
func Judge(s Signals, l config.RiskLimits) Judgement {
	j := Judgement{Act: standing.Allow}
	for _, r := range Rules {
		if score, sentence := r.Judge(s, l); score > 0 {
			j.Score += score
			j.Reasons = append(j.Reasons, standing.Reason{Rule: r.Name, Score: score, Sentence: sentence})
		}
	}
	switch {
	case l.Deny > 0 && j.Score >= l.Deny:
		j.Act = standing.Deny
	case l.Hold > 0 && j.Score >= l.Hold:
		j.Act = standing.Hold
	}
	return j
}

// Suspect is a player with a verdict of the rules.
type Suspect struct {
	Caller // in the campaign of the last tap
	Judgement
}

// finding is a verdict that is not in the ledger yet.
type finding struct {
	given standing.Verdict
	by    string
}
