package confirm

import (
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// role is a master's answer to ROLE: its own offset, and that of each replica.
type role struct {
	offset   int64
	replicas []replica // that are online
}

// replica is one of a master.
type replica struct {
	name   string // its address, "ip:port"
	offset int64  // up to which it has acknowledged
}

// errRole means that the answer to ROLE cannot be parsed.
var errRole = errors.New("parse ROLE of redis: no offsets of replicas")

// roleOf parses the answer to ROLE.
func roleOf(cmd *redis.Cmd) (r role, err error) {
	answer, err := cmd.Slice()
	if err != nil {
		return r, err
	}
	if len(answer) == 0 || answer[0] != "master" {
		return r, errNoMaster
	}
	if len(answer) != 3 {
		return r, errRole
	}
	offset, ok1 := answer[1].(int64)
	list, ok2 := answer[2].([]any)
	if !ok1 || !ok2 {
		return r, errRole
	}
	r = role{offset: offset, replicas: make([]replica, len(list))}
	for i, one := range list {
		f, _ := one.([]any)
		if len(f) != 3 {
			return r, errRole
		}
		ip, ok1 := f[0].(string)
		port, ok2 := f[1].(string)
		text, ok3 := f[2].(string)
		has, err := strconv.ParseInt(text, 10, 64)
		if !ok1 || !ok2 || !ok3 || err != nil {
			return r, errRole
		}
		r.replicas[i] = replica{ip + ":" + port, has}
	}
	return r, nil
}
