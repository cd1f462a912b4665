package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"redrain/grab"
	"redrain/grab/outcome"
	"redrain/grab/store"
	"redrain/internal/auth"
	"redrain/internal/embedded"
	"redrain/internal/sqldb"
	"redrain/internal/testenv"
	"redrain/rain"
	"redrain/server/api"
	"redrain/server/config"
	"redrain/server/gateway"
	"redrain/server/servertest"
)

// ownConfig is the in-process default on a data directory, where the test is alone on the machine's ports.
func ownConfig(dir string) config.Config {
	cfg := config.Default()
	cfg.Listen, cfg.DataDir = "127.0.0.1:0", dir
	return cfg
}

// serveOn runs a server until the test's own function is done with it.
func serveOn(t *testing.T, cfg config.Config, do func(s *Server)) {
	t.Helper()
	s, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler), io.Discard)
	testenv.Must(t, err)
	stop := testenv.Run(t, s.Run)
	do(s)
	stop()
}

// demoOf waits for the demo campaign and returns its id.
func demoOf(t *testing.T, s *Server) string {
	t.Helper()
	testenv.Eventually(t, 10*time.Second, "the demo campaign", func() bool { return s.demo.Campaign() != "" })
	return s.demo.Campaign()
}

// TestADataDirectoryKeepsAllThatMatters: the secrets, the money, and the demo campaign, which is not doubled.
func TestADataDirectoryKeepsAllThatMatters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var operator, demo, guest string
	serveOn(t, ownConfig(dir), func(s *Server) {
		operator, demo = s.cfg.OperatorToken, demoOf(t, s)
		var err error
		if guest, _, err = s.players.Mint(auth.Persona{User: "guest"}, time.Minute); err != nil {
			t.Fatal(err)
		}
		testenv.Must(t, testenv.Err(s.ledger.Sponsors.Deposit(t.Context(), "acme", "r", 100)))
		testenv.WantErr(t, testenv.Err(New(t.Context(), ownConfig(dir), slog.New(slog.DiscardHandler), io.Discard)),
			embedded.ErrDirInUse, "a second process on the directory")
	})
	serveOn(t, ownConfig(dir), func(s *Server) {
		if got := demoOf(t, s); got != demo || s.cfg.OperatorToken != operator {
			t.Errorf("demo %s, before %s; the operator's token is the same: %v", got, demo,
				s.cfg.OperatorToken == operator)
		}
		if user, err := s.players.Verify(t.Context(), guest); user != "guest" || err != nil {
			t.Errorf("a token of before: %q, %v", user, err)
		}
		if balance, err := s.ledger.Sponsors.SponsorBalance(t.Context(), "acme"); balance != 100 || err != nil {
			t.Errorf("the sponsor has %d, %v", balance, err)
		}
		live, err := s.ledger.Campaigns.Live(t.Context())
		if err != nil || len(live) != 1 {
			t.Errorf("%d campaigns, %v", len(live), err)
		}
		testenv.Eventually(t, 10*time.Second, "the demo in Redis", func() bool {
			c := s.known.Cached(demo)
			if c == nil {
				return false
			}
			levels, err := store.NewSums(s.redis).Levels(t.Context(), c)
			return err == nil && levels.Stock == 20_000
		})
	})
}

// TestADirectoryThatCannotBeWritten is said before anything listens.
func TestADirectoryThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testenv.Must(t, os.WriteFile(file, nil, 0o600))
	_, err := New(t.Context(), ownConfig(file), slog.New(slog.DiscardHandler), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--data-dir") || !strings.Contains(err.Error(), file) {
		t.Errorf("%v", err)
	}
}

// TestAPartOfTheDirectoryIsLost: a lost stream is logged. Without its ledger nothing starts, because all balances would
// be gone.
func TestAPartOfTheDirectoryIsLost(t *testing.T) {
	cfg := ownConfig(t.TempDir())
	cfg.Demo = false
	start := func() (said string, err error) { // and ends when the stream is there
		var log servertest.Log
		s, err := New(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)), io.Discard)
		if err != nil {
			return log.String(), err
		}
		js, err := jetstream.New(s.back.nats)
		testenv.Must(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		testenv.Eventually(t, 10*time.Second, "the stream", func() bool {
			_, err := js.Stream(t.Context(), "RR_PAYOUT")
			return err == nil
		})
		cancel()
		return log.String(), <-ended
	}
	lose := func(pattern string) {
		parts, err := filepath.Glob(filepath.Join(cfg.DataDir, pattern))
		if err != nil || len(parts) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(parts), err)
		}
		for _, part := range parts {
			testenv.Must(t, os.RemoveAll(part))
		}
	}
	const lost = "a ledger and no stream"
	for range 2 { // a new directory, and a whole one
		if said, err := start(); err != nil || strings.Contains(said, lost) {
			t.Errorf("%v, the log:\n%s", err, said)
		}
	}
	lose("nats")
	if said, err := start(); err != nil || !strings.Contains(said, lost) {
		t.Errorf("without the stream: %v, the log:\n%s", err, said)
	}
	lose("ledger.db*")
	for range 2 { // refusing makes nothing that would be taken for a ledger the next time
		if _, err := start(); err == nil || !strings.Contains(err.Error(), "ledger.db is gone") {
			t.Errorf("without the ledger: %v", err)
		}
	}
}

// TestAtStartOneBadCampaignHoldsUpNoOther: it is an error line and an alarm, and the others are restored.
func TestAtStartOneBadCampaignHoldsUpNoOther(t *testing.T) {
	cfg := ownConfig(t.TempDir())
	cfg.Demo = false
	var ids []string
	serveOn(t, cfg, func(s *Server) {
		testenv.Must(t, testenv.Err(s.ledger.Sponsors.Deposit(t.Context(), "acme", "r", 1_000)))
		for range 3 {
			c, err := s.service.Create(t.Context(), servertest.EvenSpec(100, 10, 1), "")
			testenv.Must(t, err)
			ids = append(ids, c.ID)
		}
		// One was cut off while it was being stocked; of another, the ledger holds a move that cannot be read.
		loading, err := funded(t, s)
		testenv.Must(t, err)
		err = s.back.sql.InTx(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Insert(ctx, "move", []string{"id", "campaign_id", "from_shard", "to_shard", "numbers", "packets",
				"from_number", "epoch", "created_at"}, [][]any{{"m", ids[1], 0, 1, "all", 10, 1, 0, 1}}, sqldb.Merge{})
		})
		testenv.Must(t, err)
		ids = append(ids, loading.ID)
	})
	var log servertest.Log
	s, err := New(t.Context(), cfg, slog.New(slog.NewTextHandler(&log, nil)), io.Discard)
	testenv.Must(t, err)
	defer s.release()
	for i, id := range ids {
		c, err := s.ledger.Campaigns.Campaign(t.Context(), id)
		testenv.Must(t, err)
		lost, err := store.NewRestorer(s.redis).Lost(t.Context(), c)
		if err != nil || (len(lost) > 0) != (i == 1) || c.Status != rain.Open {
			t.Errorf("campaign %d: %s, lost %v (%v)", i, c.Status, lost, err)
		}
	}
	if said := log.String(); !strings.Contains(said, "level=ERROR") ||
		!strings.Contains(said, "code=state_lost campaign="+ids[1]) ||
		strings.Count(said, "redis has the campaign again") != 2 {
		t.Errorf("the log:\n%s", said)
	}
}

// funded makes a campaign without any state in Redis.
func funded(t *testing.T, s *Server) (*rain.Campaign, error) {
	t.Helper()
	c := &rain.Campaign{
		ID: "cfunded", Spec: servertest.EvenSpec(100, 10, 1), Status: rain.Loading, CreatedAt: s.clock.Now(),
		ExpiresAt: s.clock.Now() + 3_600_000, Revision: 1,
	}
	return c, s.ledger.Campaigns.CreateCampaign(t.Context(), c)
}

// TestTheRebuildOverHTTP checks the answers to an operator, and the audit log.
func TestTheRebuildOverHTTP(t *testing.T) {
	cfg := ownConfig("")
	cfg.Demo = false
	serveOn(t, cfg, func(s *Server) {
		testenv.Must(t, testenv.Err(s.ledger.Sponsors.Deposit(t.Context(), "acme", "r", 1_000)))
		c, err := s.service.Create(t.Context(), servertest.EvenSpec(100, 10, 1), "")
		testenv.Must(t, err)
		now, spec := int64(0), rain.DefaultRain()
		spec.StartsInMS, spec.DecoyPercent, spec.DropsPerSecond, spec.FallMS = &now, 0, 400, 20_000
		if c, _, err = s.service.StartRain(t.Context(), c.ID, spec, ""); err != nil {
			t.Fatal(err)
		}
		call := func(id string) (status int, body string) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
				"http://"+s.Addr().String()+api.Root+"/campaigns/"+id+"/rebuild", nil)
			testenv.Must(t, err)
			req.Header.Set("Authorization", "Bearer "+s.cfg.OperatorToken)
			resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
			testenv.Must(t, err)
			defer func() { _ = resp.Body.Close() }()
			text, err := io.ReadAll(resp.Body)
			testenv.Must(t, err)
			return resp.StatusCode, string(text)
		}
		if status, body := call(c.ID); status != http.StatusConflict || !strings.Contains(body, `"campaign_alive"`) {
			t.Errorf("%d %s", status, body)
		}
		if status, body := call("nowhere"); status != http.StatusNotFound {
			t.Errorf("%d %s", status, body)
		}
		gate := s.gates.Gate(c)
		gate.SoldOut(rain.LanePlayers)
		testenv.Must(t, s.back.redis.FlushAll(t.Context()).Err())
		if status, body := call(c.ID); status != http.StatusOK ||
			body != `{"campaign":"`+c.ID+`","shards":[0],"packets":10,"wins":0}`+"\n" {
			t.Errorf("%d %s", status, body)
		}
		records, _, err := s.ledger.Audit.ListAuditOf(t.Context(), "campaign:"+c.ID, "", 10)
		if err != nil || len(records) != 1 || records[0].Action != "campaign.rebuild" ||
			!strings.Contains(string(records[0].Detail), `"packets":10`) {
			t.Errorf("the audit log: %+v, %v", records, err)
		}
		s.gates.Close() // it answers taps "unavailable" instead of asking Redis
		testenv.Eventually(t, 10*time.Second, "the gate would ask Redis again", func() bool {
			drop := rain.DropID{N: c.Current().FirstWave}
			r, known := gate.Tap(&grab.Tap[gateway.TapOrigin]{User: testenv.Namespace(t), Drop: drop})
			return known && r.Outcome == outcome.Unavailable
		})
	})
}
