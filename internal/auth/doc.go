// Package auth authenticates callers: players by signed tokens, operators by shared or personal tokens.
//
// A player's token is a JWT whose sub is the player's id and whose exp is required. It is signed with the shared
// secret (HS256) or with a private key (RS256, ES256, EdDSA). The public key is in the JWKS of the deployment's
// identity provider. The algorithm decides the source of the key: HS256 is only checked with the secret, the others
// only with the JWKS. So a forger cannot pass a public key off as the secret.
//
// Operators have opaque bearer tokens; redrain keeps their hashes only. A file names personal tokens and their roles;
// two tokens are shared. Or operators have tokens of an OpenID Connect provider, which are verified as players' are,
// and name the person and the roles.
package auth
