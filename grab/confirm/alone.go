package confirm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// heirFor is how long a replica counts that a Cluster has declared dead: it may come back with what it has, and
// take over from its master if that one is dead by then. Redis allows it until the replica has heard nothing of the
// master for (cluster-replica-validity-factor + 1) x cluster-node-timeout + repl-ping-replica-period; by default
// that is 175 seconds.
const heirFor = 3 * time.Minute

// errNoMaster says that a server that was asked as a master is none.
var errNoMaster = errors.New("redis is no master any more")

// hasNoReplica reads what a master says to INFO replication. A replica that is still making its copy counts.
func hasNoReplica(info string) (bool, error) {
	lines := strings.Fields(info)
	if !slices.Contains(lines, "role:master") {
		return false, errNoMaster
	}
	for _, line := range lines {
		if n, ok := strings.CutPrefix(line, "connected_slaves:"); ok {
			return n == "0", nil
		}
	}
	return false, fmt.Errorf("redis does not tell how many replicas it has (INFO replication): %q", info)
}

// hasNoHeir reads what a master of a Cluster says to CLUSTER NODES at a time of its clock. A replica whose
// connection is broken may take over all the same, with what it had before.
func hasNoHeir(nodes string, now time.Time) (bool, error) {
	// <id> <address> <flags> <master's id or -> <ping sent> <pong received> <epoch> <link> <slots…>
	const id, flags, master, pong, fields = 0, 2, 3, 5, 8
	var lines [][]string
	myself := ""
	for line := range strings.Lines(nodes) {
		f := strings.Fields(line)
		if len(f) < fields {
			return false, fmt.Errorf("CLUSTER NODES of redis has a line that is none: %q", line)
		}
		lines = append(lines, f)
		if has := strings.Split(f[flags], ","); slices.Contains(has, "myself") {
			if !slices.Contains(has, "master") {
				return false, errNoMaster
			}
			myself = f[id]
		}
	}
	if myself == "" {
		return false, fmt.Errorf("CLUSTER NODES of redis does not name the one that was asked: %q", nodes)
	}
	for _, f := range lines {
		if f[master] != myself {
			continue
		}
		heard, err := strconv.ParseInt(f[pong], 10, 64)
		if err != nil {
			return false, fmt.Errorf("CLUSTER NODES of redis, %q: %w", strings.Join(f, " "), err)
		}
		dead := slices.Contains(strings.Split(f[flags], ","), "fail") && now.Sub(time.UnixMilli(heard)) > heirFor
		if heard == 0 || !dead {
			return false, nil
		}
	}
	return true, nil
}
