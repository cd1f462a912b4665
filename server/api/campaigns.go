package api

import (
	"context"
	"net/http"

	"redrain/internal/wire"
	"redrain/rain"
)

// campaignView is a campaign as operators see it: as posted, and what has become of it.
type campaignView struct {
	ID string `json:"id"`
	rain.Spec
	State     string       `json:"state"`
	CreatedAt int64        `json:"created_at"`
	ExpiresAt int64        `json:"expires_at"`
	Revision  int64        `json:"revision"`
	Rains     []*wire.Rain `json:"rains"`
	Fault     string       `json:"fault,omitempty"` // why its row in the database makes no sense
	// DroppedAt is when its payouts began to leave the ledger, which its export has; left out: they have not.
	DroppedAt int64 `json:"dropped_at,omitempty"`
}

// stateUnreadable is the state of a campaign whose row in the database makes no sense.
const stateUnreadable = "unreadable"

func viewOf(c *rain.Campaign, now int64) campaignView {
	if c.Fault != "" { // nothing may be computed from what it says of its rains
		return campaignView{
			ID: c.ID, Spec: c.Spec, State: stateUnreadable, CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt,
			Revision: c.Revision, Rains: []*wire.Rain{}, Fault: c.Fault,
		}
	}
	v := campaignView{
		ID: c.ID, Spec: c.Spec, State: c.State(now), CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt,
		Revision: c.Revision,
		Rains:    make([]*wire.Rain, len(c.Rains)),
	}
	for i := range c.Rains {
		v.Rains[i] = wire.RainOf(&c.Rains[i], now, c.Status == rain.Paused)
	}
	return v
}

func (a *API) createCampaign(r *http.Request, who caller, body []byte, key string) (int, any, error) {
	spec := rain.DefaultSpec()
	if err := decode(body, &spec); err != nil {
		return 0, nil, err
	}
	spec.Complete()
	if err := spec.Validate(); err != nil {
		return 0, nil, err
	}
	c, err := a.o.Commands.Create(a.audited(r, who, "campaign.create", nil), spec, key)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, viewOf(c, a.o.Clock()), nil
}

// campaignOf is the campaign that a request's path names.
func (a *API) campaignOf(r *http.Request) (*rain.Campaign, error) {
	return a.o.Campaigns.Get(r.Context(), r.PathValue("id"))
}

func (a *API) campaign(w http.ResponseWriter, r *http.Request, _ caller) error {
	c, err := a.campaignOf(r)
	if err != nil {
		return err
	}
	v := viewOf(c, a.o.Clock())
	if v.DroppedAt, err = a.o.Claims.DroppedAt(r.Context(), c.ID); err != nil {
		return err
	}
	WriteJSON(w, http.StatusOK, v)
	return nil
}

// command is a route of an operator's command that takes no body and answers with the campaign.
func (a *API) command(
	name string,
	do func(c Commands, ctx context.Context, id string) (*rain.Campaign, error),
) handler {
	return func(w http.ResponseWriter, r *http.Request, who caller) error {
		c, err := do(a.o.Commands, a.audited(r, who, "campaign."+name, nil), r.PathValue("id"))
		if err != nil {
			return err
		}
		WriteJSON(w, http.StatusOK, viewOf(c, a.o.Clock()))
		return nil
	}
}

func (a *API) stats(w http.ResponseWriter, r *http.Request, _ caller) error {
	c, err := a.campaignOf(r)
	if err != nil {
		return err
	}
	s, err := a.o.Stats.Stats(r.Context(), c)
	if err != nil {
		return err
	}
	WriteJSON(w, http.StatusOK, s)
	return nil
}

// rebuild restores what Redis has lost of a campaign.
func (a *API) rebuild(w http.ResponseWriter, r *http.Request, who caller) error {
	done, err := a.o.Rebuilder.Rebuild(r.Context(), r.PathValue("id"))
	if len(done.Shards) > 0 { // also with an error: these shards are there again
		a.audit(r, who, "campaign.rebuild", "campaign:"+done.Campaign,
			map[string]any{"shards": done.Shards, "packets": done.Packets, "wins": done.Wins})
	}
	if err != nil {
		return err
	}
	WriteJSON(w, http.StatusOK, done)
	return nil
}
