package doctor

import (
	"context"
	"crypto/x509"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"redrain/server/config"
	"redrain/server/health"
	"redrain/server/timeout"
)

// Finding is the result of one check.
type Finding struct {
	Check string       `json:"check"`
	Level health.Level `json:"level"`
	Text  string       `json:"text"` // the state, and the remedy unless it is good
	Link  string       `json:"link"` // the section of the documentation about it
}

// Options are the options of an examination. All are required unless stated otherwise.
type Options struct {
	Config config.Config // valid settings
	// NATS returns the options of a connection to NATS.
	NATS func() ([]nats.Option, error)
	// Nodes is the number of nodes that will share the database.
	Nodes int
	// Roots has the trusted authorities of HTTPS addresses. Nil: the system's.
	Roots *x509.CertPool
}

// within is the time limit of each back end and each address.
const within = timeout.Request

// Examine asks everything at once, and returns the findings in a fixed order.
func Examine(ctx context.Context, o Options) (all []Finding) {
	parts := append([]func(context.Context, Options) report{askRedis, askNATS, askMySQL, inspectProcess},
		addresses(o)...)
	reports := make([]report, len(parts))
	var asking sync.WaitGroup
	for i, ask := range parts {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, within)
			defer cancel()
			reports[i] = ask(ctx, o)
		})
	}
	asking.Wait()
	var together report
	for _, r := range reports {
		all = append(all, r.findings...)
		together.join(r)
	}
	together.compare(o.Config.Namespace)
	return append(all, together.findings...)
}

// report has the findings of one part of the examination.
type report struct {
	findings []Finding
	clocks   []reading
	redis    *string // the name of Redis in its installation; nil: unknown
	holder   *string // the holder of the ledger's lease for its Redis; nil: unknown
}

func (r *report) add(level health.Level, check, text string, args ...any) {
	r.findings = append(r.findings, Finding{check, level, fmt.Sprintf(text, args...), links[check]})
}

// addIf adds good if it holds, else bad with a level.
func (r *report) addIf(holds bool, check, good string, level health.Level, bad string) {
	if holds {
		level, bad = health.OK, good
	}
	r.add(level, check, "%s", bad)
}

// ask runs a check that the nodes repeat.
func (r *report) ask(ctx context.Context, c health.Check) {
	f := c.Ask(ctx)
	r.add(f.Level, f.Backend, "%s", f.Text)
}

// join adds what another report knows about the time and the installation.
func (r *report) join(other report) {
	r.clocks = append(r.clocks, other.clocks...)
	if other.redis != nil {
		r.redis = other.redis
	}
	if other.holder != nil {
		r.holder = other.holder
	}
}

// links has the section of the documentation for each check.
var links = map[string]string{
	"redis": deploy + "#redis", "redis_version": deploy + "#redis", "redis_eviction": deploy + "#redis",
	"redis_appendonly": deploy + "#redis", "redis_rights": deploy + "#redis",
	"redis_replicas":     deploy + "#confirmation-of-wins---confirm",
	"redis_installation": operate + "#the-alarm-other_redis",
	"nats":               deploy + "#nats", "nats_jetstream": deploy + "#nats", "nats_payload": deploy + "#nats",
	"nats_stream": deploy + "#nats", "nats_replicas": deploy + "#nats", "nats_rights": deploy + "#nats",
	"mysql": deploy + "#mysql-or-mariadb", "mysql_version": deploy + "#mysql-or-mariadb",
	"mysql_durability": deploy + "#mysql-or-mariadb", "mysql_connections": deploy + "#mysql-or-mariadb",
	"mysql_settings": deploy + "#mysql-or-mariadb", "mysql_rights": deploy + "#mysql-or-mariadb",
	"mysql_schema": operate + "#stopping-and-updating",
	"data_dir":     deploy + "#data-directory",
	"clocks":       deploy + "#redis",
	"descriptors":  deploy + "#limits-of-a-node",
	"tls_cert":     deploy + "#tls",
	"jwks_url":     "docs/use/access.md#players",
	"oidc_issuer":  "docs/use/access.md#openid-connect",
	"provider_url": "docs/use/payments.md#write-a-receiver",
	"risk_url":     "docs/use/abuse.md#your-own-risk-system",
}

const (
	deploy  = "docs/use/deploy.md"
	operate = "docs/use/operate.md"
)
