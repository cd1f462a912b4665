package client_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/internal/openapi"
)

// TestMatchStatement sends the file, and reads what differs.
func TestMatchStatement(t *testing.T) {
	c, got := serve(t, http.StatusOK, "application/json", `{"lines":2,"matched":1,"ignored":0,"differences":1,`+
		`"findings":[{"kind":"twice","name":"w1","note":"n"}]}`)
	r, err := c.MatchStatement(t.Context(),
		openapi.MatchStatementJSONBody{Of: "deposits", From: 1, To: 2, File: []byte("a,b")})
	want := openapi.StatementReport{Lines: 2, Matched: 1, Differences: 1,
		Findings: []openapi.StatementFinding{{Kind: "twice", Name: "w1", Note: "n"}}}
	if diff := cmp.Diff(want, r); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	asked := seen{Line: "POST /api/v1/statements/match", Body: `{"of":"deposits","from":1,"to":2,"file":"YSxi"}`}
	if got.Line != asked.Line || got.Body != asked.Body {
		t.Errorf("asked %+v, want %+v", *got, asked)
	}
}
