// Package clientip finds the address of a client behind proxies, and the key by which limits count it. It accepts
// addresses from the operator's trusted proxies only, by the PROXY protocol or X-Forwarded-For:
//
//	trusted, err := clientip.ParseProxies([]string{"10.0.0.0/8"})
//	listener = trusted.Listener(listener) // PROXY protocol
//	handler = trusted.Handler(handler)    // X-Forwarded-For; r.RemoteAddr is then the client's
//
//	key := clientip.RequestKey(r) // an IPv4 address, or the /64 of an IPv6 address
//
// store.Limits counts by these keys.
package clientip
