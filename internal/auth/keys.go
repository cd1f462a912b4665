package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

const (
	refreshEvery = 5 * time.Minute // so a key that was revoked is refused after that time
	retryFirst   = time.Second     // after a failed fetch; doubles up to retryMost
	retryMost    = 30 * time.Second
	fetchTimeout = 5 * time.Second
	maxKeySet    = 1 << 20 // bytes
	// unknownKeyGap is the least time between two fetches caused by tokens whose key is not known. It
	// keeps a stranger with made-up key ids from turning each token into a request to the provider.
	unknownKeyGap = 10 * time.Second
)

// keySource keeps a copy of the identity provider's key set. A copy is replaced as a whole and
// only by a good one, so a provider that is down costs nothing but the news.
type keySource struct {
	url    string
	client *http.Client
	log    *slog.Logger

	current atomic.Pointer[keySet] // nil until the first fetch succeeds

	fetching sync.Mutex // one fetch at a time; guards what follows
	fetched  time.Time  // when the last one began
	failing  bool

	ctx  context.Context //nolint:containedctx // the life of the source; Verify has no context of its own
	stop context.CancelFunc
	done chan struct{}
}

// keySet is one answer of the provider.
type keySet struct {
	keyfunc.Keyfunc
	ids  map[string]bool
	size int
}

func newKeySource(ctx context.Context, o PlayersOptions) (*keySource, error) {
	u, err := url.Parse(o.JWKSURL)
	if err != nil || u.Host == "" {
		return nil, errors.New("the address of the key set is not a URL")
	}
	s := &keySource{url: o.JWKSURL, client: o.HTTPClient, log: o.Log.With("jwks", u.Redacted()),
		done: make(chan struct{})}
	if s.client == nil {
		s.client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()} //nolint:forcetypeassert // the standard library's
	}
	s.ctx, s.stop = context.WithCancel(ctx)
	go s.run()
	return s, nil
}

// run fetches the set at once, then regularly; sooner while it fails.
func (s *keySource) run() {
	defer close(s.done)
	defer s.client.CloseIdleConnections()
	retry := retryFirst
	for {
		wait := refreshEvery
		if s.fetch(0) {
			retry = retryFirst
		} else {
			wait = retry/2 + rand.N(retry/2) //nolint:gosec // spreads the nodes' retries; needs no secrecy
			retry = min(2*retry, retryMost)
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (s *keySource) close() {
	s.stop()
	<-s.done
}

// find is the key that a token names. A key that is not in the copy may be new at the provider, so the
// set is fetched again before the token is refused.
func (s *keySource) find(t *jwt.Token) (any, error) {
	set := s.current.Load()
	if id, _ := t.Header[jwkset.HeaderKID].(string); set == nil || (id != "" && !set.ids[id]) {
		s.fetch(unknownKeyGap)
		if set = s.current.Load(); set == nil {
			return nil, ErrKeysUnavailable
		}
	}
	return set.Keyfunc.Keyfunc(t)
}

// fetch replaces the copy, unless the last fetch began less than gap ago. It waits for a fetch
// under way. It reports whether the copy is good.
func (s *keySource) fetch(gap time.Duration) bool {
	s.fetching.Lock()
	defer s.fetching.Unlock()
	if !s.fetched.IsZero() && time.Since(s.fetched) < gap {
		return !s.failing
	}
	s.fetched = time.Now()
	set, err := s.get()
	if err != nil {
		s.failing = true
		if s.ctx.Err() == nil {
			s.log.Warn("cannot fetch the keys of players' tokens; trying again", "err", err, "have_keys",
				s.current.Load() != nil)
		}
		return false
	}
	if s.failing || s.current.Load() == nil {
		s.log.Info("fetched the keys of players' tokens", "keys", set.size)
	}
	s.failing = false
	s.current.Store(set)
	return true
}

// get asks the provider.
func (s *keySource) get() (*keySet, error) {
	ctx, cancel := context.WithTimeout(s.ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the provider answered %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKeySet+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxKeySet {
		return nil, fmt.Errorf("the key set is larger than %d bytes", maxKeySet)
	}
	return s.parse(body)
}

// parse reads a key set. Keys of a kind that is not known, or that are not for signatures, are left out, as
// RFC 7517 (section 5) asks: a provider that adds such a key must not lock everybody out. A
// set without a single usable key is an error, which leaves the old copy in place.
func (s *keySource) parse(body []byte) (*keySet, error) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, fmt.Errorf("the key set is not JSON: %w", err)
	}
	store, set := jwkset.NewMemoryStorage(), &keySet{ids: make(map[string]bool)}
	for i, r := range raw.Keys {
		key, err := parseKey(r)
		if err != nil {
			s.log.Debug("left a key out", "index", i, "reason", err)
			continue
		}
		if err := store.KeyWrite(s.ctx, key); err != nil {
			return nil, err
		}
		set.ids[key.Marshal().KID] = true
		set.size++
	}
	if set.size == 0 {
		return nil, fmt.Errorf("none of the %d keys of the set can verify signatures", len(raw.Keys))
	}
	var err error
	set.Keyfunc, err = keyfunc.New(keyfunc.Options{Ctx: s.ctx, Storage: store})
	return set, err
}

// usableKeys are the kinds of public key that the allowed algorithms need.
var usableKeys = []jwkset.KTY{jwkset.KtyRSA, jwkset.KtyEC, jwkset.KtyOKP}

func parseKey(raw json.RawMessage) (jwkset.JWK, error) {
	var m jwkset.JWKMarshal
	if err := json.Unmarshal(raw, &m); err != nil {
		return jwkset.JWK{}, err
	}
	if !slices.Contains(usableKeys, m.KTY) {
		return jwkset.JWK{}, fmt.Errorf("its type %q is not usable", m.KTY)
	}
	if m.USE == jwkset.UseEnc {
		return jwkset.JWK{}, errors.New("it is for encryption")
	}
	// Only the public half is taken, should a provider publish more than it ought to.
	return jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{Private: false}, jwkset.JWKValidateOptions{})
}
