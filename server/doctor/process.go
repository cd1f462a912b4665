package doctor

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"redrain/server/config"
	"redrain/server/health"
	"redrain/server/sockets"
)

// inspectProcess examines the limits and the files of a process on this machine.
func inspectProcess(_ context.Context, o Options) (r report) {
	cfg := o.Config
	if cfg.NATS == "" || cfg.MySQL == "" {
		r.addIf(cfg.DataDir != "", "data_dir", "what is in this process is kept in "+cfg.DataDir, health.Warn,
			"nothing that is in this process survives it; set --data-dir, or --redis, --nats and --mysql")
	}
	if cfg.Has(config.RoleGateway) {
		budget := sockets.BudgetOf(sockets.Descriptors())
		r.addIf(budget == 0 || budget >= cfg.MaxConnections, "descriptors",
			fmt.Sprintf("there are enough for %d connections", cfg.MaxConnections), health.Warn,
			fmt.Sprintf("they are enough for %d connections, and --max-connections is %d; raise the limit of open "+
				"files (ulimit -n, LimitNOFILE)", budget, cfg.MaxConnections))
	}
	if cfg.TLSCert == "" {
		return r
	}
	pair, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
	if err != nil {
		r.add(health.Fail, "tls_cert", "read --tls-cert: %v", err)
		return r
	}
	r.judgeExpiry("tls_cert", "it can be served", pair.Leaf.NotAfter, time.Now())
	return r
}
