// Package login signs players in by a code in a link, and guests by a CAPTCHA or a proof of work.
//
//	code, err := codes.Make(ctx, login.Pass{User: user, Token: token, Until: until}, login.Life)
//	pass, err := codes.Take(ctx, code) // once, at any node; ErrNoCode after that
//
//	challenge, err := work.Offer(ctx, address)
//	err = work.Check(ctx, address, proof) // ErrProofMissing, ErrProofFailed
//
// A code works once, so it is useless in a browser history, a chat or a log. Redis does not have it: a value is found
// by one hash of the code and encrypted under another. A reader of all of Redis can sign in as no player.
//
// A challenge costs processor time (Work), or a service decides (Siteverify). Package server/api sends challenges and
// receives proofs.
package login
