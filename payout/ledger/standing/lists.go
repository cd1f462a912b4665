package standing

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// Errors that say why somebody may not take part.
var (
	ErrNotInvited = errors.New("this campaign is for the players on its list, and you are not on it")
	ErrDenied     = errors.New("you may not take part here")
)

// ListKind is what is on a list.
type ListKind string

// The kinds.
const (
	KindPlayers   ListKind = "players"
	KindAddresses ListKind = "addresses"
)

// ListPurpose is what a list is for.
type ListPurpose string

// The purposes.
const (
	PurposeInvite ListPurpose = "invite" // campaigns name it, and only who is on it takes part in them
	PurposeDeny   ListPurpose = "deny"   // who is on it takes part in nothing
	// PurposeLeaving is that of a list whose removal has begun: it may have lost some of its members, so it invites and
	// denies nobody any more.
	PurposeLeaving ListPurpose = "leaving"
)

// List is a list of players or of addresses, without its members.
type List struct {
	Name      string
	Kind      ListKind
	Purpose   ListPurpose
	Members   int64
	Revision  int64
	BusyUntil int64 // while an import is under way: when it counts as broken off, Unix ms
	CreatedAt int64 // Unix ms
	ChangedAt int64 // Unix ms
	ChangedBy string
}

// ListTable maps the rows of the table.
var ListTable = sqldb.NewTable("player_list", func(l *List) []any {
	return []any{"name", &l.Name, "kind", &l.Kind, "purpose", &l.Purpose, "members", &l.Members,
		"revision", &l.Revision, "busy_until", &l.BusyUntil, "created_at", &l.CreatedAt, "changed_at", &l.ChangedAt,
		"changed_by", &l.ChangedBy}
})

// Canonical is a member of such a list as it is stored, or why it cannot be one.
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

// longestV6 is how much of an IPv6 address tells clients apart: one usually has all of a /64.
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

// maxShown is how much of what makes no sense an error repeats, in bytes.
const maxShown = 60

// Refused tells why what a player has won is not paid; "" where nothing speaks against it.
type Refused func(campaign, user string, at int64) string

// Why a win waits for a person: retried by one, it is paid.
const (
	NotInvited = "the player was not on the campaign's list when it was won"
	WasDenied  = "the player was on a list of those who may not take part when it was won"
)

// member is when somebody came on a list, and when they were removed; 0: not.
type member struct{ added, removed int64 }

// ReadRefusals reads what lists say about players: those that deny, and the lists of campaigns, by campaign. players
// are by campaign too.
func ReadRefusals(ctx context.Context, q sqldb.Querier, invited map[string]string,
	players map[string][]string) (Refused, error) {
	denying, err := sqldb.Column[string](ctx, q, "SELECT name FROM player_list WHERE purpose = 'deny' AND "+
		"kind = 'players' ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("reading the lists of players: %w", err)
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

// readMembers reads what lists have had of some players, by list and player.
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
			return fmt.Errorf("reading the list %s: %w", list, err)
		}
	}
	return nil
}

// IsDenied tells whether a list denies a player everything, now.
func IsDenied(ctx context.Context, q sqldb.Querier, user string) (bool, error) {
	var one int
	found, err := q.First(ctx, []any{&one}, "SELECT 1 FROM player_list l JOIN list_member m ON m.list_name = l.name "+
		"WHERE l.purpose = 'deny' AND l.kind = 'players' AND m.who = ? AND m.removed_at = 0 LIMIT 1", user)
	return found, err
}
