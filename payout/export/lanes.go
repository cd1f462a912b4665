package export

import (
	"fmt"

	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// settleLayout reads where the campaign's packets and players are, and holds the moves and reclaims against it.
func (c *checker) settleLayout(r row) {
	spec := &c.campaign.Spec
	spec.Shards, spec.GuestsShare = int(r.number("shards")), rain.Share(r.number("guests_share"))
	if spec.Shards < 1 || spec.Shards > rain.MaxShards || spec.GuestsShare.String() == "invalid" ||
		spec.GuestsShare != 0 && spec.Shards < rain.LaneCount {
		c.fault("the campaign has %d shards, and %d millionths for guests", spec.Shards, int64(spec.GuestsShare))
		return
	}
	layout := spec.Layout()
	c.layout = &layout
	for _, m := range c.rows["move"] {
		from, to := m.number("from_shard"), m.number("to_shard")
		switch {
		case !c.hasShard(from) || !c.hasShard(to):
			c.fault("move %s: there are no shards %d and %d", m.text("id"), from, to)
		case layout.LaneOfShard(int(from)) != layout.LaneOfShard(int(to)):
			c.fault("move %s goes from shard %d to shard %d: one is the guests', the other one the players'",
				m.text("id"), from, to)
		}
	}
}

func (c *checker) hasShard(shard int64) bool { return shard >= 0 && shard < int64(c.layout.Shards) }

// lane says why a player cannot have won a packet on a shard; "" where they can.
func (c *checker) lane(user string, packet, shard int64) string {
	switch {
	case c.layout == nil:
		return ""
	case shard != int64(c.layout.Home(user)):
		return fmt.Sprintf("it says shard %d, but the player's is shard %d", shard, c.layout.Home(user))
	case !c.layout.MayHave(user, int(packet)):
		return "guests and players have packets of their own, and this one is not of the player's lane"
	}
	return ""
}

// reclaimLane holds what a shard gave back against its lane. What no shard gave back is of either: the whole budget,
// and what a dismissed letter kept, which may name any packet.
func (c *checker) reclaimLane(shard int64, given rain.Numbers) {
	switch {
	case c.layout == nil || shard == posting.WholeCampaign || shard == posting.DismissedLetter:
		return
	case !c.hasShard(shard):
		c.fault("the reclaim of shard %d: there is no such shard", shard)
		return
	}
	lane := c.layout.LaneOfShard(int(shard))
	if c.layout.ByLane(given)[lane] != given.Count() {
		c.fault("the reclaim of shard %d gives back packets of the other lane: guests and players have packets of "+
			"their own", shard)
	}
}
