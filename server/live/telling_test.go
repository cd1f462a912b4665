package live

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/cluster"
	"redrain/server/servertest"
)

// One node adds up the figures and sends them to the others, and these show them. If that node dies, another takes
// over. If NATS is away, each node shows its own sums. A room is never without figures for long.
func TestOneNodeTellsTheFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sums{levels: store.Levels{Won: 2, Stock: 8}, teller: "b"}
		f := newHall(t, s)
		ear := &servertest.Ear{}
		f.lobby.Join("c", "u", f.lobby.NewMember(ear.Connect(t)))
		rm := f.lobby.Room("c")
		second := func() (shown []string) {
			before := len(ear.Of(wire.TypeRoom))
			f.publish(t.Context(), rm)
			<-time.After(ReportEvery) // of the bubble
			synctest.Wait()
			for _, h := range ear.Of(wire.TypeRoom)[before:] {
				shown = append(shown, string(h.Data))
			}
			return shown
		}
		figures := cluster.Figures{Node: "b", Room: wire.Room{Stock: 77}}
		f.Heard("c", figures)
		synctest.Wait()
		if told := ear.Of(wire.TypeRoom); len(told) != 1 || !strings.Contains(string(told[0].Data), `"stock":77`) {
			t.Errorf("the room is shown %v", told)
		}
		if shown := second(); len(shown) != 0 || len(s.told) != 0 {
			t.Errorf("reported twice: %v", shown)
		}
		figures.Node = "a" // its own comes back to it
		f.Heard("c", figures)
		f.Heard("empty", cluster.Figures{Node: "b"})
		s.teller = "" // the teller has died, and its time is over
		second()
		if shown := second(); len(shown) != 1 || !strings.Contains(shown[0], `"stock":8`) || s.teller != "a" ||
			len(s.told) == 0 || s.told[0].Node != "a" {
			t.Errorf("after the teller's death: %v by %q, the others received %v", shown, s.teller, s.told)
		}
		// Another node sends the figures, and its messages do not arrive.
		f.Heard("c", cluster.Figures{Node: "b", Room: wire.Room{Stock: 77}})
		s.teller, s.told = "b", nil
		shown := 0
		for range silentMS/1000 + 2 {
			shown += len(second())
		}
		if shown < 2 || len(s.told) != 0 {
			t.Errorf("a room that hears nothing is shown %d figures; others received %v", shown, s.told)
		}
		s.untold = errors.New("away") // nor can Redis say who has it
		if len(second()) != 1 || len(s.told) != 0 {
			t.Error("a room that hears nothing is shown nothing")
		}
	})
}

// The figures of this node and of others report stock to the gates. Figures with an unknown shard report none.
func TestFiguresTellOfStock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sums{}
		f := newHall(t, s)
		var heard []rain.Lane
		f.o.InStock = func(campaign string, lane rain.Lane) {
			if campaign == "c" {
				heard = append(heard, lane)
			}
		}
		f.lobby.Join("c", "u", f.lobby.NewMember((&servertest.Ear{}).Connect(t)))
		for _, is := range []struct {
			levels store.Levels
			lanes  []rain.Lane
		}{
			{store.Levels{Won: 9, Stock: 1, ByLane: [rain.LaneCount]int{1, 0}}, []rain.Lane{rain.LanePlayers}},
			{store.Levels{Won: 9, Stock: 1, ByLane: [rain.LaneCount]int{0, 1}}, []rain.Lane{rain.LaneGuests}},
			{store.Levels{Won: 8, Stock: 2, ByLane: [rain.LaneCount]int{1, 1}},
				[]rain.Lane{rain.LanePlayers, rain.LaneGuests}},
			{store.Levels{Won: 10}, nil},
			{store.Levels{Won: 7, Stock: 3, ByLane: [rain.LaneCount]int{2, 1}, Unknown: 1}, nil},
		} {
			s.levels, s.told, heard = is.levels, nil, nil
			f.publish(t.Context(), f.lobby.Room("c"))
			if len(s.told) != 1 || !slices.Equal(s.told[0].InStock, is.lanes) || !slices.Equal(heard, is.lanes) {
				t.Errorf("%+v: received %v, the others received %+v", is.levels, heard, s.told)
			}
			heard = nil
			f.Heard("c", cluster.Figures{Node: "b", InStock: is.lanes})
			testenv.Equal(t, heard, is.lanes, "%+v from another node: received", is.levels)
			f.forget("c") // this node reports again
		}
	})
}
