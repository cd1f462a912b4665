package embedded

import (
	"context"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
)

func startRedis(t *testing.T) *redis.Client {
	t.Helper()
	r, err := Redis()
	testenv.Must(t, err)
	t.Cleanup(func() { r.Close(); r.Close() }) // a second time does nothing
	rdb := redis.NewClient(&redis.Options{Addr: r.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func TestRedisKeysExpireInRealTime(t *testing.T) {
	ctx, rdb := context.Background(), startRedis(t)
	start := time.Now()
	for key, ttl := range map[string]time.Duration{"short": 1500 * time.Millisecond, "long": time.Hour} {
		testenv.Must(t, rdb.Set(ctx, key, 1, ttl).Err())
	}
	testenv.Eventually(t, 10*time.Second, "the short-lived key is gone", func() bool {
		return rdb.Exists(ctx, "short").Val() == 0
	})
	// The key was set between two ticks, so its time may have begun up to a tick early.
	if lived := time.Since(start); lived < 1500*time.Millisecond-tickEvery {
		t.Errorf("the short-lived key lived %v, want about 1.5s", lived)
	}
	if left := rdb.TTL(ctx, "long").Val(); left > time.Hour-time.Second || left < 59*time.Minute {
		t.Errorf("the long-lived key has %v left", left)
	}
}

func TestTickMakesUpForDroppedTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start, passed := time.Now(), time.Duration(0)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			tick(ctx, func(d time.Duration) {
				if passed == 0 {
					time.Sleep(5 * time.Second) //nolint:forbidigo // a machine that stands still, in a bubble
				}
				passed += d
			})
		}()
		time.Sleep(10*time.Second + time.Millisecond) //nolint:forbidigo // in a bubble
		cancel()
		<-ended
		if want := time.Since(start).Truncate(time.Second); passed != want {
			t.Errorf("moved by %v in %v", passed, want)
		}
	})
}

// scriptArgs returns n arguments.
func scriptArgs(n int) []any {
	args := make([]any, n)
	for i := range args {
		args[i] = "u" + strconv.Itoa(i)
	}
	return args
}

// nested spreads its arguments in a call three functions deep.
var nested = redis.NewScript(`
local function push(list) return redis.call('RPUSH', KEYS[1], unpack(list)) end
local function outer(list) local n = push(list) return n end
return outer(ARGV)`)

func TestScriptsSpreadWhatRealRedisSpreads(t *testing.T) {
	for name, addr := range map[string]string{"embedded": "", "real": testenv.Redis(t)} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			var rdb *redis.Client
			if addr == "" {
				rdb = startRedis(t)
			} else {
				rdb = redis.NewClient(&redis.Options{Addr: addr})
				t.Cleanup(func() { _ = rdb.Close() })
			}
			for _, n := range []int{1, 1000, 5000, 7900} {
				key := testenv.Namespace(t)
				if got, err := nested.Run(ctx, rdb, []string{key}, scriptArgs(n)...).Int(); err != nil || got != n {
					t.Errorf("%d values: pushed %d, %v", n, got, err)
				}
				rdb.Del(ctx, key)
			}
		})
	}
}

func TestRedisTellsThatItHasNoReplicas(t *testing.T) {
	form := regexp.MustCompile(`^# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:\w+\r\n$`)
	seen := map[string]bool{}
	for range 2 {
		info, err := startRedis(t).Info(context.Background(), "replication").Result()
		if err != nil || !form.MatchString(info) || seen[info] {
			t.Errorf("%q, %v", info, err)
		}
		seen[info] = true // each process has a history of its own
	}
}
