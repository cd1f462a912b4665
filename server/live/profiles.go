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
	// Profiles returns the profiles of players that any node has published.
	Profiles(ctx context.Context, users []string) (map[string]wire.Profile, error)
	// Called publishes those of the wanted profiles that this node has. It does not wait.
	Called(users []string)
}

// profiles returns the profiles of some players, and the players without one.
func (f *Figures) profiles(ctx context.Context, lists ...[]cluster.Winner) (map[string]wire.Profile, []string) {
	if f.o.Names == nil {
		return nil, nil
	}
	all := users(slices.Concat(lists...))
	slices.Sort(all)
	all = slices.Compact(all)
	found, err := f.o.Names.Profiles(ctx, all)
	if err != nil {
		f.o.Log.Debug("read players' names; the room is shown masked ids", "err", err)
		return nil, nil
	}
	return found, slices.DeleteFunc(all, func(user string) bool {
		_, known := found[user]
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
func shown(winners []cluster.Winner, profiles map[string]wire.Profile) []wire.Winner {
	list := make([]wire.Winner, len(winners))
	for i, w := range winners {
		profile := profiles[w.User]
		if i >= shownAvatars {
			profile.Avatar = ""
		}
		list[i] = wire.Winner{User: wire.Mask(w.User), Profile: profile, Amount: w.Amount}
	}
	return list
}
