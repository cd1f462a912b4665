package server

import (
	"net/http"
	"testing"
	"time"

	"redrain/internal/testenv"
	"redrain/server/api"
	"redrain/server/config"
	"redrain/server/timeout"
)

// TestAHangingDatabaseIsSaidSoon: a list that cannot be read is a 503 long before the operator's client gives up.
func TestAHangingDatabaseIsSaidSoon(t *testing.T) {
	mysql := testenv.StartMySQL(t)
	cfg := config.Default()
	cfg.Listen, cfg.MySQL, cfg.OperatorToken, cfg.JWTSecret = "127.0.0.1:0", mysql.DSN, "a token of the tests",
		"a secret of at least thirty-two bytes"
	cfg.DrainDelay = new(time.Duration)
	serveOn(t, cfg, func(s *Server) {
		list := func() int {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
				"http://"+s.Addr().String()+api.Root+"/campaigns", nil)
			testenv.Must(t, err)
			req.Header.Set("Authorization", "Bearer a token of the tests")
			client := http.Client{Timeout: 4 * timeout.Backend}
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return 0
			}
			defer func() { _ = resp.Body.Close() }()
			return resp.StatusCode
		}
		testenv.Eventually(t, 10*time.Second, "the list", func() bool { return list() == http.StatusOK })
		mysql.Freeze()
		testenv.Equal(t, list(), http.StatusServiceUnavailable, "with a database that hangs")
		mysql.Thaw()
	})
}
