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
	"time"

	"github.com/nats-io/nats.go"

	"redrain/internal/loop"
	"redrain/payout/ledger/posting"
	"redrain/rain"
	"redrain/server/presence"
)

// Bus carries notices between nodes, over NATS core. A notice may be lost: each has a slower fallback (the registry's
// refresh, the claims in the next welcome, the script's own "sold out"). Each is sealed: see sealed.go.
type Bus struct {
	nc       *nats.Conn
	o        BusOptions
	node     string // this node's unique name
	log      *slog.Logger
	doubtful chan doubtful
	refused  refusals
	onAlarm  func(Alarm) // of this node's listener; nil before Listen
}

// NewBus returns the bus of the nodes that share a namespace. Its Run must be started.
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

// noCampaign stands for "no campaign" in a subject, whose parts must not be empty.
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

// Changed notifies the other nodes of a newer version of a campaign.
func (b *Bus) Changed(camp *rain.Campaign) {
	if err := b.publish(topicChanged, camp.ID, camp.Revision); err != nil {
		b.log.Warn("notify other nodes of a change; they see it at their next refresh", "campaign", camp.ID, "err", err)
	}
}

// SoldOut notifies all nodes that a lane of a campaign has no stock left, nor in flight between its shards.
func (b *Bus) SoldOut(campaign string, lane rain.Lane) { b.hint(topicSoldOut, campaign, lane) }

// Dry notifies the mover that a shard is empty while taps wait on this node.
func (b *Bus) Dry(campaign string, shard, taps int) {
	b.hint(topicDry, campaign, DryShard{Shard: shard, Node: b.node, Taps: taps})
}

// Restocked notifies all nodes that stock has come to a shard.
func (b *Bus) Restocked(campaign string, shard int) { b.hint(topicStocked, campaign, shard) }

// hint publishes a notice that other nodes can do without: they find out later.
func (b *Bus) hint(topic, campaign string, notice any) {
	if err := b.publish(topic, campaign, notice); err != nil {
		b.log.Debug("publish a hint; other nodes find out later", "topic", topic, "campaign", campaign, "err", err)
	}
}

// Restored notifies all nodes that Redis has the campaign's stock again after a loss.
func (b *Bus) Restored(campaign string) {
	if err := b.publish(topicRestored, campaign, struct{}{}); err != nil {
		b.log.Warn("nodes that knew the campaign to be sold out ask again only when its figures are told, or in the "+
			"next rain", "campaign", campaign, "err", err)
	}
}

// Alarm sends an alarm to the operators on all nodes.
func (b *Bus) Alarm(code, campaign, message string) {
	b.log.Error("alarm", "code", code, "campaign", campaign, "message", message)
	b.raise(Alarm{Code: code, Campaign: campaign, Message: message})
}

// conditionLasts is the time after which a condition ends if no node repeats it. Clocks are read every ten seconds.
const conditionLasts = 15 * time.Second

// Condition sends an alarm that is true for as long as it is repeated, every few seconds. Several nodes may repeat the
// same one. isNew is true at this node's first time.
func (b *Bus) Condition(code, campaign, message string, isNew bool) {
	if isNew {
		b.log.Error("alarm", "code", code, "campaign", campaign, "message", message)
	}
	b.raise(Alarm{Code: code, Campaign: campaign, Message: message, LastsMS: conditionLasts.Milliseconds()})
}

// raise notifies this node's operators, also without NATS, and the other nodes. A condition is not kept for the time
// when NATS is back.
func (b *Bus) raise(n Alarm) {
	if b.onAlarm != nil {
		b.onAlarm(n)
	}
	if n.LastsMS > 0 && !b.nc.IsConnected() {
		return
	}
	err := b.publish(topicAlarm, cmp.Or(n.Campaign, noCampaign), alarmNotice{n, b.node})
	if err != nil {
		b.log.Warn("the alarm reached this node only", "err", err)
	}
}

// wonAtOnce is the number of a batch's winners that are shown: a room shows no more.
const wonAtOnce = 10

// Settled notifies all nodes of settled claims of a campaign, and of its newest winners. Each node skips the players of
// other nodes: that costs less than a notice for each player.
func (b *Bus) Settled(campaign string, settlements []posting.Settlement) error {
	var failed error
	for _, notice := range settledNotices(campaign, settlements) {
		failed = errors.Join(failed, b.send(b.subject(topicSettled, campaign), notice.text()))
	}
	if won := newest(settlements); len(won.Winners) > 0 {
		b.hint(topicWon, campaign, won)
	}
	return failed
}

// newest returns the last settlements with new wins.
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

// Figures sends all nodes a campaign's figures, which one node has added up.
func (b *Bus) Figures(campaign string, n Figures) { b.hint(topicFigures, campaign, n) }

// Withdrawn notifies all nodes that a withdrawal has ended.
func (b *Bus) Withdrawn(n Withdrawn) error { return b.publish(topicMoney, noCampaign, n) }

// Sanctioned notifies all nodes that the ledger has a new sanction.
func (b *Bus) Sanctioned() { b.hint(topicSanction, noCampaign, struct{}{}) }

// Listed notifies all nodes that the ledger has a changed list of players or addresses.
func (b *Bus) Listed() { b.hint(topicLists, noCampaign, struct{}{}) }

// Judged notifies all nodes that the ledger has a new verdict about a player.
func (b *Bus) Judged() { b.hint(topicVerdict, noCampaign, struct{}{}) }

// OnNodes notifies a node about a player who is on several nodes.
func (b *Bus) OnNodes(node string, n presence.Notice) { b.hint(topicPlayer, node, n) }

// Listener holds a node's functions for the notices of all nodes, including itself.
type Listener struct {
	Changed func(campaign string, revision int64)
	Settled func(campaign string, n Settled)
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

	Node    string // the node whose notices OnNodes gets; "": none
	OnNodes func(n presence.Notice)
}

// Listen subscribes; the subscriptions end with the connection. The listener is called on the goroutines of NATS, so it
// must not wait. With a nil recoverer, panics there are logged only.
func (b *Bus) Listen(recoverer *loop.Recoverer, l Listener) error {
	b.onAlarm = l.Alarm
	for _, err := range []error{
		subscribe(b, recoverer, topicChanged, "*", readJSON, l.Changed),
		subscribe(b, recoverer, topicSettled, "*", readSettled, l.Settled),
		subscribe(b, recoverer, topicWon, "*", readJSON, l.Won),
		subscribe(b, recoverer, topicFigures, "*", readJSON, l.Figures),
		subscribe(b, recoverer, topicSoldOut, "*", readJSON, l.SoldOut),
		subscribe(b, recoverer, topicDry, "*", readJSON, l.Dry),
		subscribe(b, recoverer, topicStocked, "*", readJSON, l.Restocked),
		subscribe(b, recoverer, topicRestored, "*", readJSON,
			func(campaign string, _ struct{}) { l.Restored(campaign) }),
		subscribe(b, recoverer, topicMoney, "*", readJSON, func(_ string, n Withdrawn) { l.Withdrawn(n) }),
		subscribe(b, recoverer, topicSanction, "*", readJSON, func(string, struct{}) { l.Sanctioned() }),
		subscribe(b, recoverer, topicVerdict, "*", readJSON, func(string, struct{}) { l.Judged() }),
		subscribe(b, recoverer, topicLists, "*", readJSON, func(string, struct{}) { l.Listed() }),
		subscribe(b, recoverer, topicPlayer, cmp.Or(l.Node, noCampaign), readJSON,
			func(_ string, n presence.Notice) { l.OnNodes(n) }),
		subscribe(b, recoverer, topicAlarm, "*", readJSON, func(_ string, n alarmNotice) {
			if n.Node != b.node { // this node had it at once
				l.Alarm(n.Alarm)
			}
		}),
	} {
		if err != nil {
			return fmt.Errorf("subscribe to the other nodes: %w", err)
		}
	}
	return nil
}

// subscribe subscribes to the notices of one campaign or node, "*" for all.
func subscribe[T any](b *Bus, recoverer *loop.Recoverer, topic, of string, read func([]byte) (T, error),
	handle func(of string, notice T)) error {
	prefix := b.subject(topic, "")
	_, err := b.nc.Subscribe(prefix+of, func(m *nats.Msg) {
		b.receive(m, func(data []byte) {
			notice, err := read(data)
			if err != nil {
				b.refused.unreadable.Inc()
				b.log.Warn("decode a message of another node; check that all nodes have one version", "subject",
					m.Subject, "err", err)
				return
			}
			recoverer.Do("bus", func() { handle(m.Subject[len(prefix):], notice) })
		})
	})
	return err
}

func readJSON[T any](data []byte) (notice T, err error) {
	err = json.Unmarshal(data, &notice)
	return notice, err
}

// IsUnavailable reports whether an error means that NATS cannot be reached for now.
func IsUnavailable(err error) bool {
	return slices.ContainsFunc([]error{nats.ErrConnectionClosed, nats.ErrTimeout, nats.ErrNoResponders},
		func(known error) bool { return errors.Is(err, known) })
}
