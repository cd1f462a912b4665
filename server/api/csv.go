package api

import (
	"net/http"
	"strings"

	"github.com/elnormous/contenttype"
)

// offered are what a list of claims can be, the usual one first.
var offered = []contenttype.MediaType{
	contenttype.NewMediaType("application/json"), contenttype.NewMediaType("text/csv"),
}

// prefersCSV tells whether a request would rather have text/csv than JSON (RFC 9110, section 12.5.1). Who does not say,
// does not mind, or says it wrongly gets JSON.
func prefersCSV(r *http.Request) bool {
	best, _, err := contenttype.GetAcceptableMediaTypeFromHeader(strings.Join(r.Header.Values("Accept"), ", "), offered)
	return err == nil && best.Subtype == "csv"
}

// inert is a cell that no spreadsheet takes for a formula: ids are strangers' text, and one that begins like a formula
// gets an apostrophe before it (OWASP, CSV Injection).
func inert(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}
