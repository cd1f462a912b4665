package api

import (
	"net/http"
	"strings"

	"github.com/gorilla/websocket"

	"redrain/internal/wire"
)

// The headers of RFC 6455.
const (
	protocolHeader = "Sec-WebSocket-Protocol"
	versionHeader  = "Sec-WebSocket-Version"
	version        = "13"
)

// RequireUpgrade forwards requests for a WebSocket of the right version. It answers the others with the required
// headers (RFC 6455, section 4.4; RFC 9110, section 15.5.22).
func RequireUpgrade(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet:
			refuseMethod(w, http.MethodGet)
		case !websocket.IsWebSocketUpgrade(r):
			upgradeRequired(w, "this is a WebSocket, subprotocol "+wire.Subprotocol)
		case r.Header.Get(versionHeader) != version:
			w.Header().Set(versionHeader, version)
			upgradeRequired(w, "the version of WebSocket is "+version)
		default:
			// A client's offers may come in several headers, but the library reads one only.
			if offered := r.Header.Values(protocolHeader); len(offered) > 1 {
				r.Header.Set(protocolHeader, strings.Join(offered, ", "))
			}
			next.ServeHTTP(w, r)
		}
	})
}

func upgradeRequired(w http.ResponseWriter, detail string) {
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "websocket")
	writeProblem(w, problem{Status: http.StatusUpgradeRequired, Code: "upgrade_required", Detail: detail})
}
