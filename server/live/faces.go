package live

import (
	"context"

	"redrain/internal/wire"
	"redrain/server/cluster"
)

// shownAvatars is how many of a list have their pictures' addresses in the room's message: those of the podium, and the
// newest. Everybody gets the message once a second, and an address is as long as the rest of an entry three times over.
const shownAvatars = 3

// Names knows how players are shown. [names.Book] does.
type Names interface {
	// Faces are those of players that any node has told.
	Faces(ctx context.Context, users []string) (map[string]wire.Face, error)
	// Called hears whose names are wanted, and tells those that this node knows. It does not wait.
	Called(users []string)
}

// faces are those of some players, and the players of whom none is known.
func (f *Figures) faces(ctx context.Context, lists ...[]cluster.Winner) (map[string]wire.Face, []string) {
	if f.o.Names == nil {
		return nil, nil
	}
	var all, nameless []string
	seen := map[string]bool{}
	for _, list := range lists {
		for _, user := range users(list) {
			if !seen[user] {
				seen[user] = true
				all = append(all, user)
			}
		}
	}
	faces, err := f.o.Names.Faces(ctx, all)
	if err != nil {
		f.o.Log.Debug("players' names could not be read; the room is shown masked ids", "err", err)
		return nil, nil
	}
	for _, user := range all {
		if _, known := faces[user]; !known {
			nameless = append(nameless, user)
		}
	}
	return faces, nameless
}

// called tells Names whose are wanted.
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

// shown is what a room may know of players.
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
