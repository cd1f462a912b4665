// Package providertest checks a withdraw.Provider against a sandbox of its receiver: that it pays a key once
// whatever is lost on the way, and says nothing that the receiver's books do not.
//
// Who writes a provider writes a Sandbox for it, mostly an httptest.Server with a Breaker around its handler, and calls
// Run in a test. docs/use/payments.md leads through it, and wechatlike_test.go is an example.
package providertest
