package confirm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// heirs are the replicas of a master that could become master in its place, as the master and its Cluster know them.
// Each of them must have a win before the win is told: nobody knows which one will be chosen.
type heirs struct {
	// count is how many they are, at least: one or more.
	count int
	// names are their addresses as ROLE writes them; nil where the Cluster writes other addresses than the master
	// does (announced ones behind NAT), so that they can only be counted.
	names []string
	// barred are the addresses of replicas that never become master by themselves. Nobody waits for them, and that
	// they have a win counts for nothing.
	barred []string
}

// has tells whether all heirs have what was written before a moment: before is what the master says of itself then,
// after what it says of its replicas later.
//
// Whoever is online and not barred must have it, also one that was not among the heirs when they were asked for: it
// is one by now. So nobody who came later is taken for one who was there.
func (h *heirs) has(before, after role) bool {
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

// online tells whether all heirs whose addresses are known are connected to their master.
func (h *heirs) online(now role) bool {
	return !slices.ContainsFunc(h.names, func(name string) bool {
		return !slices.ContainsFunc(now.replicas, func(r replica) bool { return r.name == name })
	})
}

// errNoMaster says that a server that was asked as a master is none.
var errNoMaster = errors.New("redis is no master any more")

// copier is who copies a master.
type copier struct {
	name string        // its address, "ip:port"
	lag  time.Duration // since it was last heard
}

// connected reads from what a master says to INFO replication who copies it. One that is still making its copy is
// among them: it may be chosen with what it had before. more is how many there are whose addresses are not told.
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
		return nil, 0, fmt.Errorf("redis does not tell how many replicas it has (INFO replication): %q", info)
	}
	return copying, max(0, total-len(copying)), nil
}

// parseCopier reads a line "slave0:ip=…,port=…,state=…,offset=…,lag=…" of INFO replication. It has the address as ROLE
// and CLUSTER NODES write it; none in any other line.
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

// kin are the replicas of a master as CLUSTER NODES has them.
type kin struct {
	names  []string // that may become master
	barred []string // that never do so by themselves: cluster-replica-no-failover
	dead   []silent // that the Cluster has declared dead, and may be back before Redis bars them
}

// silent is a replica of which nothing is heard.
type silent struct {
	name  string
	since time.Duration
}

// kinOf reads what a master of a Cluster says to CLUSTER NODES at a time of its clock. A replica whose connection is
// broken is among its kin: it may take over all the same, with what it had before.
func kinOf(nodes string, now time.Time) (k kin, err error) {
	// <id> <address> <flags> <master's id or -> <ping sent> <pong received> <epoch> <link> <slots…>
	const id, address, flags, master, pong, fields = 0, 1, 2, 3, 5, 8
	var lines [][]string
	myself := ""
	for line := range strings.Lines(nodes) {
		f := strings.Fields(line)
		if len(f) < fields {
			return k, fmt.Errorf("CLUSTER NODES of redis has a line that is none: %q", line)
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
		return k, fmt.Errorf("CLUSTER NODES of redis does not name the one that was asked: %q", nodes)
	}
	for _, f := range lines {
		if f[master] != myself {
			continue
		}
		heard, err := strconv.ParseInt(f[pong], 10, 64)
		if err != nil {
			return k, fmt.Errorf("CLUSTER NODES of redis, %q: %w", strings.Join(f, " "), err)
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

// heirsAmong are the heirs of a master of a Cluster, of whom INFO has those that copy it. sameNames says that the
// Cluster is known to write the same addresses as the master does.
func heirsAmong(k kin, copying []copier, more int, sameNames bool) (h *heirs, sure bool) {
	known := slices.Concat(k.names, k.barred)
	isKnown := func(c copier) bool { return slices.Contains(known, c.name) }
	sameNames = sameNames || slices.ContainsFunc(copying, isKnown)
	if !sameNames && len(copying)+more > 0 && len(known) > 0 {
		// Which of them are barred cannot be told either, so they must have all as well.
		return &heirs{count: max(len(known), len(copying)+more)}, false
	}
	var names []string
	for _, c := range copying {
		if !isKnown(c) {
			names = append(names, c.name)
		}
	}
	names = append(names, k.names...)
	return &heirs{count: len(names) + more, names: names, barred: k.barred}, sameNames
}
