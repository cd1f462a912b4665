package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"redrain/internal/cli"
)

// TestRiskSaysWhatWasLeft: of held wins that somebody has changed in the database nothing is decided, which is said,
// and is an error; all others are decided, also those of other requests.
func TestRiskSaysWhatWasLeft(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Claims []string `json:"claims"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		if in.Claims[0] == "bad-0" { // all that this request is about
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			_, _ = fmt.Fprint(w, `{"status":409,"code":"changed_by_hand","detail":"somebody has changed it"}`)
			return
		}
		items := []map[string]any{}
		for _, claim := range in.Claims {
			item := map[string]any{"claim": claim, "state": "released", "amount": 5}
			if claim == "left" {
				item["state"], item["fault"] = "held", "changed_by_hand"
			}
			items = append(items, item)
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"items": items}); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	env := map[string]string{"REDRAIN_SERVER": server.URL, "REDRAIN_TOKEN": operatorToken}
	release := func(claims ...string) outcome {
		return run(t, env, append([]string{"risk", "release", "--reason", "x"}, claims...)...)
	}
	if got := release("c-1"); got.code != cli.ExitOK || !strings.Contains(got.stdout, "c-1    released") {
		t.Errorf("exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if got := release("c-1", "left"); got.code != cli.ExitFailure || !strings.Contains(got.stderr, "1 win left") ||
		!strings.Contains(got.stderr, ": left;") || !strings.Contains(got.stdout, "held (changed_by_hand)") ||
		!strings.Contains(got.stdout, "c-1    released") {
		t.Errorf("exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	claims := make([]string, 1000)
	for n := range claims {
		claims[n] = fmt.Sprint("bad-", n)
	}
	if got := release(slices.Concat(claims, []string{"c-1"})...); got.code != cli.ExitFailure ||
		!strings.Contains(got.stderr, "somebody has changed it") || !strings.Contains(got.stdout, "c-1    released") {
		t.Errorf("exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
}
