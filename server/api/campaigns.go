package api

import (
	"context"
	"net/http"

	"redrain/internal/openapi"
	"redrain/internal/wire"
	"redrain/rain"
	"redrain/server/campaigns"
)

// stateUnreadable is the state of a campaign whose row in the database makes no sense.
const stateUnreadable = "unreadable"

// viewOf is a campaign as operators see it: as posted, and what has become of it.
func viewOf(c *rain.Campaign, now int64) openapi.Campaign {
	v := openapi.Campaign{
		ID: c.ID, NewCampaign: c.Spec, State: stateUnreadable, CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt,
		Revision: c.Revision, Rains: []openapi.Rain{}, Fault: c.Fault,
	}
	if c.Fault != "" { // nothing may be computed from its rains
		return v
	}
	v.State = c.State(now)
	for i := range c.Rains {
		v.Rains = append(v.Rains, *wire.RainOf(&c.Rains[i], now, c.Status == rain.Paused))
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
	return http.StatusCreated, a.viewNow(c), nil
}

// viewNow is a campaign as operators see it now.
func (a *API) viewNow(c *rain.Campaign) openapi.Campaign { return viewOf(c, a.o.Clock()) }

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
	v.DroppedAt, err = a.o.Claims.DroppedAt(r.Context(), c.ID)
	return answer(w, v, err)
}

// command is a route of an operator's command that takes no body and answers with the campaign.
func (a *API) command(
	name string,
	do func(c *campaigns.Service, ctx context.Context, id string) (*rain.Campaign, error),
) handler {
	return func(w http.ResponseWriter, r *http.Request, who caller) error {
		c, err := do(a.o.Commands, a.audited(r, who, "campaign."+name, nil), r.PathValue("id"))
		return answerAs(w, c, err, a.viewNow)
	}
}

func (a *API) stats(w http.ResponseWriter, r *http.Request, _ caller) error {
	c, err := a.campaignOf(r)
	if err != nil {
		return err
	}
	s, err := a.o.Stats.Stats(r.Context(), c)
	return answer(w, s, err)
}

// rebuild restores what Redis has lost of a campaign.
func (a *API) rebuild(w http.ResponseWriter, r *http.Request, who caller) error {
	done, err := a.o.Rebuilder.Rebuild(r.Context(), r.PathValue("id"))
	if len(done.Shards) > 0 { // also with an error: these shards are there again
		a.audit(r, who, "campaign.rebuild", "campaign:"+done.Campaign,
			map[string]any{"shards": done.Shards, "packets": done.Packets, "wins": done.Wins})
	}
	return answer(w, done, err)
}
