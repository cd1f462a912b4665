package confirm

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// candidates are the replicas of a master that could become master in its place, as the master and its Cluster list
// them. Each of them must have a win before its player is notified, because any of them may be elected.
type candidates struct {
	// count is their number, at least: one or more.
	count int
	// names are their addresses as ROLE writes them. It is nil if the Cluster writes other addresses than the master
	// does (announced ones behind NAT), so that they can only be counted.
	names []string
	// barred are the addresses of replicas that never become master by themselves. Wins do not wait for them, and
	// their acknowledgements do not count.
	barred []string
	until  time.Time // while they are cached
}

// has reports whether all candidates have the writes up to a moment. before is the master's ROLE at that moment,
// after is its ROLE later. Each replica that is online now and not barred must have them, also one that has joined.
func (c *candidates) has(before, after role) bool {
	have := 0
	for _, r := range after.replicas {
		if slices.Contains(c.barred, r.name) {
			continue
		}
		if r.offset < before.offset {
			return false
		}
		have++
	}
	return have >= c.count && c.online(after)
}

// online reports whether all candidates with known addresses are connected to their master.
func (c *candidates) online(now role) bool {
	return !slices.ContainsFunc(c.names, func(name string) bool {
		return !slices.ContainsFunc(now.replicas, func(r replica) bool { return r.name == name })
	})
}

// errNoMaster means that a server that was asked as a master is not a master.
var errNoMaster = errors.New("redis is not a master any more")

// infoReplica is a replica in INFO replication.
type infoReplica struct {
	name string        // its address, "ip:port"
	lag  time.Duration // how long it was silent
}

// The lines of INFO replication that name the number of a master's replicas, and each of them. The addresses have the
// form of ROLE and CLUSTER NODES.
var (
	connectedLine = regexp.MustCompile(`(?m)^connected_slaves:(\d+)`)
	replicaLine   = regexp.MustCompile(`(?m)^slave\d+:ip=([^,\s]+),port=([^,\s]+)(?:,\S*\blag=(\d+))?`)
)

// connected parses a master's INFO replication for the replicas that copy it. A replica that is still making its copy
// is among them: it may be elected with its old data. The result more counts replicas whose addresses are missing.
func connected(info string) (copying []infoReplica, more int, err error) {
	if !slices.Contains(strings.Fields(info), "role:master") {
		return nil, 0, errNoMaster
	}
	line := connectedLine.FindStringSubmatch(info)
	if line == nil {
		return nil, 0, fmt.Errorf("parse INFO replication of redis: no connected_slaves: %q", info)
	}
	for _, f := range replicaLine.FindAllStringSubmatch(info, -1) {
		lag, _ := strconv.Atoi(f[3]) // none: 0
		copying = append(copying, infoReplica{f[1] + ":" + f[2], time.Duration(lag) * time.Second})
	}
	total, _ := strconv.Atoi(line[1])
	return copying, max(0, total-len(copying)), nil
}

// replicaSet holds the replicas of a master as CLUSTER NODES lists them.
type replicaSet struct {
	names  []string // that may become master
	barred []string // that never do so by themselves: cluster-replica-no-failover
	dead   []silent // that the Cluster has declared dead, and may be back before Redis bars them
}

// silent is a replica without signs of life.
type silent struct {
	name  string
	since time.Duration
}

// parseReplicaSet parses CLUSTER NODES of a master, at a time of its clock. A replica whose connection is broken is
// included: it may take over all the same, with its old data.
func parseReplicaSet(nodes string, now time.Time) (s replicaSet, err error) {
	// <id> <address> <flags> <master's id or -> <ping sent> <pong received> <epoch> <link> <slots…>
	const id, address, flags, master, pong, fields = 0, 1, 2, 3, 5, 8
	var lines [][]string
	myself := ""
	for line := range strings.Lines(nodes) {
		f := strings.Fields(line)
		if len(f) < fields {
			return s, fmt.Errorf("parse CLUSTER NODES of redis: invalid line %q", line)
		}
		lines = append(lines, f)
		if has := strings.Split(f[flags], ","); slices.Contains(has, "myself") {
			if !slices.Contains(has, "master") {
				return s, errNoMaster
			}
			myself = f[id]
		}
	}
	if myself == "" {
		return s, fmt.Errorf("parse CLUSTER NODES of redis: no line of the node that was asked: %q", nodes)
	}
	for _, f := range lines {
		if f[master] != myself {
			continue
		}
		heard, err := strconv.ParseInt(f[pong], 10, 64)
		if err != nil {
			return s, fmt.Errorf("parse CLUSTER NODES of redis: line %q: %w", strings.Join(f, " "), err)
		}
		name, _, _ := strings.Cut(f[address], "@")
		switch has := strings.Split(f[flags], ","); {
		case slices.Contains(has, "nofailover"):
			s.barred = append(s.barred, name)
		case slices.Contains(has, "fail") && heard != 0:
			s.dead = append(s.dead, silent{name, now.Sub(time.UnixMilli(heard))})
		default:
			s.names = append(s.names, name)
		}
	}
	return s, nil
}

// newCandidates returns the failover candidates of a master of a Cluster. The argument copying is from INFO. With
// sameNames, CLUSTER NODES and INFO write a replica's address alike, so both lists can be compared.
func newCandidates(s replicaSet, copying []infoReplica, more int, sameNames bool) (found *candidates, sure bool) {
	known := slices.Concat(s.names, s.barred)
	isKnown := func(c infoReplica) bool { return slices.Contains(known, c.name) }
	sameNames = sameNames || slices.ContainsFunc(copying, isKnown)
	if !sameNames && len(copying)+more > 0 && len(known) > 0 {
		// The barred ones are unknown too, so they must have all as well.
		return &candidates{count: max(len(known), len(copying)+more)}, false
	}
	var names []string
	for _, c := range copying {
		if !isKnown(c) {
			names = append(names, c.name)
		}
	}
	names = append(names, s.names...)
	return &candidates{count: len(names) + more, names: names, barred: s.barred}, sameNames
}

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
