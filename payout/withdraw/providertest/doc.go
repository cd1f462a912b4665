// Package providertest checks a withdraw.Provider against a sandbox of its receiver. The provider must pay a key
// once, whatever is lost in flight, and must never contradict the receiver's books.
//
// Authors of a provider write a Sandbox for it, mostly an httptest.Server with a Breaker around its handler, and call
// Run in a test. docs/use/payments.md explains it, and wechatlike_test.go is an example.
package providertest
