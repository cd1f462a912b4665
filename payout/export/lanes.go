package export

import (
	"fmt"

	"redrain/rain"
)

// settleLayout reads the layout of the campaign's packets and players.
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
}

// lane returns the reason why a player cannot have won a packet on a shard, or "".
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
