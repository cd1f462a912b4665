package doctor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"redrain/docs"
	"redrain/server/health"
)

// optional is the only command of docs/rights.redis.conf without which nothing is lost: see docs/use/deploy.md.
const optional = "config|get"

func (r *report) addRedisRights(missing map[string]bool, namespace string, err error) {
	const check = "redis_rights"
	switch refused := slices.Sorted(maps.Keys(missing)); {
	case err != nil:
		r.add(health.Warn, check, "they cannot be tried: %v; compare them with docs/rights.redis.conf", err)
	case len(refused) == 0:
		r.add(health.OK, check, "the user may run the commands of docs/rights.redis.conf on keys %s:*", namespace)
	case slices.Equal(refused, []string{optional}):
		r.add(health.Warn, check, "the user may not run %s, so redrain assumes Redis's default timeouts; apply "+
			"docs/rights.redis.conf", optional)
	default:
		r.add(health.Fail, check, "the user may not run %s on keys %s:*; apply docs/rights.redis.conf",
			strings.Join(refused, ", "), namespace)
	}
}

// grantedCommands returns the commands of docs/rights.redis.conf, those of a container as "config|get".
func grantedCommands() (all []string) {
	_, rights, _ := strings.Cut(docs.RightsRedis, "\nuser redrain ")
	for word := range strings.FieldsSeq(rights) {
		if command, ok := strings.CutPrefix(word, "+"); ok {
			all = append(all, command)
		}
	}
	return all
}

// refusedCommands returns the granted commands that the user may not run. ACL DRYRUN would need a right of its own. So
// each command is queued in a transaction, where Redis checks the rights, and the transaction is aborted.
func refusedCommands(ctx context.Context, master redis.Cmdable, namespace string) (refused []string, err error) {
	_, err = queue(ctx, master, nil)
	if redis.HasErrorPrefix(err, "NOPERM") {
		return []string{"multi", "exec"}, nil
	}
	if err != nil {
		return nil, err
	}
	arities, err := readArities(ctx, master)
	if redis.HasErrorPrefix(err, "NOPERM") {
		return []string{"command"}, nil
	}
	if err != nil {
		return nil, err
	}
	commands := slices.DeleteFunc(grantedCommands(), func(name string) bool {
		return name == "multi" || name == "exec" || arities[name] == 0 // the first two have been used
	})
	errs, err := queue(ctx, master, func(p redis.Pipeliner) (all []redis.Cmder) {
		for _, name := range commands {
			var args []any
			for word := range strings.SplitSeq(name, "|") {
				args = append(args, word)
			}
			for len(args) < arities[name] {
				args = append(args, namespace+":{probe}:rights")
			}
			all = append(all, p.Do(ctx, args...))
		}
		return all
	})
	for i, err := range errs {
		if redis.HasErrorPrefix(err, "NOPERM") {
			refused = append(refused, commands[i])
		}
	}
	return refused, err
}

// readArities returns the least number of words of each granted command that Redis knows.
func readArities(ctx context.Context, master redis.Cmdable) (map[string]int, error) {
	args := []any{"command", "info"}
	for _, name := range grantedCommands() {
		args = append(args, name)
	}
	var info *redis.Cmd
	if _, err := master.Pipelined(ctx, func(p redis.Pipeliner) error {
		info = p.Do(ctx, args...)
		return nil
	}); err != nil {
		return nil, err
	}
	arities := map[string]int{}
	all, err := info.Slice()
	for _, one := range all {
		if fields, _ := one.([]any); len(fields) > 1 { // nil: a command of another version
			name, _ := fields[0].(string)
			words, _ := fields[1].(int64)
			arities[name] = int(max(words, -words))
		}
	}
	return arities, err
}

var errNotAborted = errors.New("a transaction with a fault was not aborted")

// queue queues commands in a transaction that Redis aborts, because it has a command without its argument.
func queue(ctx context.Context, master redis.Cmdable,
	put func(p redis.Pipeliner) []redis.Cmder) (errs []error, err error) {
	var multi, exec *redis.Cmd
	var queued []redis.Cmder
	_, _ = master.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its own error
		multi = p.Do(ctx, "multi")
		_ = p.Do(ctx, "get")
		if put != nil {
			queued = put(p)
		}
		exec = p.Do(ctx, "exec")
		return nil
	})
	switch {
	case multi.Err() != nil:
		return nil, multi.Err()
	case exec.Err() == nil:
		return nil, errNotAborted
	case !redis.HasErrorPrefix(exec.Err(), "EXECABORT"):
		return nil, exec.Err()
	}
	for _, c := range queued {
		errs = append(errs, c.Err())
	}
	return errs, nil
}
