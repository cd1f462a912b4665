package risk

import (
	"fmt"
	"math"

	"redrain/payout/ledger/standing"
	"redrain/server/config"
)

// Signals are what the rules know of a player. Times are in milliseconds.
type Signals struct {
	Taps     int     // on drops that were near in time
	Fast     int     // of them, those that came within FastMS of their drop's opening
	Mean     float64 // from a drop's opening to the tap
	Spread   float64 // standard deviation of that
	Gaps     int     // between taps that follow each other
	GapSplay float64 // standard deviation of the time between them
	Astray   int     // taps on drops that were not there yet, or never are

	Winners  int     // players with wins behind the player's address
	Chorus   int     // players whose hands are as quick as this one's, to some milliseconds, and as steady
	Crowd    float64 // as many would be by chance, as it is with hands that are somewhat quicker or slower
	Sessions int     // players whose tokens come from the same session of the issuer
	Young    bool    // the player was first seen, and their token issued, when the rain had been announced already
}

// Rule is one of the reasons that there can be. Its score is 0 where it has nothing to say.
type Rule struct {
	Name  string
	Judge func(s Signals, l config.RiskLimits) (score int, sentence string)
}

// Rules are all there are. Their scores add up. What honest players of one hall share, an address and young
// accounts, is together less than a hold.
var Rules = []Rule{
	{"fast_hands", fastHands}, {"steady_hands", steadyHands}, {"steady_rhythm", steadyRhythm}, {"astray", astray},
	{"same_rhythm", sameRhythm}, {"many_winners", manyWinners}, {"one_session", oneSession}, {"young", young},
}

// fastHands: nobody sees a drop and taps it within a tenth of a second, which is what athletics calls a false start.
func fastHands(s Signals, l config.RiskLimits) (int, string) {
	if s.Taps < l.Taps || s.Fast*2 < s.Taps {
		return 0, ""
	}
	return 70, fmt.Sprintf("%d of %d taps came within %d ms of their drop's opening, which is faster than people are",
		s.Fast, s.Taps, l.FastMS)
}

// steadyHands: the time that people take differs from tap to tap by some tens of milliseconds.
func steadyHands(s Signals, l config.RiskLimits) (int, string) {
	if s.Taps < 2*l.Taps || s.Spread >= float64(l.SpreadMS) {
		return 0, ""
	}
	return 60, fmt.Sprintf("the time from a drop's opening to the tap is %.0f ms and differs by %.0f ms over %d taps, "+
		"which is steadier than people are", s.Mean, s.Spread, s.Taps)
}

// steadyRhythm alone is no proof: an honest program may tap for somebody who cannot.
func steadyRhythm(s Signals, l config.RiskLimits) (int, string) {
	if s.Gaps < 2*l.Taps || s.GapSplay >= float64(l.SpreadMS) {
		return 0, ""
	}
	return 20, fmt.Sprintf("the time from one tap to the next differs by %.0f ms over %d taps", s.GapSplay, s.Gaps)
}

// astray: who taps what is not there guesses names of drops. A wrong clock does so too.
func astray(s Signals, l config.RiskLimits) (int, string) {
	if s.Astray < 2*l.Taps || s.Astray < s.Taps {
		return 0, ""
	}
	return 30, fmt.Sprintf("%d of %d taps were on drops that were not there yet, or never are", s.Astray,
		s.Astray+s.Taps)
}

// sameRhythm: hands as quick and as steady as each other's are the same program's, where many more have that rhythm
// than one a little beside it. Of 100,000 people some hundred seem steady for a while, at all times from 300 to 600 ms.
func sameRhythm(s Signals, l config.RiskLimits) (int, string) {
	if s.Chorus < l.Chorus || float64(s.Chorus) < peak(s.Crowd) {
		return 0, ""
	}
	return 50, fmt.Sprintf("%d players tap %.0f ms after a drop's opening, and each of them steadily; of a crowd it "+
		"would be %.1f", s.Chorus, s.Mean, s.Crowd)
}

// peak is how many are too many where so many are to be expected: half as many again, as people's times are not spread
// evenly, and five standard deviations of a Poisson distribution, with two for what the expectation is wrong by.
func peak(expected float64) float64 { return 1.5*expected + 5*math.Sqrt(expected) + 2 }

// manyWinners: a hall has one address too.
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

// young: all guests are.
func young(s Signals, _ config.RiskLimits) (int, string) {
	if !s.Young {
		return 0, ""
	}
	return 5, "the account is younger than the rain"
}

// Judgement is what the rules say of a player together.
type Judgement struct {
	Act     standing.VerdictAct
	Score   int
	Reasons []standing.Reason
}

// Judge asks all rules.
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
