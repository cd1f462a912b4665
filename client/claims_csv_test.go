package client_test

import (
	"net/http"
	"strings"
	"testing"

	"redrain/internal/testenv"
)

func TestClaimsCSV(t *testing.T) {
	c, got := serve(t, http.StatusOK, "text/csv", "claim,user\nc1-4,u\n")
	var b strings.Builder
	testenv.Must(t, c.ClaimsCSV(t.Context(), "c1", &b))
	if b.String() != "claim,user\nc1-4,u\n" || got.Accept != "text/csv" ||
		got.Line != "GET /api/v1/campaigns/c1/claims" {
		t.Errorf("%q by %+v", b.String(), got)
	}
}
