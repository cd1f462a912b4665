package client_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestClaimsCSV(t *testing.T) {
	c, got := serve(t, http.StatusOK, "text/csv", "claim,user\nc1-4,u\n")
	var b strings.Builder
	if err := c.ClaimsCSV(t.Context(), "c1", &b); err != nil {
		t.Fatal(err)
	}
	if b.String() != "claim,user\nc1-4,u\n" || got.Accept != "text/csv" ||
		got.Line != "GET /api/v1/campaigns/c1/claims" {
		t.Errorf("%q by %+v", b.String(), got)
	}
}
