package api

import (
	"context"
	"encoding/csv"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elnormous/contenttype"

	"redrain/client/openapi"
	"redrain/internal/wire"
	"redrain/payout/export"
	"redrain/payout/ledger"
	"redrain/rain"
	"redrain/server/timeout"
)

// campaignClaims lists a campaign's claims in the order of their packets: those in the ledger, merged with those in
// flight to it.
func (a *API) campaignClaims(q *request) (any, error) {
	ctx, cancel := context.WithTimeout(q.Context(), timeout.Request)
	defer cancel()
	c, err := a.campaignOf(q)
	if err != nil {
		return nil, err
	}
	removed, err := a.o.Claims.RemovedAt(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	if removed != 0 {
		return nil, export.ErrRemoved
	}
	only, err := claimFilterOf(q)
	if err != nil {
		return nil, err
	}
	granted, err := a.grantedOnly(ctx, c, only)
	if err != nil {
		return nil, err
	}
	q.w.Header().Add("Vary", "Accept")
	if prefersCSV(q.Request) {
		return nil, a.claimsCSV(q, c, only, granted)
	}
	p, err := pageOf(q)
	if err != nil {
		return nil, err
	}
	settled, next, err := a.o.Claims.ListClaims(ctx, ledger.ClaimQuery{Campaign: c.ID, After: p.cursor,
		Limit: p.limit, Only: only})
	if err != nil {
		return nil, err
	}
	all, next := mergeClaims(settled, granted, p, next)
	profiles, err := a.profiles(ctx, all)
	if err != nil {
		a.o.Log.WarnContext(ctx, "read players' names; the list has claims without", "campaign", c.ID, "err", err)
	}
	return listOf(all, next, func(c ledger.Claim) openapi.Claim {
		view := claimView(c)
		view.Name, view.Face = profiles[c.User].Name, profiles[c.User].Face
		return view
	}), nil
}

func claimView(c ledger.Claim) openapi.Claim {
	return openapi.Claim{Claim: c.Claim, User: c.User, Packet: strconv.Itoa(c.Packet), Amount: c.Amount, At: c.WonAt,
		State: string(c.State), Held: c.Held, Ticket: c.Ticket}
}

// profiles returns the known display profiles of the players of some claims.
func (a *API) profiles(ctx context.Context, claims []ledger.Claim) (map[string]wire.Profile, error) {
	users := make([]string, len(claims))
	for i, c := range claims {
		users[i] = c.User
	}
	slices.Sort(users)
	return a.o.Profiles(ctx, slices.Compact(users))
}

// claimFilterOf parses the filter of a list of claims.
func claimFilterOf(q *request) (ledger.ClaimFilter, error) {
	only := ledger.ClaimFilter{User: q.query("user"), State: ledger.ClaimState(q.query("state"))}
	var wrong faults
	if text := q.query("packet"); text != "" {
		number, err := strconv.Atoi(text)
		wrong.check(err == nil && strconv.Itoa(number) == text && number >= 0 && number < rain.MaxPackets, "packet",
			"is a packet's number, as the claims have it")
		only.Packet = &number
	}
	states := []ledger.ClaimState{"", ledger.StateGranted, ledger.StateSettled, ledger.StateFailed, ledger.StateDead}
	wrong.check(slices.Contains(states, only.State), "state", "is granted, settled, failed or dead")
	return only, wrong.err()
}

// grantedOnly returns the requested granted claims. If the filter's state excludes the ledger's list, it looks each
// claim up in the ledger, because some may be settled by now.
func (a *API) grantedOnly(ctx context.Context, c *rain.Campaign, only ledger.ClaimFilter) ([]ledger.Claim, error) {
	if only.State == ledger.StateSettled || only.State == ledger.StateDead {
		return nil, nil
	}
	granted, err := a.granted(ctx, c)
	if err != nil {
		return nil, err
	}
	granted = slices.DeleteFunc(granted, func(c ledger.Claim) bool { return !only.Wants(c) })
	if only.State == "" || len(granted) == 0 {
		return granted, nil
	}
	packets := make([]int, len(granted))
	for i, g := range granted {
		packets[i] = g.Packet
	}
	inLedger, err := a.o.Claims.ClaimsOn(ctx, c.ID, packets)
	if err != nil {
		return nil, err
	}
	return except(granted, inLedger), nil
}

// shownWaiting is the number of outbox entries of each shard that are read for claims in flight. Each is a batch of
// wins. More wait only if settlement is far behind, and then the list has the oldest.
const shownWaiting = 200

// granted returns the campaign's wins in the outbox, by packet. They are read before the ledger: a claim that is
// settled meanwhile is in both, and never in neither.
func (a *API) granted(ctx context.Context, c *rain.Campaign) ([]ledger.Claim, error) {
	entries, err := a.o.Outbox.Waiting(ctx, c, shownWaiting)
	if err != nil {
		return nil, err
	}
	refs := make([]rain.EntryRef, len(entries))
	for i, e := range entries {
		refs[i] = e.Ref
	}
	failing, err := a.o.Failing.Failing(ctx, refs)
	if err != nil {
		return nil, err
	}
	var claims []ledger.Claim
	for _, e := range entries {
		state := ledger.StateGranted
		if failing[e.Ref] {
			state = ledger.StateFailed
		}
		at, _, err := e.Ref.Position()
		if err != nil {
			return nil, err
		}
		for _, win := range e.Wins {
			claims = append(claims, ledger.Claim{
				Claim: rain.ClaimID(c.ID, win.Packet), User: win.User, Packet: win.Packet, Amount: win.Amount,
				WonAt: at, State: state,
			})
		}
	}
	slices.SortFunc(claims, func(x, y ledger.Claim) int { return x.Packet - y.Packet })
	return claims, nil
}

// claimant identifies a claim: several players may have a claim on one packet.
type claimant struct {
	packet int
	user   string
}

func claimantOf(c ledger.Claim) claimant { return claimant{c.Packet, c.User} }

// except returns the granted claims that are not among those of the ledger.
func except(granted, inLedger []ledger.Claim) []ledger.Claim {
	known := make(map[claimant]bool, len(inLedger))
	for _, c := range inLedger {
		known[claimantOf(c)] = true
	}
	return slices.DeleteFunc(slices.Clone(granted), func(c ledger.Claim) bool { return known[claimantOf(c)] })
}

// mergeClaims merges granted claims into a page of settled ones. For a claim in both, the ledger's state counts. next
// is the cursor after the settled page, "" for the last; a cursor is the number of the last listed packet. A claim
// keeps its position when it is settled, so no page has it twice and none misses it.
func mergeClaims(settled, granted []ledger.Claim, p page, next string) ([]ledger.Claim, string) {
	after, upTo := -1, math.MaxInt
	if p.cursor != "" {
		after, _ = strconv.Atoi(p.cursor) // the ledger has parsed it as a number
	}
	if next != "" {
		upTo = settled[len(settled)-1].Packet
	}
	all := slices.Clone(settled)
	for _, c := range except(granted, settled) {
		if c.Packet > after && c.Packet <= upTo {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(x, y ledger.Claim) int { return x.Packet - y.Packet })
	end := p.limit
	for end > 0 && end < len(all) && all[end].Packet == all[end-1].Packet {
		end++ // claims on one packet stay together
	}
	if end < len(all) {
		all = all[:end]
		next = strconv.Itoa(all[end-1].Packet)
	}
	return all, next
}

// csvAtOnce is the number of rows of a CSV whose players' names are read in one call.
const csvAtOnce = 500

// claimsCSV streams all requested claims: those of the ledger, and then the granted ones that it does not have.
func (a *API) claimsCSV(q *request, c *rain.Campaign, only ledger.ClaimFilter, granted []ledger.Claim) error {
	q.attach("claims-" + c.ID + ".csv")
	write := func(ctx context.Context, to io.Writer) error {
		waiting := make(map[claimant]bool, len(granted))
		for _, g := range granted {
			waiting[claimantOf(g)] = true
		}
		out := csv.NewWriter(to)
		_ = out.Write([]string{"claim", "user", "packet", "amount", "at", "state", "amount_yuan", "time",
			"nickname", "face"})
		var unnamed error // names are left out after the first failure: each further call could last as long
		rows := make([]ledger.Claim, 0, csvAtOnce)
		flush := func() error {
			var profiles map[string]wire.Profile
			if unnamed == nil {
				if profiles, unnamed = a.profiles(ctx, rows); unnamed != nil {
					a.o.Log.WarnContext(ctx, "read players' names; the CSV has claims without", "campaign", c.ID,
						"err", unnamed)
				}
			}
			for _, c := range rows {
				_ = out.Write([]string{
					inert(c.Claim), inert(c.User), strconv.Itoa(c.Packet), strconv.FormatInt(int64(c.Amount), 10),
					strconv.FormatInt(c.WonAt, 10), string(c.State), c.Amount.String(),
					time.UnixMilli(c.WonAt).UTC().Format("2006-01-02T15:04:05.000Z"),
					inert(profiles[c.User].Name), profiles[c.User].Face,
				}) // Error has it
			}
			rows = rows[:0]
			return out.Error()
		}
		row := func(c ledger.Claim) error {
			delete(waiting, claimantOf(c))
			if rows = append(rows, c); len(rows) < csvAtOnce {
				return nil
			}
			return flush()
		}
		if err := a.o.Claims.EachClaim(ctx, c.ID, only, row); err != nil {
			return err
		}
		for _, g := range granted {
			if waiting[claimantOf(g)] {
				_ = row(g) // Error has it
			}
		}
		_ = flush()
		out.Flush()
		return out.Error()
	}
	return a.stream(q, "write a CSV of claims", "text/csv; charset=utf-8", write)
}

// offered lists the media types of a list of claims, the default first.
var offered = []contenttype.MediaType{
	contenttype.NewMediaType("application/json"), contenttype.NewMediaType("text/csv"),
}

// prefersCSV reports whether a request prefers text/csv to JSON (RFC 9110, section 12.5.1). Without a valid preference
// it returns false.
func prefersCSV(r *http.Request) bool {
	best, _, err := contenttype.GetAcceptableMediaTypeFromHeader(strings.Join(r.Header.Values("Accept"), ", "), offered)
	return err == nil && best.Subtype == "csv"
}

// inert returns a cell that no spreadsheet takes for a formula: an id that begins like one gets an apostrophe before it
// (OWASP, CSV Injection).
func inert(cell string) string {
	if strings.IndexAny(cell, "=+-@＝＋－＠\t\r") == 0 {
		return "'" + cell
	}
	return cell
}
