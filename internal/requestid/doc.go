// Package requestid gives each HTTP request an id, which the answer, problems, log lines and the audit carry.
//
//	log = requestid.Logger(log)              // adds "request" to the lines of a request's context
//	http.Serve(l, requestid.Handler(mux))    // accepts X-Request-Id or traceparent, or makes an id
//	log.InfoContext(r.Context(), "received") // received request=4bf92f3577b34da6a3ce929d0e0e4736
//
// An id only helps to find things: a client may choose it, also twice.
package requestid
