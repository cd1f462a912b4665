package standing

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Errors of players who may not take part.
var (
	ErrNotInvited = errors.New("this campaign is for the players on its list, and you are not on it")
	ErrDenied     = errors.New("you may not take part here")
)

// ListKind is the kind of a list's members.
type ListKind string

// The kinds.
const (
	KindPlayers   ListKind = "players"
	KindAddresses ListKind = "addresses"
)

// ListPurpose is the effect of a list.
type ListPurpose string

// The purposes.
const (
	PurposeInvite ListPurpose = "invite" // campaigns name it, and only its members take part in them
	PurposeDeny   ListPurpose = "deny"   // its members take part in no campaign
	// PurposeLeaving is a list whose removal has begun. Some members may be gone, so it has no effect any more.
	PurposeLeaving ListPurpose = "leaving"
)

// List is a list of players or of addresses, without its members.
type List struct {
	Name      string      `json:"list"`
	Kind      ListKind    `json:"of"`
	Purpose   ListPurpose `json:"purpose"`
	Members   int64       `json:"members"`
	Revision  int64       `json:"-"`
	BusyUntil int64       `json:"-"`          // while an import is in flight: its deadline, Unix ms
	CreatedAt int64       `json:"created_at"` // Unix ms
	ChangedAt int64       `json:"changed_at"` // Unix ms
	ChangedBy string      `json:"changed_by"`
}

// ListTable maps the rows of the table.
var ListTable = sqldb.NewTable("player_list", func(l *List) []any {
	return []any{"name", &l.Name, "kind", &l.Kind, "purpose", &l.Purpose, "members", &l.Members,
		"revision", &l.Revision, "busy_until", &l.BusyUntil, "created_at", &l.CreatedAt, "changed_at", &l.ChangedAt,
		"changed_by", &l.ChangedBy}
})

// Canonical returns the stored form of a member, or the reason why it is invalid.
func (k ListKind) Canonical(text string) (string, error) {
	if k == KindAddresses {
		network, err := ParseNetwork(text)
		if err != nil {
			return "", err
		}
		return network.String(), nil
	}
	return text, rain.CheckUser(text)
}

// longestV6 is the prefix length that separates IPv6 clients: one usually has a whole /64.
const longestV6 = 64

// ParseNetwork reads an address, or a network as CIDR. A single IPv6 address means its /64, as in all limits.
func ParseNetwork(text string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(text)
	if err != nil {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network such as 192.0.2.0/24",
				sqldb.Storable(text, maxShown))
		}
		addr = addr.Unmap()
		network = netip.PrefixFrom(addr, addr.BitLen())
	}
	if network.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%s: write it as an IPv4 network", network)
	}
	if network.Addr().Is6() && network.Bits() > longestV6 {
		network = netip.PrefixFrom(network.Addr(), longestV6)
	}
	return network.Masked(), nil
}

// maxShown is the length limit of an invalid text in an error, in bytes.
const maxShown = 60

// Refused returns the reason why a player's win is not paid, or "".
type Refused func(campaign, user string, at int64) string

// The reasons why a win becomes a dead letter. An operator's retry pays it.
const (
	NotInvited = "the player was not on the campaign's list when it was won"
	WasDenied  = "the player was on a list of those who may not take part when it was won"
)

// member holds the times at which a member was added to a list and removed; 0: not removed.
type member struct{ added, removed int64 }

// ReadRefusals reads the membership of players in deny lists and in the lists of their campaigns. invited maps
// campaigns to their lists, players maps campaigns to players.
func ReadRefusals(ctx context.Context, q sqldb.Querier, invited map[string]string,
	players map[string][]string) (Refused, error) {
	denying, err := sqldb.Column[string](ctx, q, "SELECT name FROM player_list WHERE purpose = 'deny' AND "+
		"kind = 'players' ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("read the lists of players: %w", err)
	}
	if len(invited) == 0 && len(denying) == 0 {
		return func(string, string, int64) string { return "" }, nil
	}
	on := map[string]map[string]member{}
	for campaign, who := range players {
		of := denying
		if list := invited[campaign]; list != "" {
			of = append([]string{list}, denying...)
		}
		if err := readMembers(ctx, q, of, who, on); err != nil {
			return nil, err
		}
	}
	return func(campaign, user string, at int64) string {
		if list := invited[campaign]; list != "" {
			if m, was := on[list][user]; !was || m.removed != 0 && m.removed <= at {
				return NotInvited
			}
		}
		for _, list := range denying {
			if m, was := on[list][user]; was && m.added <= at && (m.removed == 0 || at < m.removed) {
				return WasDenied
			}
		}
		return ""
	}, nil
}

// readMembers reads the present and former members among the given players, by list and player.
func readMembers(ctx context.Context, q sqldb.Querier, lists, who []string, into map[string]map[string]member) error {
	for _, list := range lists {
		if into[list] == nil {
			into[list] = map[string]member{}
		}
		err := sqldb.EachIn(ctx, q, func(scan sqldb.Scan) error {
			var name string
			var m member
			err := scan(&name, &m.added, &m.removed)
			into[list][name] = m
			return err
		}, "SELECT who, added_at, removed_at FROM list_member WHERE list_name = ? AND who IN", who, list)
		if err != nil {
			return fmt.Errorf("read the list %s: %w", list, err)
		}
	}
	return nil
}

// IsDenied reports whether a deny list has the player now.
func IsDenied(ctx context.Context, q sqldb.Querier, user string) (bool, error) {
	return q.First(ctx, []any{new(int)}, "SELECT 1 FROM player_list l JOIN list_member m ON m.list_name = l.name "+
		"WHERE l.purpose = 'deny' AND l.kind = 'players' AND m.who = ? AND m.removed_at = 0 LIMIT 1", user)
}
