package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"redrain/internal/loop"
)

// ErrKeysUnavailable is returned by Verify while no key set could be fetched. The token may be valid: the player may
// try again.
var ErrKeysUnavailable = errors.New("the keys of players' tokens are not available yet")

var errUnknownKey = errors.New("its key is not in the key set")

const (
	refreshEvery = 5 * time.Minute // a revoked key is refused after this time
	retryFirst   = time.Second     // after a failed fetch; doubles up to retryMost
	retryMost    = 30 * time.Second
	fetchTimeout = 5 * time.Second
	maxKeySet    = 1 << 20 // bytes
	// unknownKeyGap is the least time between two fetches that tokens with unknown keys cause. Without it, a stranger
	// with made-up key ids could turn each token into a request to the provider.
	unknownKeyGap = 10 * time.Second
	// maxTried is the number of keys that a token's signature is compared with: a stranger's token costs that many
	// verifications.
	maxTried = 32
)

// keyTypes has the type of the keys that sign by each algorithm of a provider.
var keyTypes = map[string]jwkset.KTY{
	jwt.SigningMethodRS256.Alg(): jwkset.KtyRSA, jwt.SigningMethodES256.Alg(): jwkset.KtyEC,
	jwt.SigningMethodEdDSA.Alg(): jwkset.KtyOKP,
}

// asymmetric lists the algorithms of tokens that a provider's key signs.
var asymmetric = slices.Sorted(maps.Keys(keyTypes))

// keySource keeps a copy of the identity provider's key set. The copy is only replaced by another usable set, so the
// known keys stay in use while the provider is down.
type keySource struct {
	of     string // whose tokens, for the log
	locate func(ctx context.Context, client *http.Client) (address string, err error)
	client *http.Client
	log    *slog.Logger

	current atomic.Pointer[keySet] // nil until the first fetch succeeds

	fetching sync.Mutex // one fetch at a time; guards what follows
	fetched  time.Time  // start of the last one; long ago if there was none
	failing  bool
}

// keySet holds the usable keys of one answer of the provider. Several keys may have the same id, or none.
type keySet []jwkset.JWK

// newKeySource returns the source of a provider. locate finds the address of its key set, before each fetch. client
// is nil for a new one.
func newKeySource(of string, locate func(context.Context, *http.Client) (string, error), client *http.Client,
	log *slog.Logger) *keySource {
	if client == nil {
		//nolint:forcetypeassert // the standard library's
		client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	return &keySource{of: of, locate: locate, client: client, log: log}
}

// away reports whether the last fetch has failed.
func (s *keySource) away() bool {
	s.fetching.Lock()
	defer s.fetching.Unlock()
	return s.failing
}

// run fetches the set at once and then regularly, sooner after a failure, until ctx ends.
func (s *keySource) run(ctx context.Context, recoverer *loop.Recoverer) {
	defer s.client.CloseIdleConnections()
	_ = loop.Run(ctx, loop.Spec{Part: "keys", Every: refreshEvery, Retry: retryFirst, RetryMost: retryMost,
		Do: func(ctx context.Context) error {
			if !s.fetch(ctx, 0) {
				return ErrKeysUnavailable // fetch has logged the error
			}
			return nil
		}, Recoverer: recoverer, Log: s.log})
}

// find returns the keys that may have signed a token: those with the id that it names, or all if it names none. An
// unknown key may be new at the provider, so the set is fetched again before the token is refused. The fetch serves all
// callers, so it goes on when ctx, which is one caller's, ends.
func (s *keySource) find(ctx context.Context, t *jwt.Token) (any, error) {
	if err := checkForm(t); err != nil {
		return nil, err
	}
	name, named := t.Header[jwkset.HeaderKID]
	id, _ := name.(string)
	set := s.current.Load()
	if set == nil || named && !set.has(id) {
		s.fetch(context.WithoutCancel(ctx), unknownKeyGap)
		set = s.current.Load()
	}
	switch {
	case set == nil:
		return nil, ErrKeysUnavailable
	case named && !set.has(id):
		return nil, errUnknownKey
	}
	var candidates jwt.VerificationKeySet // the parser tries them in turn
	for _, key := range *set {
		m := key.Marshal()
		if (!named || m.KID == id) && m.KTY == keyTypes[t.Method.Alg()] &&
			(m.ALG == "" || m.ALG.String() == t.Method.Alg()) && len(candidates.Keys) < maxTried {
			candidates.Keys = append(candidates.Keys, key.Key())
		}
	}
	if len(candidates.Keys) == 0 {
		return nil, fmt.Errorf("its key is not for the algorithm %s", t.Method.Alg())
	}
	return candidates, nil
}

func (s keySet) has(id string) bool {
	return slices.ContainsFunc(s, func(key jwkset.JWK) bool { return key.Marshal().KID == id })
}

// fetch replaces the copy, unless the last fetch began less than gap ago. It waits for a fetch in progress. It reports
// whether the last fetch succeeded.
func (s *keySource) fetch(ctx context.Context, gap time.Duration) bool {
	s.fetching.Lock()
	defer s.fetching.Unlock()
	if time.Since(s.fetched) < gap {
		return !s.failing
	}
	s.fetched = time.Now()
	set, err := s.get(ctx)
	if err != nil {
		s.failing = true
		if ctx.Err() == nil {
			s.log.Warn("cannot fetch the keys of tokens; trying again", "of", s.of, "err", err, "have_keys",
				s.current.Load() != nil)
		}
		return false
	}
	if s.failing || s.current.Load() == nil {
		s.log.Info("fetched the keys of tokens", "of", s.of, "keys", len(set))
	}
	s.failing = false
	s.current.Store(&set)
	return true
}

// get fetches the set from the provider. It leaves out keys of an unknown kind and keys that are not for signatures, as
// RFC 7517 (section 5) asks. A provider that adds such a key must not lock all users out. A set without a single usable
// key is an error, which keeps the old copy.
func (s *keySource) get(ctx context.Context) (keySet, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	address, err := s.locate(ctx, s.client)
	if err != nil {
		return nil, err
	}
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := getJSON(ctx, s.client, address, &raw); err != nil {
		return nil, fmt.Errorf("read the key set: %w", err)
	}
	var set keySet
	for i, one := range raw.Keys {
		var m jwkset.JWKMarshal
		var key jwkset.JWK
		err := json.Unmarshal(one, &m)
		if err == nil {
			// Only the public half is read, even if a provider publishes the private one by mistake.
			key, err = jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{Private: false},
				jwkset.JWKValidateOptions{})
		}
		if err == nil && m.USE == jwkset.UseEnc {
			err = errors.New("it is for encryption")
		}
		if err != nil {
			s.log.Debug("left a key out", "index", i, "reason", err)
			continue
		}
		set = append(set, key)
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("none of the %d keys of the set can verify signatures", len(raw.Keys))
	}
	return set, nil
}

// ProbeKeySet returns nil if an address has a key set that can verify players' tokens.
func ProbeKeySet(ctx context.Context, client *http.Client, address string) error {
	return probe(ctx, client, func(context.Context, *http.Client) (string, error) { return address, nil })
}

// ProbeIssuer is ProbeKeySet for the OpenID Connect provider of a flag, which its errors name.
func ProbeIssuer(flag string) func(ctx context.Context, client *http.Client, issuer string) error {
	return func(ctx context.Context, client *http.Client, issuer string) error {
		return probe(ctx, client, (&Issuer{o: IssuerOptions{Flag: flag, Issuer: issuer}}).locate)
	}
}

func probe(ctx context.Context, client *http.Client,
	locate func(context.Context, *http.Client) (string, error)) error {
	_, err := newKeySource("", locate, client, slog.New(slog.DiscardHandler)).get(ctx)
	return err
}

// getJSON reads a provider's document.
func getJSON(ctx context.Context, client *http.Client, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the provider answered %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKeySet+1))
	switch {
	case err != nil:
		return err
	case len(body) > maxKeySet:
		return fmt.Errorf("the document is larger than %d bytes", maxKeySet)
	}
	return json.Unmarshal(body, into)
}
