package confirm_test

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"redrain/grab/confirm/streamtest"
	"redrain/rain"
)

// task is work that stops before each of its calls to Redis or the stream.
type task struct {
	stopped, resumed chan struct{}
	ended            bool
	cancel           context.CancelFunc
}

type taskKey struct{}

// begin starts a task, up to its first call.
func (b *brain) begin(do func(ctx context.Context)) {
	one := &task{stopped: make(chan struct{}), resumed: make(chan struct{})}
	var ctx context.Context
	ctx, one.cancel = context.WithCancel(context.WithValue(b.t.Context(), taskKey{}, one))
	go func() {
		do(ctx)
		one.ended = true
		one.stopped <- struct{}{}
	}()
	<-one.stopped
	b.tasks = append(b.tasks, one)
	b.prune()
}

// steps lets a task make some calls.
func (b *brain) steps(count int) {
	if len(b.tasks) > 0 {
		b.run(rapid.SampledFrom(b.tasks).Draw(b.rt, "task"), count)
	}
}

func (b *brain) run(one *task, calls int) {
	for ; calls > 0 && !one.ended; calls-- {
		one.resumed <- struct{}{}
		<-one.stopped
	}
	b.prune()
}

// die ends a task where it is.
func (b *brain) die() {
	if len(b.tasks) == 0 {
		return
	}
	one := rapid.SampledFrom(b.tasks).Draw(b.rt, "task")
	for one.cancel(); !one.ended; {
		one.resumed <- struct{}{}
		<-one.stopped
	}
	b.prune()
}

// atCall stops the task of a context before a call. A dead one makes no more calls.
func atCall(ctx context.Context) error {
	if one, is := ctx.Value(taskKey{}).(*task); is && ctx.Err() == nil {
		one.stopped <- struct{}{}
		<-one.resumed
	}
	return ctx.Err()
}

// gatedStream stops tasks before each call, and before its answer comes.
type gatedStream struct{ of *streamtest.Stream }

func (s gatedStream) Publish(ctx context.Context, e rain.Entry) error {
	if err := atCall(ctx); err != nil {
		return err
	}
	_ = s.of.Publish(ctx, e)
	return atCall(ctx)
}

func (s gatedStream) Record(ctx context.Context, campaign string, shard int) (r rain.Epoch, err error) {
	if err := atCall(ctx); err != nil {
		return r, err
	}
	return s.of.Record(ctx, campaign, shard)
}

func (s gatedStream) Claim(ctx context.Context, campaign string, shard int, after uint64, r rain.Epoch) (rain.Epoch,
	error) {
	if err := atCall(ctx); err != nil {
		return r, err
	}
	r, err := s.of.Claim(ctx, campaign, shard, after, r)
	if gone := atCall(ctx); gone != nil {
		return r, gone
	}
	return r, err
}

func (s gatedStream) Newest(ctx context.Context, campaign string, shard int, behind uint64,
	fn func(rain.Entry) error) error {
	if err := atCall(ctx); err != nil {
		return err
	}
	return s.of.Newest(ctx, campaign, shard, behind, fn)
}

// brainHook stops tasks before their scripts and pipelines, and gives the master its history.
type brainHook struct{ history string }

func (*brainHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*brainHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") {
			if err := atCall(ctx); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		return next(ctx, cmd)
	}
}

func (h *brainHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := atCall(ctx); err != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if info, is := cmd.(*redis.StringCmd); is && cmd.Name() == "info" {
				info.SetVal("role:master\r\nconnected_slaves:0\r\nmaster_replid:" + h.history + "\r\n")
			}
		}
		return err
	}
}
