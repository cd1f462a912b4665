package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"redrain/rain"
)

// TestASnapshotNamesSettingsThatAreNotTheCampaigns: at the campaign's revision, a snapshot names each changed setting.
// At another revision it names only changed fixed settings.
func TestASnapshotNamesSettingsThatAreNotTheCampaigns(t *testing.T) {
	t.Parallel()
	falling := rain.Rain{
		ID: "r", FirstWave: 7, StartsAt: 1_000,
		Settings: rain.Settings{DurationMS: 500, FallMS: 300, Pacing: rain.PacingEven},
	}
	c := &rain.Campaign{ID: "c", Spec: rain.Spec{Packets: 10, WinsPerUser: 3}, Status: rain.Paused, Revision: 4,
		Rains: []rain.Rain{falling}}
	paused := map[string]string{
		"rev": "4", "status": "paused", "left": "0", "won": "0", "last": "0-0", "moves": "0", "epoch": "0",
		"base_wave": "7", "base": "9",
	}
	settings := append(campaignFields(c), rainFields(&falling)...)
	for pair := range slices.Chunk(settings, 2) {
		paused[fmt.Sprint(pair[0])] = fmt.Sprint(pair[1])
	}
	if paused["wins_per_user"] != "3" || paused["first_wave"] != "7" || paused["opens"] != "1000" ||
		paused["closes"] != "2800" || paused["paced"] != "1" || paused["beat_ms"] != "0" {
		t.Errorf("the settings are %v", paused)
	}
	closed := maps.Clone(paused)
	maps.Copy(closed, map[string]string{"status": "closed", "rev": "9007199254740991", "first_wave": "", "opens": "0",
		"closes": "0"})
	older := maps.Clone(paused)
	maps.Copy(older, map[string]string{"status": "open", "rev": "3", "first_wave": "", "opens": "0"})
	type test struct {
		of           map[string]string
		field, value string
		want         string // begins what is altered, "" where nothing is
	}
	tests := map[string]test{
		"as it should be":       {of: paused},
		"closed":                {of: closed},
		"of an earlier version": {of: older},
		"opened": {of: paused, field: "status", value: "open",
			want: "the state's status is \"open\""},
		"closed, but not for good": {of: paused, field: "status", value: "closed", want: "the state's rev is \"4\""},
		"no more updates":          {of: paused, field: "rev", value: "9007199254740991", want: "the state's status"},
		"closed, then opened": {of: closed, field: "status", value: "open",
			want: "the state's status is \"open\""},
		"closed, then newer":      {of: closed, field: "rev", value: "5", want: "the state's rev is \"5\""},
		"a status that is none":   {of: older, field: "status", value: "ajar", want: "the state's status is \"ajar\""},
		"more wins, once closed":  {of: closed, field: "wins_per_user", value: "4", want: "the state's wins_per_user"},
		"more wins, once earlier": {of: older, field: "wins_per_user", value: "4", want: "the state's wins_per_user"},
	}
	for pair := range slices.Chunk(settings, 2) {
		field := fmt.Sprint(pair[0])
		tests["another "+field] = test{of: paused, field: field, value: "99",
			want: "the state's " + field + " is \"99\""}
	}
	for name, tc := range tests {
		state := maps.Clone(tc.of)
		if tc.field != "" {
			state[tc.field] = tc.value
		}
		var pairs []any
		for field, value := range state {
			pairs = append(pairs, field, value)
		}
		s, err := parseSnapshot(c, 0, []any{pairs, []any{"."}, []any{}, "0-0"})
		if err != nil || len(s.Unreadable) > 0 {
			t.Fatalf("%s: %+v, %v", name, s, err)
		}
		if tc.want == "" && len(s.Altered) > 0 || tc.want != "" &&
			(len(s.Altered) != 1 || !strings.HasPrefix(s.Altered[0], tc.want)) {
			t.Errorf("%s: %q, want %q", name, s.Altered, tc.want)
		}
	}
}
