package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/nats-io/nats.go"

	"redrain/internal/loop"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/presence"
)

// Bus carries what nodes tell each other, over NATS core. A message may be lost: each has something slower behind it
// that heals (the registry's refresh, the claims in the next welcome, the script's own "sold out"). Each is sealed: see
// sealed.go.
type Bus struct {
	nc       *nats.Conn
	o        BusOptions
	node     string // a name that tells this node from others where that counts
	log      *slog.Logger
	doubtful chan doubtful
	refused  refusals
	few      fewness
}

// NewBus is the bus of the nodes that share a namespace. Its Run must be started.
func NewBus(nc *nats.Conn, o BusOptions) *Bus {
	if o.RefreshSeals == nil {
		o.RefreshSeals = func(context.Context) error { return nil }
	}
	if o.Forged == nil {
		o.Forged = func(int, string) {}
	}
	return &Bus{nc: nc, o: o, node: rand.Text(), log: o.Log, doubtful: make(chan doubtful, doubtfulAtOnce),
		refused: newRefusals(o.Registerer)}
}

const (
	topicChanged  = "changed"
	topicSettled  = "settled"
	topicPacked   = "settledall"
	topicWon      = "won"
	topicFigures  = "figures"
	topicSoldOut  = "soldout"
	topicDry      = "dry"
	topicStocked  = "restocked"
	topicRestored = "restored"
	topicAlarm    = "alarm"
	topicMoney    = "withdrawal"
	topicSanction = "sanction"
	topicPlayer   = "player"
	topicLists    = "lists"
	topicVerdict  = "verdict"
)

// noCampaign stands in a subject for what is of no campaign: a subject has no empty part.
const noCampaign = "none"

func (b *Bus) subject(topic, campaign string) string {
	return b.o.Namespace + ".control." + topic + "." + campaign
}

func (b *Bus) publish(topic, campaign string, notice any) error {
	data, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	return b.send(b.subject(topic, campaign), data)
}

func (b *Bus) send(subject string, notice []byte) error {
	return b.nc.Publish(subject, b.sealed(subject, notice))
}

// Changed tells the other nodes that a campaign has a newer version.
func (b *Bus) Changed(camp *rain.Campaign) {
	if err := b.publish(topicChanged, camp.ID, changedNotice{Revision: camp.Revision}); err != nil {
		b.log.Warn("other nodes hear of the change only at their next refresh", "campaign", camp.ID, "err", err)
	}
}

// SoldOut tells every node that nothing is left for a lane of a campaign, nor on its way between its shards.
func (b *Bus) SoldOut(campaign string, lane rain.Lane) {
	b.hint(topicSoldOut, campaign, soldOutNotice{Lane: lane})
}

// Dry tells who moves stock that a shard has nothing left for taps that wait on this node.
func (b *Bus) Dry(campaign string, shard, taps int) {
	b.hint(topicDry, campaign, DryShard{Shard: shard, Node: b.node, Taps: taps})
}

// Restocked tells every node that stock has come to a shard.
func (b *Bus) Restocked(campaign string, shard int) {
	b.hint(topicStocked, campaign, stockedNotice{Shard: shard})
}

// hint tells something that others find out by themselves, only later.
func (b *Bus) hint(topic, campaign string, notice any) {
	if err := b.publish(topic, campaign, notice); err != nil {
		b.log.Debug("other nodes will find out themselves", "topic", topic, "campaign", campaign, "err", err)
	}
}

// Restored tells every node that Redis has the campaign's stock again, after it was lost.
func (b *Bus) Restored(campaign string) {
	if err := b.publish(topicRestored, campaign, struct{}{}); err != nil {
		b.log.Warn("nodes that knew the campaign to be sold out ask again only when its figures are told, or in the "+
			"next rain", "campaign", campaign, "err", err)
	}
}

// Alarm tells every node's operators of something that needs a person.
func (b *Bus) Alarm(code, campaign, message string) {
	b.log.Error("alarm", "code", code, "campaign", campaign, "message", message)
	topic := campaign
	if topic == "" {
		topic = noCampaign
	}
	if err := b.publish(topicAlarm, topic, Alarm{Code: code, Campaign: campaign, Message: message}); err != nil {
		b.log.Warn("the alarm reached this node's log only", "err", err)
	}
}

// wonAtOnce is how many winners of a batch are shown: a room shows no more.
const wonAtOnce = 10

// Settled tells the nodes on which players are which of their claims of a campaign have been settled, and every
// node of the newest winners. A player's claims are in one notice.
func (b *Bus) Settled(ctx context.Context, campaign string, settlements []posting.Settlement) error {
	var failed error
	if b.fewNodes(ctx) {
		for notice := range packed(campaign, settlements) {
			failed = errors.Join(failed, b.send(b.subject(topicPacked, campaign), notice.text()))
		}
	} else {
		for g, notice := range grouped(campaign, settlements) {
			failed = errors.Join(failed, b.send(b.subject(topicSettled, g), notice.text()))
		}
	}
	if won := newest(settlements); len(won.Winners) > 0 {
		b.hint(topicWon, campaign, won)
	}
	return failed
}

// grouped are the notices of settlements, by the players' groups.
func grouped(campaign string, settlements []posting.Settlement) map[string]*Settled {
	groups := make(map[string]*Settled, len(settlements))
	for _, i := range byPlayer(settlements) {
		g := group(settlements[i].User)
		if groups[g] == nil {
			groups[g] = &Settled{Campaign: campaign}
		}
		groups[g].Claims = append(groups[g].Claims, claimOf(&settlements[i]))
	}
	return groups
}

func claimOf(s *posting.Settlement) SettledClaim {
	return SettledClaim{
		Claim: s.Claim, User: s.User, Packet: s.Packet, Drop: s.Drop, Amount: s.Amount, Balance: s.Balance,
	}
}

// newest are the last of those whose wins are new.
func newest(settlements []posting.Settlement) (won Won) {
	for _, s := range slices.Backward(settlements) {
		if s.New {
			won.Winners = append(won.Winners, Winner{User: s.User, Amount: s.Amount})
		}
		if len(won.Winners) == wonAtOnce {
			break
		}
	}
	slices.Reverse(won.Winners)
	return won
}

// Figures tells every node a campaign's figures, which one has added up for all.
func (b *Bus) Figures(campaign string, n Figures) { b.hint(topicFigures, campaign, n) }

// Withdrawn tells every node that a withdrawal has ended.
func (b *Bus) Withdrawn(n Withdrawn) error { return b.publish(topicMoney, noCampaign, n) }

// Sanctioned tells every node that something was done about a player, which the ledger has.
func (b *Bus) Sanctioned() { b.hint(topicSanction, noCampaign, struct{}{}) }

// Listed tells every node that a list of players or addresses has changed, which the ledger has.
func (b *Bus) Listed() { b.hint(topicLists, noCampaign, struct{}{}) }

// Judged tells every node that there is a new verdict about a player, which the ledger has.
func (b *Bus) Judged() { b.hint(topicVerdict, noCampaign, struct{}{}) }

// OnNodes tells a node what concerns it of a player who is on several.
func (b *Bus) OnNodes(node string, n presence.Notice) { b.hint(topicPlayer, node, n) }

// Listener is what a node does when another, or itself, has told something.
type Listener struct {
	Changed func(campaign string, revision int64)
	Won     func(campaign string, n Won)
	Figures func(campaign string, n Figures)
	SoldOut func(campaign string, lane rain.Lane)
	Dry     func(campaign string, n DryShard)
	Alarm   func(n Alarm)

	Restocked func(campaign string, shard int)
	Restored  func(campaign string)
	Withdrawn func(n Withdrawn)

	Sanctioned func()
	Listed     func()
	Judged     func()

	Node    string // whose notices OnNodes gets; "": nobody's
	OnNodes func(n presence.Notice)
}

// Listen subscribes; the subscriptions end with the connection. The listener is called on the goroutines of NATS, so it
// must not wait. A recoverer that is nil logs what panics there.
func (b *Bus) Listen(recoverer *loop.Recoverer, l Listener) error {
	for _, err := range []error{
		subscribe(b, recoverer, topicChanged, func(campaign string, n changedNotice) {
			l.Changed(campaign, n.Revision)
		}),
		subscribe(b, recoverer, topicWon, l.Won),
		subscribe(b, recoverer, topicFigures, l.Figures),
		subscribe(b, recoverer, topicSoldOut, func(campaign string, n soldOutNotice) { l.SoldOut(campaign, n.Lane) }),
		subscribe(b, recoverer, topicDry, l.Dry),
		subscribe(b, recoverer, topicStocked, func(campaign string, n stockedNotice) {
			l.Restocked(campaign, n.Shard)
		}),
		subscribe(b, recoverer, topicRestored, func(campaign string, _ struct{}) { l.Restored(campaign) }),
		subscribe(b, recoverer, topicMoney, func(_ string, n Withdrawn) { l.Withdrawn(n) }),
		subscribe(b, recoverer, topicSanction, func(string, struct{}) { l.Sanctioned() }),
		subscribe(b, recoverer, topicVerdict, func(string, struct{}) { l.Judged() }),
		subscribe(b, recoverer, topicLists, func(string, struct{}) { l.Listed() }),
		subscribeTo(b, recoverer, topicPlayer, cmp.Or(l.Node, noCampaign),
			func(_ string, n presence.Notice) { l.OnNodes(n) }),
		subscribe(b, recoverer, topicAlarm, func(_ string, n Alarm) { l.Alarm(n) }),
	} {
		if err != nil {
			return fmt.Errorf("subscribing to the other nodes: %w", err)
		}
	}
	return nil
}

func subscribe[T any](b *Bus, recoverer *loop.Recoverer, topic string, handle func(campaign string, notice T)) error {
	return subscribeTo(b, recoverer, topic, "*", handle)
}

// subscribeTo subscribes to the notices of one campaign or node, "*" for all.
func subscribeTo[T any](b *Bus, recoverer *loop.Recoverer, topic, of string, handle func(of string, notice T)) error {
	prefix := b.subject(topic, "")
	_, err := b.nc.Subscribe(prefix+of, func(m *nats.Msg) {
		b.receive(m, func(data []byte) {
			if notice, ok := decode[T](b, m.Subject, data); ok {
				recoverer.Do("bus", func() { handle(m.Subject[len(prefix):], notice) })
			}
		})
	})
	return err
}

// decode reads what a notice says. Where it cannot be read the log says so.
func decode[T any](b *Bus, subject string, data []byte) (notice T, ok bool) {
	err := json.Unmarshal(data, &notice)
	return notice, b.readable(subject, err)
}

// readable tells whether a notice could be read.
func (b *Bus) readable(subject string, err error) bool {
	if err != nil {
		b.refused.unreadable.Inc()
		b.log.Warn("a message between nodes cannot be read; are all of one version?", "subject", subject, "err", err)
	}
	return err == nil
}

// IsUnavailable tells whether an error says that NATS cannot be reached for now.
func IsUnavailable(err error) bool {
	return slices.ContainsFunc([]error{nats.ErrConnectionClosed, nats.ErrTimeout, nats.ErrNoResponders},
		func(known error) bool { return errors.Is(err, known) })
}
