// Package caller finds out who is calling, where proxies stand between a client and this process: by the PROXY
// protocol, or by X-Forwarded-For. Only proxies that the operator trusts are believed.
package caller
