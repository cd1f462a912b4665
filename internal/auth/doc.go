// Package auth authenticates callers: players by signed tokens, operators by tokens, shared or their own.
//
// A player's token is a JWT whose sub is the player's id and whose exp is required. It is signed either
// with the shared secret (HS256), or with a private key whose public half is in the JWKS of the
// deployment's identity provider (RS256, ES256, EdDSA). The algorithm decides where the key comes
// from: HS256 is only checked with the secret, the others only with the JWKS, so a forger cannot pass a
// public key off as the secret.
//
// Operators have opaque bearer tokens, of which only hashes are kept: each person one of their own, which a file names
// with their roles, or one of two that are shared. Or they have tokens of an OpenID Connect provider, which are
// verified as players' are, and name the person and the roles.
package auth
