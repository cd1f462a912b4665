package login_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/altcha-org/altcha-lib-go"

	"redrain/internal/testenv"
	"redrain/server/login"
)

func TestSiteverify(t *testing.T) {
	var asked map[string]string
	var status int
	var body string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s, %v", r.Method, err)
		}
		asked = map[string]string{}
		for k, v := range r.PostForm {
			asked[k] = strings.Join(v, "|")
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(service.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s := login.Turnstile
	s.Endpoint = service.URL
	v := login.NewSiteverify(s, "site", func() string { return "0x1" }, transport)

	for _, c := range []struct {
		status int
		body   string
		want   error // nil: a fault, nothing is decided
		good   bool
	}{
		{200, `{"success":true,"hostname":"redrain.example"}`, nil, true},
		{200, `{"success":false,"error-codes":["timeout-or-duplicate"]}`, login.ErrProofFailed, false},
		{400, `{"success":false,"error-codes":["invalid-input-response"]}`, login.ErrProofFailed, false},
		{200, `{"success":false,"error-codes":["invalid-input-secret"]}`, nil, false},
		{200, `{"success":"true"}`, nil, false},
		{200, `{}`, nil, false},
		{500, `oops`, nil, false},
		{302, ``, nil, false},
		{200, `{"x":"` + strings.Repeat("a", 1<<20) + `","success":true}`, nil, false},
	} {
		status, body = c.status, c.body
		err := v.Check(t.Context(), "192.0.2.1", "proof")
		decided := err == nil || errors.Is(err, login.ErrProofFailed)
		if (err == nil) != c.good || decided != (c.good || c.want != nil) {
			t.Errorf("%d %.60s: %v, want %v", c.status, c.body, err, c.want)
		}
		if asked["secret"] != "0x1" || asked["response"] != "proof" || asked["remoteip"] != "192.0.2.1" {
			t.Errorf("asked %v", asked)
		}
	}
	asked, status, body = nil, 200, `{"success":true}`
	if err := v.Check(t.Context(), "a", ""); !errors.Is(err, login.ErrProofMissing) || asked != nil {
		t.Errorf("none: %v, asked %v", err, asked)
	}
	huge := strings.Repeat("x", 5000)
	if err := v.Check(t.Context(), "a", huge); !errors.Is(err, login.ErrProofFailed) || asked != nil {
		t.Errorf("a huge one: %v, asked %v", err, asked)
	}
	if err := v.Check(t.Context(), "2001:db8:1:2::", "proof"); err != nil || asked["remoteip"] != "" {
		t.Errorf("a network as an address: %v, asked %v", err, asked)
	}
	service.Close()
	if err := v.Check(t.Context(), "a", "proof"); err == nil || errors.Is(err, login.ErrProofFailed) {
		t.Errorf("away: %v", err)
	}
}

// buckets are buckets into which nothing flows during a test.
type buckets struct {
	taken map[string]float64
	err   error
}

func (b *buckets) Allow(_ context.Context, name, key string, _, burst float64) (bool, time.Duration, error) {
	if b.err != nil {
		return false, 0, b.err
	}
	if b.taken == nil {
		b.taken = map[string]float64{}
	}
	if b.taken[name+key] >= burst {
		return false, time.Second, nil
	}
	b.taken[name+key]++
	return true, 0, nil
}

func (b *buckets) Left(_ context.Context, name, key string, _, burst float64) (int64, error) {
	return int64(burst - b.taken[name+key]), b.err
}

// usual is little, so that tests are quick.
const usual = 50

func offer(t *testing.T, w *login.Work, address string) *altcha.Challenge {
	t.Helper()
	o, err := w.Offer(t.Context(), address)
	if err != nil || o.Kind != login.ChallengeWork || o.Work == nil {
		t.Fatalf("%+v, %v", o, err)
	}
	return o.Work
}

// solve solves a challenge as the page does.
func solve(t *testing.T, c *altcha.Challenge) altcha.Payload {
	t.Helper()
	s, err := altcha.SolveChallenge(c.Challenge, c.Salt, altcha.SHA256, int(c.MaxNumber), 0, nil)
	if err != nil || s == nil {
		t.Fatalf("%+v: %v, %v", c, s, err)
	}
	return altcha.Payload{Algorithm: c.Algorithm, Challenge: c.Challenge, Number: int64(s.Number), Salt: c.Salt,
		Signature: c.Signature}
}

func proof(t *testing.T, p altcha.Payload) string {
	t.Helper()
	text, err := json.Marshal(p)
	testenv.Must(t, err)
	return base64.StdEncoding.EncodeToString(text)
}

func secrets(texts ...string) func() []string { return func() []string { return texts } }

// TestWorkInARotation: a proof of a node with the old secret is accepted by one that has both.
func TestWorkInARotation(t *testing.T) {
	b := &buckets{}
	done := proof(t, solve(t, offer(t, login.NewWork(secrets("old"), usual, b), "192.0.2.1")))
	for has, want := range map[string]error{"new": login.ErrProofFailed, "new old": nil} {
		w := login.NewWork(secrets(strings.Fields(has)...), usual, b)
		testenv.WantErr(t, w.Check(t.Context(), "192.0.2.1", done), want, has)
	}
}

func TestWorkCountsOnce(t *testing.T) {
	b := &buckets{}
	w, other := login.NewWork(secrets("secret"), usual, b), login.NewWork(secrets("secret"), usual, b) // two nodes
	done := proof(t, solve(t, offer(t, w, "192.0.2.1")))
	testenv.Must(t, other.Check(t.Context(), "192.0.2.1", done))
	for _, node := range []*login.Work{w, other} {
		testenv.WantErr(t, node.Check(t.Context(), "192.0.2.1", done), login.ErrProofFailed, "again")
	}
}

func TestForgedWork(t *testing.T) {
	b := &buckets{}
	w := login.NewWork(secrets("secret"), usual, b)
	const address = "192.0.2.1"
	good := solve(t, offer(t, w, address))
	forge := func(change func(p *altcha.Payload)) string {
		p := good
		change(&p)
		return proof(t, p)
	}
	stranger := solve(t, offer(t, login.NewWork(secrets("another"), usual, b), address))
	easier := func(p *altcha.Payload) {
		at := strings.Index(p.Salt, "most=")
		p.Salt = p.Salt[:at] + "most=99999999&"
	}
	for name, text := range map[string]string{
		"no base64":         "*",
		"no JSON":           base64.StdEncoding.EncodeToString([]byte("{")),
		"null":              base64.StdEncoding.EncodeToString([]byte("null")),
		"another number":    forge(func(p *altcha.Payload) { p.Number++ }),
		"another salt":      forge(func(p *altcha.Payload) { p.Salt += "x" }),
		"a harder salt":     forge(easier),
		"no signature":      forge(func(p *altcha.Payload) { p.Signature = "" }),
		"another algorithm": forge(func(p *altcha.Payload) { p.Algorithm = "SHA-1" }),
		"another's key":     proof(t, stranger),
		"another's address": proof(t, solve(t, offer(t, w, "192.0.2.2"))),
	} {
		testenv.WantErr(t, w.Check(t.Context(), address, text), login.ErrProofFailed, name)
	}
	testenv.WantErr(t, w.Check(t.Context(), address, ""), login.ErrProofMissing, "none")
	if len(b.taken) > 0 {
		t.Errorf("a forgery has cost %v", b.taken)
	}
	testenv.WantErr(t, w.Check(t.Context(), address, proof(t, good)), nil, "the good one")
}

// An address that makes many guests works more for each. Challenges from before the rise do not help.
func TestWorkRisesWithTheGuestsOfAnAddress(t *testing.T) {
	b := &buckets{}
	w := login.NewWork(secrets("secret"), usual, b)
	const farm, home = "192.0.2.1", "192.0.2.2"
	collected := make([]altcha.Payload, 40)
	for i := range collected {
		collected[i] = solve(t, offer(t, w, farm))
	}
	taken := 0
	for _, p := range collected {
		err := w.Check(t.Context(), farm, proof(t, p))
		if err == nil {
			taken++
		} else if !errors.Is(err, login.ErrProofMissing) {
			t.Fatal(err)
		}
	}
	if taken < 10 || taken > 20 {
		t.Errorf("%d guests with challenges of before the first", taken)
	}
	testenv.Equal(t, offer(t, w, home).MaxNumber, usual, "a neighbour works")
	for range 100 {
		testenv.Must(t, w.Check(t.Context(), farm, proof(t, solve(t, offer(t, w, farm)))))
	}
	if c := offer(t, w, farm); c.MaxNumber < 10*usual {
		t.Errorf("after %d guests the farm works %d", taken+100, c.MaxNumber)
	}
}

func TestOldWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := login.NewWork(secrets("secret"), usual, &buckets{})
		p := solve(t, offer(t, w, "a"))
		time.Sleep(11 * time.Minute) //nolint:forbidigo // fake time
		testenv.WantErr(t, w.Check(t.Context(), "a", proof(t, p)), login.ErrProofFailed)
	})
}

func TestWorkWithoutRedis(t *testing.T) {
	away := errors.New("away")
	b := &buckets{}
	w := login.NewWork(secrets("secret"), usual, b)
	p := proof(t, solve(t, offer(t, w, "a")))
	b.err = away
	testenv.WantErr(t, w.Check(t.Context(), "a", p), away)
	testenv.WantErr(t, testenv.Err(w.Offer(t.Context(), "a")), away)
	b.err = nil
	testenv.WantErr(t, w.Check(t.Context(), "a", p), nil, "nothing was decided, yet")
}
