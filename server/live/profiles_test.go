package live

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"

	"redrain/internal/testenv"
	"redrain/internal/wire"
	"redrain/room"
	"redrain/server/cluster"
)

type nameBook struct {
	known  map[string]wire.Profile
	err    error
	called []string
}

func (b *nameBook) Profiles(context.Context, []string) (map[string]wire.Profile, error) {
	return b.known, b.err
}
func (b *nameBook) Called(users []string) { b.called = append(b.called, users...) }

// Players are shown with their known names beside their masked ids, three of a list with a picture. Other nodes are
// asked for the remaining names. If the names cannot be read, only the masks are shown.
func TestProfiles(t *testing.T) {
	book := &nameBook{known: map[string]wire.Profile{"zoe": {}}}
	var best []cluster.Winner
	for i := range 5 {
		user := "u" + strconv.Itoa(i)
		best = append(best, cluster.Winner{User: user, Amount: 9})
		book.known[user] = wire.Profile{Name: "N" + user, Avatar: "https://img.example/" + user, Face: "koi"}
	}
	newest := []cluster.Winner{{User: "zoe", Amount: 1}, {User: "u4", Amount: 2}, {User: "nobody", Amount: 3}}
	f := NewFigures(FiguresOptions{Names: book, Log: slog.New(slog.DiscardHandler),
		Lobby: room.NewLobby(room.Options{Log: slog.New(slog.DiscardHandler)})})
	profiles, nameless := f.profiles(t.Context(), newest, best)
	testenv.Equal(t, nameless, []string{"nobody"}, "nameless")
	list := shown(best, profiles)
	if w := list[2]; w.User != "u*" || w.Name != "Nu2" || w.Avatar != "https://img.example/u2" || w.Amount != 9 {
		t.Errorf("%+v", w)
	}
	if w := list[3]; w.Name != "Nu3" || w.Avatar != "" || w.Face != "koi" {
		t.Errorf("%+v has one picture too many", w)
	}
	if list := shown(newest, profiles); list[0].Name != "" || list[0].User != "z*" || list[1].Name != "Nu4" ||
		list[2].Name != "" {
		t.Errorf("%+v", list)
	}
	book.err = errors.New("away")
	if profiles, nameless := f.profiles(t.Context(), newest, best); profiles != nil || nameless != nil {
		t.Errorf("%v, %v", profiles, nameless)
	}
	f.Heard("c", cluster.Figures{Node: "another", Nameless: []string{"zoe"}}) // also without a room of it
	testenv.Equal(t, book.called, []string{"zoe"}, "called")
	off := NewFigures(FiguresOptions{})
	off.called([]string{"zoe"})
	if profiles, nameless := off.profiles(t.Context(), newest); profiles != nil || nameless != nil {
		t.Errorf("without names: %v, %v", profiles, nameless)
	}
}
