package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/internal/testenv"
	"redrain/rain"
)

var update = flag.Bool("update", false, "write the golden files anew")

// one is an example of each message of the server.
func examples() map[string]any {
	var seed rain.Seed
	seed[0] = 7
	r := &rain.Rain{
		ID: "r1", Campaign: "c1", StartsAt: 1_763_712_003_000, Settings: rain.DefaultRain().Settings, Seed: seed,
	}
	c := &rain.Campaign{
		ID: "c1", Status: rain.Open, ExpiresAt: 1_763_798_400_000, Rains: []rain.Rain{*r},
		Spec: rain.Spec{Name: "Gala", Budget: 1_000_000, Packets: 5_000, WinsPerUser: 1},
	}
	paused := *c
	paused.Status = rain.Paused
	const now = 1_763_712_000_000
	return map[string]any{
		"welcome": Welcome{
			Type: TypeWelcome, ID: "1", User: "u1", Profile: Profile{Name: "锦鲤 08", Face: "koi"},
			ServerTime: now, Campaign: CampaignOf(c, now),
			Rain:        RainOf(r, now, false),
			Claims:      []Claim{{Claim: "c1-17", Packet: "17", Amount: 88, State: "settled"}},
			ClaimsTotal: 1, Limits: Limits{TapsPerSecond: 20}, ExpiresAt: now + 3_600_000,
		},
		"welcome_no_rain": Welcome{Type: TypeWelcome, ID: `"a"`, User: "u1", ServerTime: now,
			Campaign: CampaignOf(c, now), Claims: []Claim{}},
		"campaign": CampaignChange{Type: TypeCampaign, Campaign: CampaignOf(&paused, now)},
		"rain":     RainChange{Type: TypeRain, Rain: RainOf(r, now+4_000, false)},
		"wave":     WaveOf(r.ID, r.Wave(7)),
		"result_won": Result{
			Type: TypeResult, ID: "3", Drop: "7.1", Outcome: "won", Amount: 88, Packet: "17",
			Claim: rain.ClaimID("c1", 17), Luck: 93,
		},
		"result_empty": Result{Type: TypeResult, ID: "3", Drop: "7.1", Outcome: "empty"},
		"settled":      Settled{Type: TypeSettled, Claims: []SettledClaim{{Claim: "c1-17", Amount: 88}}, Balance: 88},
		"withdrawal": WithdrawalChange{
			Type: TypeWithdrawal, Balance: 38,
			Withdrawal: Withdrawal{ID: "w1", User: "u1", Amount: 50, State: "paid", Stage: "paid",
				CreatedAt:  now - 1_200,
				FinishedAt: now, Reference: "bank-7"},
		},
		"withdrawal_failed": WithdrawalChange{
			Type: TypeWithdrawal, Balance: 88,
			Withdrawal: Withdrawal{ID: "w1", User: "u1", Amount: 50, State: "failed", Stage: "refused",
				CreatedAt:  now - 1_200,
				FinishedAt: now, Reason: "the account is closed"},
		},
		"room": Room{
			Type: TypeRoom, T: now, Online: 300, Stock: 4_998, Won: 2, AmountWon: 608,
			Winners: []Winner{{User: Mask("张三"), Amount: 88},
				{User: Mask("7"), Profile: Profile{Name: "小雨", Avatar: "https://img.example/7", Face: "koi"},
					Amount: 5}},
			Top: []Winner{{User: Mask("guest-0123456789abcdef1a2b"), Amount: 520}, {User: Mask("张三"), Amount: 88}},
		},
		"pong": Pong{Type: TypePong, ID: "4", T: now, ServerTime: now + 12},
		"error": Error{Type: TypeError, ID: "3", Code: CodeMalformed,
			Message: "field drop has the wrong kind of value"},
		"token_renewed": Renewed{Type: TypeRenewed, ID: "9", ExpiresAt: now + 7_200_000},
		"goodbye":       Goodbye{Type: TypeGoodbye, Reason: "shutdown", ReconnectAfterMS: 2_750},
		"goodbye_waiting": Goodbye{Type: TypeGoodbye, Reason: "waiting", ReconnectAfterMS: 8_700, Position: 812,
			WaitMS: 61_000},
	}
}

func TestServerMessagesMatchTheGoldenFiles(t *testing.T) {
	for name, message := range examples() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".json")
			got := append(Encode(message), '\n')
			if *update {
				testenv.Must(t, os.WriteFile(path, got, 0o600))
			}
			want := testenv.Got(os.ReadFile(path)).Must(t)
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("the wire has changed (-golden +now):\n%s", diff)
			}
		})
	}
}

func TestClientMessagesMatchTheGoldenFiles(t *testing.T) {
	for name, want := range map[string]Request{
		"client_hello": {Type: TypeHello, ID: "1", Token: "eyJ…", Campaign: "c1"},
		"client_join":  {Type: TypeJoin, ID: "2", Campaign: "c2"},
		"client_tap":   {Type: TypeTap, ID: "3", Drop: "7.3"},
		"client_token": {Type: TypeToken, ID: "9", Token: "eyJ…"},
		"client_ping":  {Type: TypePing, ID: `"four"`, T: 1_763_712_000_000},
	} {
		data := testenv.Got(os.ReadFile(filepath.Join("testdata", name+".json"))).Must(t)
		got, err := ParseRequest(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestParseRequestRefuses(t *testing.T) {
	for text, want := range map[string]error{
		``:                               ErrMalformed,
		`null`:                           ErrMalformed,
		`[]`:                             ErrMalformed,
		`"tap"`:                          ErrMalformed,
		`{"type":"tap"`:                  ErrMalformed,
		`{"type":7}`:                     ErrMalformed,
		`{}`:                             ErrMalformed,
		`{"type":"tap","drop":7.3}`:      ErrMalformed,
		`{"type":"tap","id":{}}`:         ErrMalformed,
		`{"type":"tap","id":true}`:       ErrMalformed,
		`{"type":"ping","t":"now"}`:      ErrMalformed,
		`{"type":"dance","id":9}`:        ErrUnknownType,
		`{"type":"tap","id":9,"drop":7}`: ErrMalformed,
		`{"type":"tap","drop":7,"id":9}`: ErrMalformed,
		`{"type":"tap"}{"type":"x"}`:     ErrMalformed,
	} {
		r, err := ParseRequest([]byte(text))
		testenv.WantErr(t, err, want, text, "got")
		if strings.Contains(text, `"id":9`) && r.ID != "9" {
			t.Errorf("%s: the error cannot name the request: id %q", text, r.ID)
		}
	}
}

// TestErrorsSayWhatIsWrong: the text reaches the author of a client.
func TestErrorsSayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		``:                         "not a message of redrain.v1: not JSON (at byte 0)",
		`{"type":"tap"`:            "not a message of redrain.v1: not JSON (at byte 13)",
		`null`:                     "not a message of redrain.v1: not an object",
		`[]`:                       "not a message of redrain.v1: not an object",
		`{}`:                       "not a message of redrain.v1: type is missing",
		`{"type":7}`:               "not a message of redrain.v1: field type has the wrong kind of value",
		`{"type":"tap","id":true}`: "not a message of redrain.v1: id is a number or a string",
		`{"type":"token"}`:         "not a message of redrain.v1: token is missing",
		`{"type":"tap","id":3}`:    "not a message of redrain.v1: drop is missing",
		`{"type":"tap","drop":"7.3","drop":"7.4"}`:   "not a message of redrain.v1: field drop is there twice",
		`{"type":"tap","Drop":"7.3"}`:                "not a message of redrain.v1: drop is missing",
		`{"type":"hello","x":{"y":1,"y":2}}`:         "not a message of redrain.v1: field y is there twice",
		`{"type":"dance"}`:                           "unknown message type; use hello, join, tap, ping or token",
		`{"id":1` + strings.Repeat("0", MaxID) + `}`: "not a message of redrain.v1: id is longer than 64 characters",
	} {
		if _, err := ParseRequest([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestIDsComeBackAsTheyWere: numbers and strings, up to the limit; null and none are no id.
func TestIDsComeBackAsTheyWere(t *testing.T) {
	long, escaped := strings.Repeat("张", MaxID), strings.Repeat(`\ud83e\udde7`, MaxID) // a red envelope
	for text, want := range map[string]ID{
		`{"type":"ping"}`: "", `{"type":"ping","id":null}`: "", `{"type":"ping","id":-5}`: "-5",
		`{"type":"ping","id":0}`: "0", `{"type":"ping","id":9}`: "9", `{"type":"ping","id":"x"}`: `"x"`,
		`{"type":"ping","id":` + strings.Repeat("1", MaxID) + `}`: ID(strings.Repeat("1", MaxID)),
		`{"type":"ping","id":"` + long + `"}`:                     ID(`"` + long + `"`),
		`{"type":"ping","id":"` + escaped + `"}`:                  ID(`"` + escaped + `"`),
	} {
		testenv.Equal(t, testenv.Got(ParseRequest([]byte(text))).Must(t).ID, want, "%s", text)
	}
	for _, text := range []string{`{"type":"ping","id":"` + long + `a"}`, `{"type":"ping","id":"` + escaped + `a"}`} {
		testenv.WantFail(t, testenv.Err(ParseRequest([]byte(text))), text, "is taken")
	}
	id := ID("1")
	if err := json.Unmarshal([]byte("null"), &id); err != nil || id != "" {
		t.Errorf("null leaves the id %q (%v)", id, err)
	}
	testenv.Equal(t, string(Encode(ID(""))), "null", "no id is written as")
}

func TestNoRainHasNoView(t *testing.T) {
	testenv.Equal(t, RainOf(nil, 0, false), nil, "it is")
}

func TestEncodeRefusesWhatIsNoMessage(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, "wire: ") {
			t.Errorf("the panic is %q", text)
		}
	}()
	Encode(make(chan int))
}

func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"张三": "张*", "g": "g*", "": "*", "guest-0123456789abcdef1a2b": "g*1a2b",
		// Not an id of this server: it may be a name or a telephone number that another issuer has signed.
		"guest": "g*", "guest-7": "g*", "guest-13812345678": "g*", "guest-张三": "g*", "guest-0123456789ABCDEF1A2B": "g*",
		"guest-0123456789abcdef1a2b3": "g*", "Guest-0123456789abcdef1a2b": "G*",
	} {
		testenv.Equal(t, Mask(in), want, "Mask(%q) =", in)
	}
}

// FuzzParseRequest: no input panics. The answer to an accepted request repeats its id as valid JSON.
func FuzzParseRequest(f *testing.F) {
	files, _ := filepath.Glob("testdata/client_*.json")
	for _, name := range files {
		data := testenv.Got(os.ReadFile(name)).Must(f)
		f.Add(data)
	}
	f.Add([]byte(`{"type":"tap","id":-1e9,"drop":"0.0","x":[1,2]}`))
	f.Add([]byte("{\"type\":\"hello\",\"token\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRequest(data)
		if err != nil {
			return
		}
		back := Encode(Pong{Type: TypePong, ID: r.ID, T: r.T})
		if !json.Valid(back) || bytes.ContainsAny(back, "\n") {
			t.Errorf("%q came back as %q", data, back)
		}
	})
}
