package server

import (
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"redrain/internal/testenv"
	"redrain/server/config"
	"redrain/server/servertest"
)

// startNATS starts a server of the test's own, in this process, whose settings a test may change.
func startNATS(t *testing.T, o *natsserver.Options) *natsserver.Server {
	t.Helper()
	o.Host, o.Port, o.JetStream, o.StoreDir, o.NoLog, o.NoSigs = "127.0.0.1", natsserver.RANDOM_PORT, true, t.TempDir(),
		true, true
	s := testenv.Got(natsserver.NewServer(o)).Must(t)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(testenv.Patiently(10 * time.Second)) {
		t.Fatal("NATS does not start")
	}
	return s
}

// onNATS is the configuration of a node with a NATS of its own.
func onNATS(url string) config.Config {
	cfg := config.Default()
	cfg.Listen, cfg.NATS, cfg.Demo = "127.0.0.1:0", url, false
	cfg.OperatorToken, cfg.JWTSecret = "a token of the tests", "a secret of at least thirty-two bytes"
	cfg.DrainDelay = new(time.Duration)
	return cfg
}

// TestNATSRefusesTheUserForAWhile: the library would close the connection for good when the user is refused twice.
func TestNATSRefusesTheUserForAWhile(t *testing.T) {
	t.Parallel()
	o := &natsserver.Options{Username: "rain", Password: "right"}
	ns := startNATS(t, o)
	var log servertest.Log
	s := testenv.Got(New(t.Context(), onNATS("nats://rain:right@"+ns.Addr().String()),
		slog.New(slog.NewTextHandler(&log, nil)), io.Discard)).Must(t)
	stop := testenv.Run(t, s.Run)
	change := func(password string) {
		t.Helper()
		next := o.Clone()
		next.Password = password
		testenv.Must(t, ns.ReloadOptions(next))
	}
	tries := s.back.nats.Stats().Reconnects
	change("another")
	testenv.Eventually(t, 20*time.Second, "the user is refused four times", func() bool {
		return s.back.nats.Stats().Reconnects >= tries+4 || s.back.nats.IsClosed()
	})
	change("right")
	testenv.Eventually(t, 20*time.Second, "the node is connected again", s.back.nats.IsConnected)
	stop()
	testenv.Contains(t, log.String(), "authorization violation", "log")
	testenv.Contains(t, log.String(), "works again", "log")
}

// TestAClosedConnectionToNATSEndsTheProcess: an answer that the library does not know makes it give up.
func TestAClosedConnectionToNATSEndsTheProcess(t *testing.T) {
	t.Parallel()
	proxy := testenv.NewProxy(t, startNATS(t, &natsserver.Options{}).Addr().String())
	s := testenv.Got(New(t.Context(), onNATS("nats://"+proxy.Addr), slog.New(slog.DiscardHandler), io.Discard)).Must(t)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context()) }()
	testenv.Eventually(t, 10*time.Second, "the library gives up", func() bool {
		proxy.Say("-ERR 'Nothing Known'\r\n")
		return s.back.nats.IsClosed()
	})
	err := <-ended
	testenv.WantErr(t, err, errNATSClosed, "the process ends with")
	testenv.Contains(t, err.Error(), "Nothing Known", "the end's reason")
}

// TestMessagesOfTheNATSLibraryAreLogged: what it would write to standard error.
func TestMessagesOfTheNATSLibraryAreLogged(t *testing.T) {
	t.Parallel()
	user := &natsserver.User{Username: "rain", Password: "p", Permissions: &natsserver.Permissions{
		Publish: &natsserver.SubjectPermission{Deny: []string{"denied"}}}}
	ns := startNATS(t, &natsserver.Options{Users: []*natsserver.User{user}})
	var log servertest.Log
	options := testenv.Got(natsOptions(&config.Config{}, slog.New(slog.NewTextHandler(&log, nil)))).Must(t)
	nc := testenv.Got(nats.Connect("nats://rain:p@"+ns.Addr().String(), options...)).Must(t)
	t.Cleanup(nc.Close)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	sub := testenv.Got(nc.Subscribe("slow", func(*nats.Msg) { <-release })).Must(t)
	testenv.Must(t, sub.SetPendingLimits(1, 1<<10))
	for range 5 {
		testenv.Must(t, nc.Publish("slow", nil))
	}
	testenv.Must(t, nc.Publish("denied", nil))
	testenv.Must(t, nc.Flush())
	for _, want := range []string{"slow consumer", "subject=slow", "ermissions Violation"} {
		testenv.Eventually(t, 10*time.Second, want, func() bool {
			return strings.Contains(log.String(), want)
		})
	}
}

// TestASilentConnectionToNATSIsReplaced: one that stays open although its server is gone.
func TestASilentConnectionToNATSIsReplaced(t *testing.T) {
	t.Parallel()
	proxy := testenv.NewProxy(t, startNATS(t, &natsserver.Options{}).Addr().String())
	options := testenv.Got(natsOptions(&config.Config{}, slog.New(slog.DiscardHandler))).Must(t)
	options = append(options, nats.PingInterval(20*time.Millisecond))
	nc := testenv.Got(nats.Connect("nats://"+proxy.Addr, options...)).Must(t)
	t.Cleanup(nc.Close)
	proxy.Freeze()
	testenv.Eventually(t, 10*time.Second, "another connection", func() bool {
		return nc.Stats().Reconnects == 1 && nc.IsConnected()
	})
}

// TestUsersOfNATS: an nkey, and a credentials file. When the user is refused, the process ends for a new nkey to be
// used, and credentials are read again.
func TestUsersOfNATS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		t.Helper()
		file := filepath.Join(dir, name)
		testenv.Must(t, os.WriteFile(file, text, 0o600))
		return file
	}
	t.Run("nkey", func(t *testing.T) {
		user := testenv.Got(nkeys.CreateUser()).Must(t)
		o := &natsserver.Options{Nkeys: []*natsserver.NkeyUser{{Nkey: publicOf(t, user)}}}
		ns := startNATS(t, o)
		cfg := onNATS("nats://" + ns.Addr().String())
		cfg.NATSNkey = write("user.nk", testenv.Got(user.Seed()).Must(t))
		s := testenv.Got(New(t.Context(), cfg, slog.New(slog.DiscardHandler), io.Discard)).Must(t)
		ended := make(chan error, 1)
		go func() { ended <- s.Run(t.Context()) }()
		user = testenv.Got(nkeys.CreateUser()).Must(t)
		write("user.nk", testenv.Got(user.Seed()).Must(t))
		next := o.Clone()
		next.Nkeys = []*natsserver.NkeyUser{{Nkey: publicOf(t, user)}}
		testenv.Must(t, ns.ReloadOptions(next))
		testenv.WantErr(t, <-ended, errNATSClosed, "with another key in the file the process ends with")
		serveOn(t, cfg, func(*Server) {})
		cfg.NATSNkey = filepath.Join(dir, "none.nk")
		_, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler), io.Discard)
		testenv.WantErr(t, err, os.ErrNotExist, "a seed that is not there")
	})
	for name, user := range map[string]func(password string) string{
		"password in a file": func(password string) string { return "rain:" + password },
		"token in a file":    func(password string) string { return password },
	} {
		t.Run(name, func(t *testing.T) {
			o := &natsserver.Options{Username: "rain", Password: "first"}
			if user("") == "" {
				o = &natsserver.Options{Authorization: "first"}
			}
			ns := startNATS(t, o)
			use := func(password string) string {
				addr := "nats://" + user(password) + "@" + ns.Addr().String()
				write("nats", []byte(addr+"\n"))
				return addr
			}
			cfg := onNATS(use("first"))
			cfg.SecretFiles = map[string]string{"nats": filepath.Join(dir, "nats")}
			serveOn(t, cfg, func(s *Server) {
				use("second")
				next := o.Clone()
				if next.Password != "" {
					next.Password = "second"
				} else {
					next.Authorization = "second"
				}
				tries := s.back.nats.Stats().Reconnects
				testenv.Must(t, ns.ReloadOptions(next))
				testenv.Eventually(t, 30*time.Second, "the node is connected again", func() bool {
					return s.back.nats.Stats().Reconnects > tries && s.back.nats.IsConnected()
				})
			})
		})
	}
	t.Run("credentials", func(t *testing.T) {
		operator, account := testenv.Got(nkeys.CreateOperator()).Must(t), testenv.Got(nkeys.CreateAccount()).Must(t)
		system := testenv.Got(nkeys.CreateAccount()).Must(t)
		own := jwt.NewAccountClaims(publicOf(t, account))
		own.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
		resolver := &natsserver.MemAccResolver{}
		for _, claims := range []*jwt.AccountClaims{own, jwt.NewAccountClaims(publicOf(t, system))} {
			testenv.Must(t, resolver.Store(claims.Subject, testenv.Got(claims.Encode(operator)).Must(t)))
		}
		ns := startNATS(t, &natsserver.Options{AccountResolver: resolver, SystemAccount: publicOf(t, system),
			TrustedOperators: []*jwt.OperatorClaims{jwt.NewOperatorClaims(publicOf(t, operator))}})
		credentials := func() (user string) {
			t.Helper()
			key := testenv.Got(nkeys.CreateUser()).Must(t)
			token := testenv.Got(jwt.NewUserClaims(publicOf(t, key)).Encode(account)).Must(t)
			write("user.creds", testenv.Got(jwt.FormatUserConfig(token, testenv.Got(key.Seed()).Must(t))).Must(t))
			return publicOf(t, key)
		}
		user := credentials()
		cfg := onNATS("nats://" + ns.Addr().String())
		cfg.NATSCreds = filepath.Join(dir, "user.creds")
		serveOn(t, cfg, func(s *Server) {
			before := s.back.nats.Stats().Reconnects
			credentials()
			own.Revoke(user)
			ns.UpdateAccountClaims(testenv.Got(ns.LookupAccount(own.Subject)).Must(t), own)
			testenv.Eventually(t, 20*time.Second, "the node is connected as the new user", func() bool {
				return s.back.nats.Stats().Reconnects > before && s.back.nats.IsConnected()
			})
			testenv.Must(t, s.back.nats.FlushTimeout(10*time.Second))
		})
	})
}

// TestAnotherStreamIsRefused: a node whose NATS is another one than that of the other nodes does not start. When no
// node sees the other stream any more, it does.
func TestAnotherStreamIsRefused(t *testing.T) {
	t.Parallel()
	cfg := onNATS("nats://" + startNATS(t, &natsserver.Options{}).Addr().String())
	cfg.Redis, cfg.MySQL = testenv.Redis(t), testenv.MySQL(t)
	cfg.Namespace = strings.ToLower(rand.Text())
	other := cfg
	other.NATS = "nats://" + startNATS(t, &natsserver.Options{}).Addr().String()
	serveOn(t, cfg, func(*Server) {
		impatient := other
		impatient.BackendWait = time.Second
		_, err := New(t.Context(), impatient, slog.New(slog.DiscardHandler), io.Discard)
		testenv.WantErr(t, err, errBackend, "with another stream")
		testenv.Contains(t, fmt.Sprint(err), "give all nodes the same --nats", "the error")
		serveOn(t, cfg, func(*Server) {}) // a second node with the same stream
	})
	serveOn(t, other, func(*Server) {})
}

func publicOf(t *testing.T, key nkeys.KeyPair) string {
	t.Helper()
	return testenv.Got(key.PublicKey()).Must(t)
}
