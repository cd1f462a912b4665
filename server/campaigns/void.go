package campaigns

import (
	"fmt"
	"strings"

	"redrain/payout/ledger/posting"
	"redrain/server/cluster"
)

// AlarmVoid says that wins came too late to be paid. Under --confirm stream their players were not told; otherwise
// they may have been.
func AlarmVoid(bus *cluster.Bus, letters []posting.DeadLetter) {
	claims := map[string][]string{}
	for _, d := range letters {
		if d.User != "" { // a shard's rest that was on its way back is on offer again, and nobody was promised it
			claims[d.Campaign] = append(claims[d.Campaign], d.Claim)
		}
	}
	for campaign, list := range claims {
		bus.Alarm("void_win", campaign, fmt.Sprintf(
			"%d wins from before redis lost the campaign came too late to be paid; "+
				"their players may have been told, unless --confirm is stream: %s",
			len(list),
			strings.Join(list, " "),
		))
	}
}
