package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/payout/pipeline"
	"redrain/server/health"
)

func askNATS(ctx context.Context, o Options) (r report) {
	if o.Config.NATS == "" {
		r.add(health.OK, "nats", "it is in this process")
		return r
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options, err := o.NATS()
	if err != nil {
		r.add(health.Fail, "nats", "%v", err)
		return r
	}
	nc, err := nats.Connect(o.Config.NATS, append(options,
		// A refused request has no answer. The refusal comes beside it, and ends the wait.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) { cancel() }))...)
	if err != nil {
		r.add(health.Fail, "nats", "no connection: %v; check --nats, its user and the network", err)
		return r
	}
	defer nc.Close()
	r.addIf(nc.MaxPayload() >= pipeline.LeastPayload, "nats_payload",
		fmt.Sprintf("max_payload is %d bytes", nc.MaxPayload()), health.Fail,
		fmt.Sprintf("max_payload is %d bytes, so large batches of wins are not paid; set it to 1 MB", nc.MaxPayload()))
	r.askJetStream(ctx, nc, o.Config.Namespace)
	err = refusal(nc)
	r.addIf(err == nil, "nats_rights", "the user may use the stream and the subjects of nodes", health.Fail,
		fmt.Sprintf("%v; apply docs/rights.nats.conf", err))
	return r
}

// refusal returns the reason for which NATS has refused a request; nil if it has refused none.
func refusal(nc *nats.Conn) error {
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return err
	}
	return nil
}

// askJetStream returns at the first refused request, without a finding about it.
func (r *report) askJetStream(ctx context.Context, nc *nats.Conn, namespace string) {
	js, err := jetstream.New(nc)
	if err == nil {
		_, err = js.AccountInfo(ctx)
	}
	if refusal(nc) != nil {
		return
	}
	if err != nil {
		r.add(health.Fail, "nats_jetstream", "it does not answer: %v; set jetstream in the server and in the account",
			err)
		return
	}
	r.add(health.OK, "nats_jetstream", "nats-server %s has JetStream", nc.ConnectedServerVersion())
	r.askStream(ctx, js, namespace)
	if control, err := nc.SubscribeSync(namespace + ".control.>"); err == nil {
		_ = nc.FlushWithContext(ctx) // a refusal comes before its answer
		_ = control.Unsubscribe()
	}
}

// askStream examines the payout stream, and creates none.
func (r *report) askStream(ctx context.Context, js jetstream.JetStream, namespace string) {
	publisher, err := pipeline.NewPublisher(js, namespace, nil, nil)
	if err != nil {
		r.add(health.Fail, "nats_stream", "%v", err)
		return
	}
	stream, err := publisher.Stream(ctx)
	switch {
	case refusal(js.Conn()) != nil:
		return
	case errors.Is(err, jetstream.ErrStreamNotFound):
		r.add(health.Warn, "nats_stream", "there is no payout stream yet; the first node creates it")
		return
	case err != nil:
		r.add(health.Fail, "nats_stream", "read the payout stream: %v", err)
		return
	}
	r.judgeStream(stream.CachedInfo(), js.Conn())
	probe := health.NATS(publisher.Probe)
	if f := probe.Ask(ctx); refusal(js.Conn()) == nil {
		r.add(f.Level, f.Backend, "%s", f.Text)
	}
}

// judgeStream examines the storage and the replicas of the payout stream.
func (r *report) judgeStream(info *jetstream.StreamInfo, nc *nats.Conn) {
	r.addIf(info.Config.Storage == jetstream.FileStorage, "nats_stream", info.Config.Name+" is stored in files",
		health.Fail, info.Config.Name+" is stored in memory, so a restart of NATS loses wins; delete the stream while "+
			"no node runs, and the next one creates it in files")
	const enough = 3 // servers, for a stream that survives one of them
	servers := 1
	if nc.ConnectedClusterName() != "" {
		servers = len(nc.Servers())
	}
	r.addIf(info.Config.Replicas > 1 || servers < enough, "nats_replicas",
		fmt.Sprintf("%s has %d of %d servers", info.Config.Name, info.Config.Replicas, servers), health.Warn,
		fmt.Sprintf("%s is on one of %d servers, so its loss stops payouts; run nats stream edit %s --replicas 3",
			info.Config.Name, servers, info.Config.Name))
}
