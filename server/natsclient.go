package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"redrain/internal/loop"
	"redrain/server/config"
)

// natsOptions returns the options of the connection to NATS. It reconnects for ever, also while its user is refused.
// The library's own messages go to log instead of standard error.
func natsOptions(cfg *config.Config, log *slog.Logger) ([]nats.Option, error) {
	connecting := &loop.FailureLog{Work: "connect to NATS", Log: log}
	allowed := &loop.FailureLog{Work: "use NATS with the rights of its user", Log: log}
	options := []nats.Option{
		nats.Name("redrain"), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, time.Second), nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.IgnoreAuthErrorAbort(), // without it the connection ends for good when its user is refused twice
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("the connection to NATS is lost; trying again", "err", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { connecting.Failed(err) }),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			connecting.Works()
			allowed.Works()
			log.Info("connected to NATS again", "url", nc.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
			_, isNetwork := errors.AsType[net.Error](err)
			switch {
			case sub != nil:
				dropped, _ := sub.Dropped()
				log.Warn("a subscription to NATS fails", "subject", sub.Subject, "dropped", dropped, "err", err)
			case isNetwork:
				connecting.Failed(err)
			default:
				allowed.Failed(err)
				if errors.Is(err, nats.ErrAuthorization) && isOtherNkey(cfg.NATSNkey, nc.Opts.Nkey) {
					nc.Close() // which ends the process; the next one has the new key
				}
			}
		}),
	}
	switch {
	case cfg.NATSCreds != "":
		options = append(options, nats.UserCredentials(cfg.NATSCreds))
	case cfg.NATSNkey != "":
		key, err := nats.NkeyOptionFromSeed(cfg.NATSNkey)
		if err != nil {
			return nil, fmt.Errorf("--nats-nkey: %w", err)
		}
		options = append(options, key)
	}
	return options, nil
}

// natsLogin returns the addresses without a user, and an option with which each connection has the user of the
// addresses that newest returns. The library would read those of an address once.
func natsLogin(addrs string, newest func() string) (bare string, login nats.Option) {
	var all []string
	for _, addr := range natsURLs(addrs) {
		addr.User = nil
		all = append(all, addr.String())
	}
	bare = strings.Join(all, ",")
	user := func() (name, password string, hasPassword bool) {
		for _, addr := range natsURLs(newest()) {
			if addr.User != nil {
				name = addr.User.Username()
				password, hasPassword = addr.User.Password()
				break
			}
		}
		return name, password, hasPassword
	}
	if name, _, hasPassword := user(); name != "" && !hasPassword {
		return bare, nats.TokenHandler(func() string { token, _, _ := user(); return token })
	}
	return bare, nats.UserInfoHandler(func() (string, string) { name, password, _ := user(); return name, password })
}

// natsURLs parses addresses that Validate has checked.
func natsURLs(addrs string) (all []*url.URL) {
	for addr := range strings.SplitSeq(addrs, ",") {
		if one, err := url.Parse(strings.TrimSpace(addr)); err == nil {
			all = append(all, one)
		}
	}
	return all
}

// isOtherNkey reports whether the file has another key than the one in use, which the library never reads again.
func isOtherNkey(file, inUse string) bool {
	if file == "" {
		return false
	}
	var now nats.Options
	key, err := nats.NkeyOptionFromSeed(file)
	return err == nil && key(&now) == nil && now.Nkey != inUse
}

// errNATSClosed ends the process, so that its supervisor starts it again.
var errNATSClosed = errors.New("the connection to NATS is closed for good; start the process again")

// watchNATS returns errNATSClosed if the client library gives up the connection. It never opens a closed one again.
func (b *backends) watchNATS(ctx context.Context) error {
	closed := b.nats.StatusChanged(nats.CLOSED)
	defer b.nats.RemoveStatusListener(closed)
	if !b.nats.IsClosed() {
		select {
		case <-ctx.Done():
			return nil
		case <-closed:
		}
	}
	return fmt.Errorf("%w: last error: %w", errNATSClosed, b.nats.LastError())
}
