package store

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"redrain/internal/testenv"
	"redrain/rain"
)

// A proof is made of snapshots. So a snapshot names its unreadable parts, and they hide no other ones.
func TestASnapshotNamesWhatCannotBeRead(t *testing.T) {
	c := &rain.Campaign{ID: "c", Spec: rain.Spec{Packets: 1_000}}
	state := func(pairs ...any) []any {
		all := []any{"rev", "1", "left", "300", "won", "2", "last", "5-1", "moves", "3", "epoch", "17",
			"status", "open"}
		for _, text := range campaignFields(c) {
			all = append(all, fmt.Sprint(text))
		}
		return append(all, pairs...)
	}
	stock, lent := []any{"3-7", "20-20", ".", "90-99"}, []any{"", "", "m1", "2 3 17 8-9 30-30"}
	whole := rain.ShardSnapshot{
		Shard: 4, Found: true, Epoch: 17, Left: 300, Won: 2, Moves: 3, LastEntry: "5-1", NewestEntry: "5-2",
		Revision: 1,
		Stock:    rain.Numbers{{First: 3, Last: 7}, {First: 20, Last: 20}},
		Lent: []rain.Lent{{Move: "m1", To: 2, Number: 3, Epoch: 17,
			Numbers: rain.Numbers{{First: 8, Last: 9}, {First: 30, Last: 30}}}},
	}
	got, err := parseSnapshot(c, 4, []any{state(), stock, lent, "5-2"})
	if err != nil || !reflect.DeepEqual(got, whole) {
		t.Errorf("%+v (%v), want %+v", got, err, whole)
	}
	// A shard that is being restored has a stock, but nothing of it can be won.
	got, err = parseSnapshot(c, 4, []any{[]any{"status", "rebuilding"}, stock, lent, ""})
	if err != nil || !reflect.DeepEqual(got, rain.ShardSnapshot{Shard: 4}) {
		t.Errorf("being restored: %+v (%v)", got, err)
	}
	for name, bad := range map[string][]any{
		"nothing":            nil,
		"nothing newest":     {state(), stock, lent},
		"a fifth":            {state(), stock, lent, "", "x"},
		"no state":           {"x", stock, lent, ""},
		"half a pair":        {state("x"), stock, lent, ""},
		"a field's number":   {state(int64(1), "x"), stock, lent, ""},
		"a value's number":   {state("x", int64(1)), stock, lent, ""},
		"a stock in words":   {state(), "3", lent, ""},
		"a stock of numbers": {state(), []any{int64(3), "."}, lent, ""},
		"lent in words":      {state(), stock, "x", ""},
		"half a move":        {state(), stock, []any{"m"}, ""},
		"newest, a number":   {state(), stock, lent, int64(5)},
	} {
		testenv.WantErr(t, testenv.Err(parseSnapshot(c, 4, bad)), errReply, name, "read as")
	}
	got, err = parseSnapshot(c, 4, []any{state(), slices.Repeat([]any{"1-1"}, mostRanges+1), lent, "5-2"})
	if err != nil || !got.Found || !slices.Equal(got.Unreadable, []string{"the stock is in more than 10000 pieces"}) ||
		!reflect.DeepEqual(got.Lent, whole.Lent) {
		t.Errorf("a stock in too many pieces: %+v (%v)", got.Unreadable, err)
	}
	for name, bad := range map[string][]any{
		"a stock without an end":    {state(), []any{"3-7", "20-20"}, lent},
		"two ranges in one":         {state(), append([]any{"3-7 9-9"}, stock...), lent},
		"an empty range":            {state(), append([]any{""}, stock...), lent},
		"a packet of nobody":        {state(), append([]any{"3-1000"}, stock...), lent},
		"given back, in words":      {state(), append(slices.Clone(stock), "x"), lent},
		"two ends":                  {state(), append(slices.Clone(stock), "."), lent},
		"left":                      {state("left", "x"), stock, lent},
		"revision":                  {state("rev", "x"), stock, lent},
		"won":                       {state("won", ""), stock, lent},
		"moves":                     {state("moves", "-1"), stock, lent},
		"epoch":                     {state("epoch", "01"), stock, lent},
		"last":                      {state("last", "5"), stock, lent},
		"a move to nowhere":         {state(), stock, append([]any{"m", "x 3 17 8-9"}, lent...)},
		"a move to no shard":        {state(), stock, append([]any{"m", "100000 3 17 8-9"}, lent...)},
		"a move of nothing":         {state(), stock, append([]any{"m", "2 3 17 "}, lent...)},
		"a move without a range":    {state(), stock, append([]any{"m", "2 3 17"}, lent...)},
		"a move without its number": {state(), stock, append([]any{"m", "2 x 17 8-9"}, lent...)},
		"a move without an epoch":   {state(), stock, append([]any{"m", "2 3 x 8-9"}, lent...)},
		"a move of words":           {state(), stock, append([]any{"m", "2 3 17 x"}, lent...)},
	} {
		got, err := parseSnapshot(c, 4, append(bad, "5-2"))
		if err != nil || len(got.Unreadable) != 1 || !reflect.DeepEqual(got.Stock, whole.Stock) ||
			!reflect.DeepEqual(got.Lent, whole.Lent) {
			t.Errorf("%s: read as %+v (%v)", name, got, err)
		}
	}
}

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
		want         string // prefix of the reported fault; "" if there is none
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
