package login_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/grabtest"
	"redrain/grab/store"
	"redrain/internal/testenv"
	"redrain/server/login"
)

var pass = login.Pass{User: "李雷", Token: "eyJ.the-token.sig", Until: 1_790_000_000_000}

// TestACodeWorksOnce: of all who come with a code at once, on two nodes, one gets the pass.
func TestACodeWorksOnce(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			space := testenv.Namespace(t)
			nodes := []*login.Codes{node(rdb, space), node(rdb, space)}
			code, err := nodes[0].Make(t.Context(), pass, time.Minute)
			if err != nil || len(code) < 26 {
				t.Fatalf("%q, %v", code, err)
			}
			another, err := nodes[1].Make(t.Context(), login.Pass{User: "other"}, time.Minute)
			if err != nil || another == code {
				t.Fatalf("%q, %v", another, err)
			}
			var got, refused atomic.Int32
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					switch p, err := nodes[i%2].Take(t.Context(), code); {
					case err == nil && p == pass:
						got.Add(1)
					case errors.Is(err, login.ErrNoCode):
						refused.Add(1)
					default:
						t.Errorf("%+v, %v", p, err)
					}
				})
			}
			wg.Wait()
			if got.Load() != 1 || refused.Load() != 19 {
				t.Errorf("%d have the pass, %d are refused", got.Load(), refused.Load())
			}
			if p, err := nodes[0].Take(t.Context(), another); err != nil || p.User != "other" {
				t.Errorf("the other code: %+v, %v", p, err)
			}
		})
	}
}

func node(rdb redis.UniversalClient, space string) *login.Codes {
	return login.NewCodes(store.NewLogins(store.New(rdb, store.Options{Namespace: space})))
}

// TestACodeExpires: Redis forgets it by itself.
func TestACodeExpires(t *testing.T) {
	for name, rdb := range grabtest.Backends(t) {
		t.Run(name, func(t *testing.T) {
			space := testenv.Namespace(t)
			var kept keeper
			kept.Store = store.NewLogins(store.New(rdb, store.Options{Namespace: space}))
			testenv.Must(t, testenv.Err(login.NewCodes(&kept).Make(t.Context(), pass, login.Life)))
			ttl := rdb.PTTL(t.Context(), space+":{login."+kept.name+"}:pass").Val()
			if ttl <= 0 || ttl > login.Life {
				t.Errorf("it is kept for %v", ttl)
			}
		})
	}
}

// keeper is a store that shows its content, as to a thief.
type keeper struct {
	login.Store

	name  string
	value []byte
}

func (k *keeper) Keep(ctx context.Context, name string, value []byte, life time.Duration) error {
	k.name, k.value = name, value
	if k.Store == nil {
		return nil
	}
	return k.Store.Keep(ctx, name, value, life)
}

func (k *keeper) Take(context.Context, string) ([]byte, error) { return k.value, nil }

// TestWhatIsKeptTellsNothing: the store's content reveals neither the code nor the token nor the player. A value that
// was sealed for one code is useless with another.
func TestWhatIsKeptTellsNothing(t *testing.T) {
	var kept keeper
	codes := login.NewCodes(&kept)
	code, err := codes.Make(t.Context(), pass, time.Minute)
	testenv.Must(t, err)
	for _, secret := range []string{code, pass.Token, pass.User} {
		if bytes.Contains(kept.value, []byte(secret)) || strings.Contains(kept.name, secret) {
			t.Errorf("%q can be read", secret)
		}
	}
	if p, err := codes.Take(t.Context(), code); err != nil || p != pass {
		t.Errorf("%+v, %v", p, err)
	}
	stranger, err := login.NewCodes(&keeper{}).Make(t.Context(), pass, time.Minute)
	testenv.Must(t, err)
	for _, wrong := range []string{stranger, "", "x", kept.name, strings.ToLower(code), code + "A",
		strings.Repeat("A", 1<<20)} {
		if p, err := codes.Take(t.Context(), wrong); !errors.Is(err, login.ErrNoCode) {
			t.Errorf("%.40q: %+v, %v", wrong, p, err)
		}
	}
	kept.value[len(kept.value)/2]++
	if p, err := codes.Take(t.Context(), code); !errors.Is(err, login.ErrNoCode) {
		t.Errorf("forged: %+v, %v", p, err)
	}
}
