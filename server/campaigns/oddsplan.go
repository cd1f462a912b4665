package campaigns

import (
	"math"

	"redrain/rain"
)

const (
	// aimedAt is the part of a rain's beats by whose end its stock is to end: within the last tenth.
	aimedAt = 0.94
	// oddsHurry is how much better odds become in the last oddsHurryFrom beats before that: chance leaves something
	// half of the time, and it must not stay.
	oddsHurry, oddsHurryFrom = 1.5, 3.0
	// oddsMemory is the weight of the earlier estimate when a new beat is observed.
	oddsMemory = 0.6
	// oddsJudged is the number of expected wins that must be reached before the draw rate is estimated. So one win that
	// is counted late, after beats of the least odds, is not taken for a million draws.
	oddsJudged = 0.5
	// oddsMost is how many draws a player is believed to take in a beat. There is one; more are chance, wins that are
	// counted late, or players who are not counted yet.
	oddsMost = 2
	// oddsFirstMS is how long before the last moment for it the first odds are set, in milliseconds: as late as is
	// safe, because the players of a rain come in its countdown.
	oddsFirstMS = 800
	// oddsStep is by how much odds must differ from those before, for them to be set: less is not worth a record.
	oddsStep = 0.02
)

// crowd is what the setter of odds knows of the players of a rain, of one lane.
type crowd struct {
	lane   rain.Lane
	counts bool    // at, won and online are known
	seen   bool    // packets were won in the rain, so draws is known
	draws  float64 // draws per player present and beat; 1 if each player taps in each beat
	at     int64   // the beat up to which wins are counted
	won    int     // packets won by then
	online int64   // players who were there

	// Since draws was last judged: the wins that there would be if each player took each draw, and those that there
	// are.
	hoped, gone float64
}

// note records the packets won before a beat, and the players present. Wins and odds give the draw rate.
func (k *crowd) note(r *rain.Rain, beat int64, won int, online int64) {
	if !k.counts || beat <= 1 { // of the first beat much is yet to come: hands need time
		*k = crowd{lane: k.lane, counts: true, at: max(beat, 0), won: won, online: online}
		return
	}
	if beat <= k.at {
		return
	}
	for b := k.at; b < beat; b++ {
		k.hoped += float64(max(k.online, online, 1)) * float64(r.OddsOf(b, k.lane)) / float64(rain.OddsOne)
	}
	k.gone += float64(max(won-k.won, 0))
	k.at, k.won, k.online = beat, won, online
	if k.hoped < oddsJudged || !k.seen && k.gone == 0 {
		return
	}
	each := min(k.gone/k.hoped, oddsMost)
	if k.seen {
		each = oddsMemory*k.draws + (1-oddsMemory)*each
	}
	k.seen, k.draws, k.hoped, k.gone = true, each, 0, 0
}

// drawsOf is how many draws players take in a beat, as far as it is known; at least one.
func (k *crowd) drawsOf(online int64) float64 {
	each := 1.0
	if k.seen {
		each = k.draws
	}
	return max(each*float64(max(online, 1)), 1)
}

// next are the odds to set now, at a time, so that what is left ends with the rain. ok is false where none are to be
// set: those that are set are good enough, or no beat is left for which odds can be set.
func (k *crowd) next(r *rain.Rain, left int, online, now int64) (set rain.OddsFrom, ok bool) {
	from := max(0, r.Beat(r.FirstWave+(now+rain.OddsLeadMS-r.StartsAt+rain.WaveMS)/rain.WaveMS))
	for r.BeatAt(from) < now+rain.OddsLeadMS {
		from++
	}
	if last, set := r.LastOdds(); from >= r.Beats() || set && from <= last.Beat {
		return rain.OddsFrom{}, false
	}
	if r.StartsAt-now > rain.OddsLeadMS+oddsFirstMS {
		return rain.OddsFrom{}, false // more players come in the countdown
	}
	// What goes until then goes by odds that are set.
	draws, stock := k.drawsOf(online), float64(left)
	for b := max(k.at, 0); b < from; b++ {
		stock -= draws * float64(r.OddsOf(b, k.lane)) / float64(rain.OddsOne)
	}
	beats := aimedAt*float64(r.Beats()) - float64(from)
	was, least := r.OddsOf(from, k.lane), 0.0
	if beats < oddsHurryFrom {
		// Nothing may be expected to be left, and something is: odds fall no more.
		beats, least = max(beats, 1)/oddsHurry, float64(was)/float64(rain.OddsOne)
	}
	chance := min(max(stock/(draws*beats), least), 1)
	odds := min(max(rain.Odds(math.Round(chance*float64(rain.OddsOne))), 1), rain.OddsOne)
	if math.Abs(float64(odds-was)) < oddsStep*float64(was) {
		return rain.OddsFrom{}, false
	}
	return rain.OddsFrom{Beat: from, Odds: odds}, true
}

// crowds are those of the lanes.
type crowds [rain.LaneCount]crowd

func newCrowds() *crowds { return &crowds{{lane: rain.LanePlayers}, {lane: rain.LaneGuests}} }

// lane is what a lane has, now.
type lane struct {
	left, won int // packets
	online    int64
}

// next are the odds to set now for all lanes of a rain. ok is false where none are to be set.
func (k *crowds) next(r *rain.Rain, lanes []lane, now int64) (set rain.OddsFrom, ok bool) {
	var odds [rain.LaneCount]rain.Odds
	for i, l := range lanes {
		k[i].note(r, r.BeatOf(now), l.won, l.online)
		if one, better := k[i].next(r, l.left, l.online, now); better {
			set.Beat, odds[i], ok = one.Beat, one.Odds, true
		}
	}
	if !ok {
		return set, false
	}
	for i := range lanes {
		if odds[i] == 0 { // those before are good enough
			odds[i] = r.OddsOf(set.Beat, k[i].lane)
		}
	}
	set.Odds, set.Guests = odds[rain.LanePlayers], odds[rain.LaneGuests]
	return set, true
}
