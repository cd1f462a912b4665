package confirm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
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
}

// has reports whether all candidates have the writes up to a moment. before is the master's ROLE at that moment,
// after is its ROLE later.
//
// Each replica that is online and not barred must have them, also one that was not among the candidates when they
// were read. It is one by now. So a later replica is never mistaken for an earlier one.
func (h *candidates) has(before, after role) bool {
	have := 0
	for _, r := range after.replicas {
		if slices.Contains(h.barred, r.name) {
			continue
		}
		if r.offset < before.offset {
			return false
		}
		have++
	}
	return have >= h.count && h.online(after)
}

// online reports whether all candidates with known addresses are connected to their master.
func (h *candidates) online(now role) bool {
	return !slices.ContainsFunc(h.names, func(name string) bool {
		return !slices.ContainsFunc(now.replicas, func(r replica) bool { return r.name == name })
	})
}

// errNoMaster means that a server that was asked as a master is not a master.
var errNoMaster = errors.New("redis is not a master any more")

// copier is a replica that copies a master.
type copier struct {
	name string        // its address, "ip:port"
	lag  time.Duration // since its last message
}

// connected parses a master's INFO replication for the replicas that copy it. A replica that is still making its copy
// is among them: it may be elected with its old data. The result more counts replicas whose addresses are missing.
func connected(info string) (copying []copier, more int, err error) {
	lines := strings.Fields(info)
	if !slices.Contains(lines, "role:master") {
		return nil, 0, errNoMaster
	}
	total := -1
	for _, line := range lines {
		key, value, _ := strings.Cut(line, ":")
		if key == "connected_slaves" {
			if total, err = strconv.Atoi(value); err != nil {
				total = -1
			}
			continue
		}
		if c := parseCopier(key, value); c.name != "" {
			copying = append(copying, c)
		}
	}
	if total < 0 {
		return nil, 0, fmt.Errorf("parse INFO replication of redis: no connected_slaves: %q", info)
	}
	return copying, max(0, total-len(copying)), nil
}

// parseCopier parses a line "slave0:ip=…,port=…,state=…,offset=…,lag=…" of INFO replication. The address has the form
// of ROLE and CLUSTER NODES; it is empty for any other line.
func parseCopier(key, value string) (c copier) {
	if n, ok := strings.CutPrefix(key, "slave"); !ok || n == "" || n[0] < '0' || n[0] > '9' {
		return c
	}
	var ip, port string
	for field := range strings.SplitSeq(value, ",") {
		switch name, text, _ := strings.Cut(field, "="); name {
		case "ip":
			ip = text
		case "port":
			port = text
		case "lag":
			if seconds, err := strconv.Atoi(text); err == nil {
				c.lag = time.Duration(seconds) * time.Second
			}
		}
	}
	if ip != "" && port != "" {
		c.name = ip + ":" + port // also of an IPv6 address
	}
	return c
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
func parseReplicaSet(nodes string, now time.Time) (k replicaSet, err error) {
	// <id> <address> <flags> <master's id or -> <ping sent> <pong received> <epoch> <link> <slots…>
	const id, address, flags, master, pong, fields = 0, 1, 2, 3, 5, 8
	var lines [][]string
	myself := ""
	for line := range strings.Lines(nodes) {
		f := strings.Fields(line)
		if len(f) < fields {
			return k, fmt.Errorf("parse CLUSTER NODES of redis: invalid line %q", line)
		}
		lines = append(lines, f)
		if has := strings.Split(f[flags], ","); slices.Contains(has, "myself") {
			if !slices.Contains(has, "master") {
				return k, errNoMaster
			}
			myself = f[id]
		}
	}
	if myself == "" {
		return k, fmt.Errorf("parse CLUSTER NODES of redis: no line of the node that was asked: %q", nodes)
	}
	for _, f := range lines {
		if f[master] != myself {
			continue
		}
		heard, err := strconv.ParseInt(f[pong], 10, 64)
		if err != nil {
			return k, fmt.Errorf("parse CLUSTER NODES of redis: line %q: %w", strings.Join(f, " "), err)
		}
		name, _, _ := strings.Cut(f[address], "@")
		switch has := strings.Split(f[flags], ","); {
		case slices.Contains(has, "nofailover"):
			k.barred = append(k.barred, name)
		case slices.Contains(has, "fail") && heard != 0:
			k.dead = append(k.dead, silent{name, now.Sub(time.UnixMilli(heard))})
		default:
			k.names = append(k.names, name)
		}
	}
	return k, nil
}

// newCandidates returns the failover candidates of a master of a Cluster. The argument copying is from INFO. With
// sameNames the Cluster writes the same addresses as the master does.
func newCandidates(k replicaSet, copying []copier, more int, sameNames bool) (h *candidates, sure bool) {
	known := slices.Concat(k.names, k.barred)
	isKnown := func(c copier) bool { return slices.Contains(known, c.name) }
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
	names = append(names, k.names...)
	return &candidates{count: len(names) + more, names: names, barred: k.barred}, sameNames
}
