package server

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"

	"redrain/internal/wire"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// control is what nodes tell each other, over NATS core. A message may be lost: each has something slower behind it
// that heals (the registry's refresh, the claims in the next welcome, the script's own "sold out").
type control struct {
	nc  *nats.Conn
	ns  string
	log *slog.Logger
}

// settledNotice tells that claims of one campaign are in the ledger.
type settledNotice struct {
	Claims []settledNoticeClaim `json:"claims"`
}

type settledNoticeClaim struct {
	Claim   string     `json:"claim"`
	User    string     `json:"user"`
	Packet  int        `json:"packet"`
	Drop    string     `json:"drop"`
	Amount  rain.Money `json:"amount"`
	Balance rain.Money `json:"balance"`
}

type changedNotice struct {
	Revision int64 `json:"revision"`
}

// withdrawalNotice tells that a player's withdrawal has ended.
type withdrawalNotice struct {
	Withdrawal wire.Withdrawal `json:"withdrawal"`
	Balance    rain.Money      `json:"balance"`
}

type soldOutNotice struct {
	Shard int `json:"shard"`
}

// alarmNotice is something that an operator must look at.
type alarmNotice struct {
	Code     string `json:"code"`
	Campaign string `json:"campaign"`
	Message  string `json:"message"`
}

const (
	topicChanged = "changed"
	topicSettled = "settled"
	topicSoldOut = "soldout"
	topicAlarm   = "alarm"
	topicStocked = "restocked"
	topicMoney   = "withdrawal"
)

// noCampaign stands in a subject for what is of no campaign: a subject has no empty part.
const noCampaign = "none"

func (c *control) subject(topic, campaign string) string {
	return c.ns + ".control." + topic + "." + campaign
}

func (c *control) publish(topic, campaign string, notice any) error {
	data, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	return c.nc.Publish(c.subject(topic, campaign), data)
}

// Changed tells the other nodes that a campaign has a newer version.
func (c *control) Changed(camp *rain.Campaign) {
	if err := c.publish(topicChanged, camp.ID, changedNotice{Revision: camp.Revision}); err != nil {
		c.log.Warn("other nodes hear of the change only at their next refresh", "campaign", camp.ID, "err", err)
	}
}

// SoldOut tells the other nodes that a shard has no packets left.
func (c *control) SoldOut(campaign string, shard int) {
	if err := c.publish(topicSoldOut, campaign, soldOutNotice{Shard: shard}); err != nil {
		c.log.Debug("other nodes will ask Redis themselves", "campaign", campaign, "err", err)
	}
}

// Restocked tells every node that Redis has the campaign's stock again, after it was lost.
func (c *control) Restocked(campaign string) {
	if err := c.publish(topicStocked, campaign, struct{}{}); err != nil {
		c.log.Warn("nodes that knew a shard to be sold out ask again only in the next rain", "campaign", campaign,
			"err", err)
	}
}

// Alarm tells every node's operators of something that needs a person.
func (c *control) Alarm(code, campaign, message string) {
	c.log.Error("alarm", "code", code, "campaign", campaign, "message", message)
	topic := campaign
	if topic == "" {
		topic = noCampaign
	}
	if err := c.publish(topicAlarm, topic, alarmNotice{Code: code, Campaign: campaign, Message: message}); err != nil {
		c.log.Warn("the alarm reached this node's log only", "err", err)
	}
}

// Settled tells every node which claims of a campaign have been settled.
func (c *control) Settled(campaign string, settlements []posting.Settlement) error {
	notice := settledNotice{Claims: make([]settledNoticeClaim, len(settlements))}
	for i, s := range settlements {
		notice.Claims[i] = settledNoticeClaim{
			Claim: s.Claim, User: s.User, Packet: s.Packet, Drop: s.Drop, Amount: s.Amount, Balance: s.Balance,
		}
	}
	return c.publish(topicSettled, campaign, notice)
}

// Withdrawn tells every node that a withdrawal has ended.
func (c *control) Withdrawn(n withdrawalNotice) error { return c.publish(topicMoney, noCampaign, n) }

// listener is what a node does when another, or itself, has told something.
type listener struct {
	changed func(campaign string, revision int64)
	settled func(campaign string, n settledNotice)
	soldOut func(campaign string, shard int)
	alarm   func(n alarmNotice)

	restocked func(campaign string)
	withdrawn func(n withdrawalNotice)
}

// Listen subscribes; the subscriptions end with the connection.
func (c *control) Listen(l listener) error {
	for _, err := range []error{
		subscribe(c, topicChanged, func(campaign string, n changedNotice) { l.changed(campaign, n.Revision) }),
		subscribe(c, topicSettled, l.settled),
		subscribe(c, topicSoldOut, func(campaign string, n soldOutNotice) { l.soldOut(campaign, n.Shard) }),
		subscribe(c, topicStocked, func(campaign string, _ struct{}) { l.restocked(campaign) }),
		subscribe(c, topicMoney, func(_ string, n withdrawalNotice) { l.withdrawn(n) }),
		subscribe(c, topicAlarm, func(_ string, n alarmNotice) { l.alarm(n) }),
	} {
		if err != nil {
			return fmt.Errorf("subscribing to the other nodes: %w", err)
		}
	}
	return nil
}

func subscribe[T any](c *control, topic string, handle func(campaign string, notice T)) error {
	prefix := c.subject(topic, "")
	_, err := c.nc.Subscribe(prefix+"*", func(m *nats.Msg) {
		var notice T
		if err := json.Unmarshal(m.Data, &notice); err != nil {
			c.log.Warn("a message between nodes cannot be read; are all of one version?", "subject", m.Subject, "err",
				err)
			return
		}
		handle(m.Subject[len(prefix):], notice)
	})
	return err
}
