package cli_test

import (
	"strings"
	"testing"

	"redrain/internal/cli"
	"redrain/internal/operator"
	"redrain/rain"
)

func TestVerifyFindsEveryLie(t *testing.T) {
	lie := func(change func(*operator.Fairness)) func(*fake) {
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
		"another seed": {do: lie(func(f *operator.Fairness) { f.Seed = other.Hex() }),
			want: "gives the commitment " + other.Commitment()},
		"no seed at all": {do: lie(func(f *operator.Fairness) { f.Seed = "xyz" }),
			want: "a seed is 64 hexadecimal digits"},
		"commitment changed": {do: lie(func(f *operator.Fairness) { f.Commitment = other.Commitment() }),
			want: "the commitment is now said to be " + other.Commitment()},
		"both changed": {do: lie(func(f *operator.Fairness) {
			f.Commitment, f.Seed = other.Commitment(),
				other.Hex()
		}), want: "NOT AS ANNOUNCED"},
		"digest": {do: lie(func(f *operator.Fairness) { f.Schedule.Digest = "00" }),
			want: "the drops have the digest 00"},
		"drops": {do: lie(func(f *operator.Fairness) { f.Schedule.Drops++ }),
			want: "81 drops in 40 waves are claimed, the seed gives 80 in 40"},
		"fewer decoys": {do: lie(func(f *operator.Fairness) { f.Schedule.DecoyPercent = 0 }),
			want: "the schedule is not that of the rain as it was announced"},
		"another rain's": {do: lie(func(f *operator.Fairness) { f.Schedule.Rain = "r2" }),
			want: "the schedule is not that of the rain as it was announced"},
		"one that never ends": {do: lie(func(f *operator.Fairness) { f.Schedule.DurationMS = 1 << 60 }),
			want: "the schedule cannot be that of a rain: duration_ms"},
		"dense without bounds": {do: lie(func(f *operator.Fairness) { f.Schedule.DropsPerSecond = 1 << 40 }),
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
	if want := "redrain: rain r1: its seed is not revealed yet; try again in a second\n"; got.code != cli.ExitFailure ||
		got.stderr != want {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
	f.campaign.Rains = f.campaign.Rains[1:]
	got = run(t, f.at(), "verify", "c1")
	if want := "redrain: no rain of the campaign has ended yet\n"; got.code != cli.ExitFailure || got.stderr != want {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
}
