package cli

import (
	"fmt"
	"math"
	"time"
)

// rivalReport is what `redrain bench --farm` and `--bot` answer with --json; docs/use/bench.md describes it.
type rivalReport struct {
	OK       bool              `json:"ok"`
	Problems []string          `json:"problems"` // why not
	Against  string            `json:"against"`  // farm or bot
	Rains    []rivalRainReport `json:"rains"`
	People   rivalTotal        `json:"people"`
	Rivals   rivalTotal        `json:"rivals"`
	Share    float64           `json:"share"`    // of all that was won, that the rivals have
	PerHead  float64           `json:"per_head"` // what one of the rivals has won for one of a person's
	// The standard deviation that chance alone gives to what one of the rivals wins, for one of a person's.
	Chance float64 `json:"chance"`
}

// rivalRainReport is one rain.
type rivalRainReport struct {
	Campaign string          `json:"campaign"`
	Packets  int             `json:"packets"`
	People   rivalSideReport `json:"people"`
	Rivals   rivalSideReport `json:"rivals"`
}

// rivalSideReport is what the players of a side did in a rain.
type rivalSideReport struct {
	Joined int   `json:"joined"` // who have got into the room
	Taps   int64 `json:"taps"`
	Won    int   `json:"won"`  // packets
	Held   int   `json:"held"` // players whose wins are kept apart

	heads []int // what each has won, in rising order
}

// rivalTotal is a side over all rains.
type rivalTotal struct {
	Players   int     `json:"players"`
	Won       int     `json:"won"`
	Each      float64 `json:"each"`       // won by one of them
	HeldRains int     `json:"held_rains"` // rains in which wins of one of them at least are kept apart
	GuestsMS  int64   `json:"guests_ms"`  // that it took to make them guests, with the work for that
}

func (t *rivalTotal) add(s rivalSideReport) {
	t.Won += s.Won
	if s.Held > 0 {
		t.HeldRains++
	}
}

// sum fills in what follows from the rains.
func (r *rivalReport) sum(c *benchCmd, people, rivals *benchPlayers) {
	r.People.Players, r.Rivals.Players = people.count, rivals.count
	r.People.GuestsMS, r.Rivals.GuestsMS = people.worked.Milliseconds(), rivals.worked.Milliseconds()
	for _, one := range r.Rains {
		r.People.add(one.People)
		r.Rivals.add(one.Rivals)
	}
	r.People.Each = float64(r.People.Won) / float64(r.People.Players)
	r.Rivals.Each = float64(r.Rivals.Won) / float64(r.Rivals.Players)
	if won := r.People.Won + r.Rivals.Won; won > 0 {
		r.Share = thousandths(float64(r.Rivals.Won) / float64(won))
	}
	if r.People.Won > 0 {
		r.PerHead = thousandths(r.Rivals.Each / r.People.Each)
		// Each win is a draw of its own, more or less.
		r.Chance = thousandths(1 / math.Sqrt(r.People.Each*float64(r.Rivals.Players)))
	}
	r.Problems = []string{}
	r.problem(r.People.Won == 0, "the people have won nothing")
	r.problem(!c.Bot && r.Share > c.MostShare, "the farm has %.1f %% of what was won, and may have %.1f %%",
		100*r.Share, 100*c.MostShare)
	r.problem(c.Bot && r.PerHead > c.MostPerHead, "the program has won %.2f times what a person has, and may win %.2f",
		r.PerHead, c.MostPerHead)
	r.problem(r.Rivals.HeldRains < c.LeastHeld, "wins of the %s were held in %d of %s, and should be in %d", r.Against,
		r.Rivals.HeldRains, count(len(r.Rains), "rain"), c.LeastHeld)
	r.problem(r.People.HeldRains > 0, "wins of people were held in %s", count(r.People.HeldRains, "rain"))
	r.OK = len(r.Problems) == 0
}

func (r *rivalReport) problem(bad bool, format string, args ...any) {
	if bad {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

func thousandths(f float64) float64 { return math.Round(f*1_000) / 1_000 }

// show writes the report.
func (r *rivalReport) show(app *App, asJSON bool) error {
	if asJSON {
		return printJSON(app, r)
	}
	t := newTable(app)
	for i, one := range r.Rains {
		t.row(fmt.Sprintf("rain %d", i+1), fmt.Sprintf("%d packets", one.Packets),
			"people "+one.People.String(), r.Against+" "+one.Rivals.String())
	}
	if err := t.flush(); err != nil {
		return err
	}
	t = newTable(app)
	t.row("people", r.People.String())
	t.row(r.Against, r.Rivals.String())
	t.row("share", fmt.Sprintf("the %s has %.1f %% of what was won", r.Against, 100*r.Share))
	t.row("per head", fmt.Sprintf("%.2f times what a person has won; chance alone makes ±%.2f of that", r.PerHead,
		r.Chance))
	return t.flush()
}

// String is a side of a rain, in a cell.
func (s rivalSideReport) String() string {
	text := fmt.Sprintf("%d in, %d won", s.Joined, s.Won)
	if n := len(s.heads); n > 1 {
		text += fmt.Sprintf(" (each %d to %d)", s.heads[0], s.heads[n-1])
	}
	if s.Held > 0 {
		text += fmt.Sprintf(", %d held", s.Held)
	}
	return text
}

// String is a side, in a cell.
func (t rivalTotal) String() string {
	return fmt.Sprintf("%d, %d won, %.2f each; held in %s; made guests in %s", t.Players, t.Won, t.Each,
		count(t.HeldRains, "rain"), millis(t.GuestsMS).Round(100*time.Millisecond))
}
