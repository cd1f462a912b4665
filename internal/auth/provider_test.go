package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// provider is an identity provider: a key set behind HTTP that a test can change.
type provider struct {
	*httptest.Server
	requests atomic.Int64

	mu   sync.Mutex
	keys []any
	down bool
}

func newProvider(t testing.TB) *provider {
	t.Helper()
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) serve(w http.ResponseWriter, _ *http.Request) {
	p.requests.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": p.keys})
}

// publish replaces the key set.
func (p *provider) publish(keys ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = keys
}

func (p *provider) setDown(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
}

// issuer is a private key of the provider.
type issuer struct {
	kid    string
	method jwt.SigningMethod
	key    crypto.Signer
}

// The keys are made once: an RSA key takes long.
var (
	rsaKey   = sync.OnceValue(func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey    = sync.OnceValue(func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	edKey    = sync.OnceValue(newEdKey)
	otherKey = sync.OnceValue(newEdKey)
)

func newEdKey() crypto.Signer {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return must(key, err)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// jwk is the public half as the provider publishes it.
func (i issuer) jwk() jwkset.JWKMarshal {
	key := must(jwkset.NewJWKFromKey(i.key.Public(), jwkset.JWKOptions{
		Metadata: jwkset.JWKMetadataOptions{KID: i.kid, USE: jwkset.UseSig},
	}))
	return key.Marshal()
}

// sign issues a token with the claims given.
func (i issuer) sign(claims jwt.MapClaims) string {
	token := jwt.NewWithClaims(i.method, claims)
	if i.kid != "" {
		token.Header["kid"] = i.kid
	}
	return must(token.SignedString(i.key))
}

// hs256 signs with a shared secret.
func hs256(secret []byte, claims jwt.MapClaims) string {
	return must(jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(secret))
}

// publicPEM is the public key as a PEM file. A forger of the alg header signs with it.
func (i issuer) publicPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(i.key.Public()))})
}

// good is a set of claims that nothing is wrong with.
func good(user string) jwt.MapClaims {
	return jwt.MapClaims{"sub": user, "exp": noon.Add(time.Hour).Unix()}
}

// with is a copy of claims with one changed; a nil value removes it.
func with(claims jwt.MapClaims, name string, value any) jwt.MapClaims {
	c := maps.Clone(claims)
	c[name] = value
	if value == nil {
		delete(c, name)
	}
	return c
}

// noon is the time in these tests.
var noon = time.Date(2026, 2, 17, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }
