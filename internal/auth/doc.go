// Package auth tells who is asking: players by signed tokens, operators by shared ones.
//
// A player's token is a JWT whose sub is the player's id and whose exp is required. It is signed either
// with the shared secret (HS256), or with a private key whose public half is in the JWKS of the
// deployment's identity provider (RS256, ES256, EdDSA). The algorithm decides where the key comes
// from, never the token: HS256 is only ever checked with the secret, the others only with the
// JWKS, so a public key cannot be passed off as a secret.
//
// Operators have one of two opaque bearer tokens, which give a Role.
package auth
