package cli_test

import (
	"strings"
	"testing"

	"redrain/client"
	"redrain/internal/cli"
	"redrain/internal/wire"
	"redrain/rain"
)

func TestVerifyFindsEveryLie(t *testing.T) {
	lie := func(change func(*client.Fairness)) func(*fake) {
		return func(f *fake) {
			fair := f.fairness["r1"]
			change(&fair)
			f.fairness["r1"] = fair
		}
	}
	other := rain.Seed{7}
	tests := map[string]struct {
		do   func(*fake)
		args string
		want string // part of the output; "" where the rain is good
	}{
		"the truth":          {args: "--rain r1"},
		"a noted commitment": {args: "--rain r1 --commitment " + strings.ToUpper(seed.Commitment())},
		"another commitment": {args: "--rain r1 --commitment " + other.Commitment(),
			want: "the seed that was revealed gives the commitment " + seed.Commitment()},
		"another seed": {do: lie(func(f *client.Fairness) { f.Seed = other.Hex() }),
			want: "gives the commitment " + other.Commitment()},
		"no seed at all": {do: lie(func(f *client.Fairness) { f.Seed = "xyz" }),
			want: "a seed is 64 hexadecimal digits"},
		"commitment changed": {do: lie(func(f *client.Fairness) { f.Commitment = other.Commitment() }),
			want: "the server now reports the commitment " + other.Commitment()},
		"both changed": {do: lie(func(f *client.Fairness) {
			f.Commitment, f.Seed = other.Commitment(),
				other.Hex()
		}), want: "NOT AS ANNOUNCED"},
		"digest": {do: lie(func(f *client.Fairness) { f.Schedule.Digest = "00" }),
			want: "the drops have the digest 00"},
		"drops": {do: lie(func(f *client.Fairness) { f.Schedule.Drops++ }),
			want: "81 drops in 40 waves are claimed, the seed gives 80 in 40"},
		"fewer decoys": {do: lie(func(f *client.Fairness) { f.Schedule.DecoyPercent = 0 }),
			want: "the schedule differs from the announced rain"},
		"another rain's": {do: lie(func(f *client.Fairness) { f.Schedule.Rain = "r2" }),
			want: "the schedule differs from the announced rain"},
		"one that never ends": {do: lie(func(f *client.Fairness) { f.Schedule.DurationMS = 1 << 60 }),
			want: "the schedule cannot be that of a rain: duration_ms"},
		"dense without bounds": {do: lie(func(f *client.Fairness) { f.Schedule.DropsPerSecond = 1 << 40 }),
			want: "the schedule cannot be that of a rain: drops_per_second"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			if tc.do != nil {
				tc.do(f)
			}
			got := run(t, f.at(), append([]string{"verify", "c1"}, strings.Fields(tc.args)...)...)
			if tc.want == "" {
				if got.code != cli.ExitOK || !strings.Contains(got.stdout, "as announced") || got.stderr != "" {
					t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
				}
				return
			}
			if got.code != cli.ExitFailure || !strings.Contains(got.stdout, tc.want) ||
				strings.Contains(got.stdout, "  as announced") ||
				got.stderr != "redrain: campaign c1: not every rain is what its commitment promised\n" {
				t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}

func TestVerifyBeforeTheSeedIsRevealed(t *testing.T) {
	f := newFake(t)
	fair := f.fairness["r1"]
	fair.Seed, fair.Schedule.Digest = "", ""
	f.fairness["r1"] = fair
	got := run(t, f.at(), "verify", "c1")
	got.exits(t, cli.ExitFailure, "redrain: rain r1: its seed is not revealed yet; try again in a second\n")
	f.campaign.Rains = f.campaign.Rains[1:]
	got = run(t, f.at(), "verify", "c1")
	got.exits(t, cli.ExitFailure, "redrain: no rain of the campaign has ended yet\n")
}

// TestVerifyOfAPlayer: every beat is computed anew, and a single claim that the seed did not grant is named.
func TestVerifyOfAPlayer(t *testing.T) {
	r := rain.Rain{ID: "r1", Campaign: "c1", StartsAt: theDay, Settings: rain.DefaultRain().Settings,
		OddsRecord: "0:300000000 4:600000000", Seed: seed}
	r.Odds = rain.OddsAuto
	var lucky, unlucky string // tickets of u1
	for beat := range r.Beats() {
		if ticket := r.TicketOf(rain.DropID{N: beat * 4}).String(); r.LuckyIn("u1", beat) {
			lucky = ticket
		} else {
			unlucky = ticket
		}
	}
	for name, tc := range map[string]struct {
		ticket string
		lie    func(*client.Fairness)
		want   string // the fault; "": none
	}{
		"the truth": {ticket: lucky},
		"an altered answer": {ticket: unlucky,
			want: "claim c1-7 of player u1, ticket " + unlucky + ": the rain's seed did not let the player win"},
		"a drop":         {ticket: "3.1", want: "players have draws in the beats of this rain"},
		"another rain's": {ticket: "b4000"},
		"a record of no beats": {ticket: lucky, want: "the record of the odds is invalid",
			lie: func(f *client.Fairness) { f.Schedule.OddsRecord[1].Beat = 0 }},
		"other odds": {ticket: lucky, want: "the schedule differs from the announced rain",
			lie: func(f *client.Fairness) { f.Schedule.Odds, f.Schedule.OddsRecord = rain.OddsOne/2, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.campaign.Rains[0] = *wire.RainOf(&r, theDay+60_000, false)
			fair := fairnessOf(r)
			fair.Schedule.OddsRecord, _ = r.OddsRecord.List()
			if tc.lie != nil {
				tc.lie(&fair)
			}
			f.fairness["r1"] = fair
			f.claims = []client.Claim{{Claim: "c1-7", User: "u1", Packet: "7", Amount: 5, Ticket: tc.ticket},
				{Claim: "c2-7", User: "u1", Packet: "7", Amount: 5, Ticket: unlucky}} // of another campaign
			got := run(t, f.at(), "verify", "c1", "r1", "--user", "u1")
			if tc.want == "" {
				if got.code != cli.ExitOK || strings.Count(got.stdout, "\nbeat ") != int(r.Beats()) ||
					!strings.Contains(got.stdout, "lucky") || !strings.Contains(got.stdout, "odds 0.6") {
					t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
				}
				return
			}
			if got.code != cli.ExitFailure || !strings.Contains(got.stdout, tc.want) {
				t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}
