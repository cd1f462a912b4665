package live

import (
	"context"
	"slices"

	"redrain/internal/wire"
	"redrain/server/cluster"
)

// shownAvatars is the number of players of a list whose avatar addresses are in the room's message: the podium, and the
// newest. All members get the message once a second, and an address is three times as long as the rest of an entry.
const shownAvatars = 3

// Names provides display profiles. names.Book implements it.
type Names interface {
	// Faces returns the profiles of players that any node has published.
	Faces(ctx context.Context, users []string) (map[string]wire.Face, error)
	// Called publishes those of the wanted profiles that this node has. It does not wait.
	Called(users []string)
}

// faces returns the profiles of some players, and the players without one.
func (f *Figures) faces(ctx context.Context, lists ...[]cluster.Winner) (map[string]wire.Face, []string) {
	if f.o.Names == nil {
		return nil, nil
	}
	all := users(slices.Concat(lists...))
	slices.Sort(all)
	all = slices.Compact(all)
	faces, err := f.o.Names.Faces(ctx, all)
	if err != nil {
		f.o.Log.Debug("read players' names; the room is shown masked ids", "err", err)
		return nil, nil
	}
	return faces, slices.DeleteFunc(all, func(user string) bool {
		_, known := faces[user]
		return known
	})
}

// called passes the wanted profiles to Names.
func (f *Figures) called(users []string) {
	if f.o.Names != nil && len(users) > 0 {
		f.o.Names.Called(users)
	}
}

func users(winners []cluster.Winner) []string {
	list := make([]string, len(winners))
	for i, w := range winners {
		list[i] = w.User
	}
	return list
}

// shown returns players as a room is shown them.
func shown(winners []cluster.Winner, faces map[string]wire.Face) []wire.Winner {
	list := make([]wire.Winner, len(winners))
	for i, w := range winners {
		face := faces[w.User]
		if i >= shownAvatars {
			face.Avatar = ""
		}
		list[i] = wire.Winner{User: wire.Mask(w.User), Face: face, Amount: w.Amount}
	}
	return list
}
