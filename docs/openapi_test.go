package docs_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"redrain/docs"
	"redrain/internal/testenv"
	"redrain/rain"
)

// operations is the contract's table of paths, with those outside /api/v1.
var operations = []string{
	"POST /api/v1/sponsors/{sponsor}/deposits", "GET /api/v1/sponsors/{sponsor}", "GET /api/v1/sponsors",
	"POST /api/v1/splits/preview", "POST /api/v1/campaigns", "GET /api/v1/campaigns",
	"GET /api/v1/campaigns/{campaign}",
	"POST /api/v1/campaigns/{campaign}/rains", "POST /api/v1/campaigns/{campaign}/rains/{rain}/stop",
	"POST /api/v1/campaigns/{campaign}/pause", "POST /api/v1/campaigns/{campaign}/resume",
	"POST /api/v1/campaigns/{campaign}/close",
	"POST /api/v1/campaigns/{campaign}/rebuild",
	"GET /api/v1/campaigns/{campaign}/stats", "GET /api/v1/campaigns/{campaign}/history",
	"GET /api/v1/campaigns/{campaign}/claims",
	"GET /api/v1/campaigns/{campaign}/export",
	"GET /api/v1/campaigns/{campaign}/reconciliation", "GET /api/v1/campaigns/{campaign}/rains/{rain}/fairness",
	"GET /api/v1/reconciliation", "GET /api/v1/reconciliation/full", "GET /api/v1/reconciliation/proved",
	"GET /api/v1/payouts", "POST /api/v1/payouts/{claim}/retry", "POST /api/v1/payouts/retry",
	"POST /api/v1/payouts/{claim}/dismiss",
	"POST /api/v1/users/{user}/disconnect", "POST /api/v1/users/{user}/ban", "POST /api/v1/users/{user}/unban",
	"GET /api/v1/users/{user}", "GET /api/v1/users/{user}/claims", "GET /api/v1/me", "GET /api/v1/me/claims",
	"GET /api/v1/users/{user}/withdrawals", "GET /api/v1/withdrawals", "GET /api/v1/withdrawals/{withdrawal}",
	"POST /api/v1/withdrawals/{withdrawal}/hold", "POST /api/v1/withdrawals/{withdrawal}/release",
	"POST /api/v1/withdrawals/{withdrawal}/paid", "POST /api/v1/withdrawals/{withdrawal}/back",
	"GET /api/v1/users", "GET /api/v1/bans", "GET /api/v1/risk", "GET /api/v1/alarms",
	"GET /api/v1/risk/held", "POST /api/v1/risk/release", "POST /api/v1/risk/confirm",
	"GET /api/v1/lists", "POST /api/v1/lists", "GET /api/v1/lists/{list}", "DELETE /api/v1/lists/{list}",
	"GET /api/v1/lists/{list}/members", "POST /api/v1/lists/{list}/members", "PUT /api/v1/lists/{list}/members",
	"POST /api/v1/lists/{list}/remove",
	"GET /api/v1/approvals", "GET /api/v1/approvals/{approval}", "POST /api/v1/approvals/{approval}/confirm",
	"POST /api/v1/approvals/{approval}/reject",
	"POST /api/v1/me/withdrawals", "GET /api/v1/me/withdrawals", "GET /api/v1/me/withdrawals/{withdrawal}",
	"POST /api/v1/login-codes", "POST /api/v1/login",
	"POST /api/v1/providers/wechat/notifications", "POST /api/v1/providers/alipay/notifications",
	"GET /api/v1/login/oidc", "GET /api/v1/login/oidc/callback", "GET /api/v1/login/wechat",
	"GET /api/v1/login/wechat/callback", "POST /api/v1/login/wechat-mini", "GET /api/v1/wechat/sign",
	"POST /api/v1/guests", "POST /api/v1/me/token", "GET /api/v1/admission", "GET /api/v1/lobby", "GET /api/v1/whoami",
	"GET /api/v1/auth/config",
	"GET /api/v1/events", "GET /api/v1/audit",
	"GET /api/v1/audit/roots", "POST /api/v1/audit/verify", "POST /api/v1/statements/match",
	"POST /api/v1/seal/rotate",
	"GET /healthz", "GET /readyz", "GET /metrics",
}

// TestOpenAPIHasEverySplit compares the list of splits with the code's.
func TestOpenAPIHasEverySplit(t *testing.T) {
	var listed []rain.SplitKind
	for _, kind := range loadOpenAPI(t).Components.Schemas["Split"].Value.Enum {
		listed = append(listed, rain.SplitKind(kind.(string)))
	}
	if !slices.Equal(listed, rain.SplitKinds()) {
		t.Errorf("%v are listed, there are %v", listed, rain.SplitKinds())
	}
}

func loadOpenAPI(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(docs.OpenAPI)
	testenv.Must(t, err)
	return doc
}

// TestOpenAPIIsValid also validates every example.
func TestOpenAPIIsValid(t *testing.T) {
	if err := loadOpenAPI(t).Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Error(err)
	}
}

func TestOpenAPIHasEveryPathOfTheContract(t *testing.T) {
	var found []string
	for path, item := range loadOpenAPI(t).Paths.Map() {
		for method := range item.Operations() {
			found = append(found, method+" "+path)
		}
	}
	for _, op := range operations {
		if !slices.Contains(found, op) {
			t.Errorf("%s is missing", op)
		}
	}
	for _, op := range found {
		if !slices.Contains(operations, op) {
			t.Errorf("%s is not in the contract", op)
		}
	}
}

// TestOpenAPIErrorsAreProblems checks that every error is a problem, and that every path with a token has an answer
// without one. /readyz is for machines that read the status only.
func TestOpenAPIErrorsAreProblems(t *testing.T) {
	doc := loadOpenAPI(t)
	for path, item := range doc.Paths.Map() {
		if !strings.HasPrefix(path, "/api/") {
			continue
		}
		for method, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				if status >= "400" && response.Value.Content.Get("application/problem+json") == nil {
					t.Errorf("%s %s: %s is no problem+json", method, path, status)
				}
			}
			guarded := op.Security != nil && len(*op.Security) > 0
			if _, says := op.Responses.Map()["401"]; guarded != says {
				t.Errorf("%s %s: takes a token: %v, describes 401: %v", method, path, guarded, says)
			}
			if op.OperationID == "" || op.Summary == "" {
				t.Errorf("%s %s: has no name or summary", method, path)
			}
			// A viewer has no player's token, so a player's path is 401. Some POSTs only read: their requests are
			// large.
			forViewers := guarded && (*op.Security)[0]["playerToken"] == nil && op.OperationID != "previewSplit" &&
				op.OperationID != "verifyAudit" && op.OperationID != "matchStatement"
			if method == http.MethodPost && forViewers && op.Responses.Map()["403"] == nil {
				t.Errorf("%s %s: does not describe 403 for viewers", method, path)
			}
		}
	}
}
