package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redrain/client"
	"redrain/internal/openapi"
)

func TestApprovals(t *testing.T) {
	ctx := t.Context()
	for name, tc := range map[string]struct {
		answer     string
		do         func(*client.Client) (any, error)
		line, body string
		want       any
	}{
		"Approvals": {`{"items":[]}`,
			func(c *client.Client) (any, error) { return c.Approvals(ctx, "pending", client.Page{}) },
			"GET /api/v1/approvals?state=pending", "",
			client.List[openapi.Approval]{Items: []openapi.Approval{}}},
		"ConfirmApproval": {`{"approval":"a7","state":"confirmed"}`,
			func(c *client.Client) (any, error) { return c.ConfirmApproval(ctx, "a7", "seen") },
			"POST /api/v1/approvals/a7/confirm", `{"reason":"seen"}`,
			openapi.Approval{Approval: "a7", State: "confirmed"}},
		"RejectApproval": {`{"approval":"a7","state":"rejected"}`,
			func(c *client.Client) (any, error) { return c.RejectApproval(ctx, "a7", "no") },
			"POST /api/v1/approvals/a7/reject", `{"reason":"no"}`,
			openapi.Approval{Approval: "a7", State: "rejected"}},
	} {
		c, got := serve(t, http.StatusOK, "application/json", tc.answer)
		answer, err := tc.do(c)
		if err != nil || got.Line != tc.line || got.Body != tc.body {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if diff := cmp.Diff(tc.want, answer); diff != "" {
			t.Errorf("%s: answer (-want +got):\n%s", name, diff)
		}
	}
}

// TestWhatWaitsForASecondPerson is an error that says so: it was not done.
func TestWhatWaitsForASecondPerson(t *testing.T) {
	c, _ := serve(t, http.StatusAccepted, "application/json", `{"approval":"a7","action":"deposit","amount":500}`)
	_, err := c.Deposit(t.Context(), "acme", "wire-1", 500)
	pending, ok := errors.AsType[*client.PendingError](err)
	if !ok || pending.Approval.Amount != 500 || !strings.Contains(err.Error(), "approval confirm a7") {
		t.Errorf("%v", err)
	}
}
