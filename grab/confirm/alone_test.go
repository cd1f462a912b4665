package confirm

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestWhatAMasterSaysOfItsReplicas(t *testing.T) {
	for _, c := range []struct {
		name, info string
		alone      bool
		err        string
	}{
		{"none", "# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\n", true,
			""},
		{"one that copies", "role:master\r\nconnected_slaves:1\r\n" +
			"slave0:ip=127.0.0.1,port=1,state=wait_bgsave,offset=0,lag=0\r\n", false, ""},
		{"ten", "role:master\r\nconnected_slaves:10\r\n", false, ""},
		{"a replica itself", "role:slave\r\nconnected_slaves:0\r\n", false, errNoMaster.Error()},
		{"no number", "role:master\r\n", false, "INFO replication"},
	} {
		alone, err := hasNoReplica(c.info)
		if alone != c.alone || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %t, %v", c.name, alone, err)
		}
	}
}

// A replica that could take over must not be overlooked, and one that cannot must not be waited for.
func TestWhoMayTakeOverInACluster(t *testing.T) {
	now := time.UnixMilli(1_000_000_000)
	const me = "aa 127.0.0.1:1@11,host myself,master - 0 0 7 connected 0-5460\n"
	const other = "bb 127.0.0.1:2@12 master - 0 999999000 2 connected 5461-16383 [5461->-aa]\ncc 127.0.0.1:3@13 " +
		"slave bb 0 999999000 2 connected\n"
	for _, c := range []struct {
		name, nodes string
		alone       bool
		err         string
	}{
		{"replicas of others only", me + other, true, ""},
		{"the old master is dead", me + other + "dd 127.0.0.1:4@14 master,fail - 1 999900000 1 disconnected\n", true,
			""},
		{"a replica", me + other + "dd 127.0.0.1:4@14 slave aa 0 999999000 7 connected\n", false, ""},
		{"one that this master alone misses", me + "dd 127.0.0.1:4@14 slave,fail? aa 1 1000 7 disconnected\n", false,
			""},
		{"one that died a moment ago", me + "dd 127.0.0.1:4@14 slave,fail aa 1 999821000 7 disconnected\n", false, ""},
		{"one that died just three minutes ago", me + "dd 127.0.0.1:4@14 slave,fail aa 1 999820000 7 disconnected\n",
			false, ""},
		{"one that died long ago", me + "dd 127.0.0.1:4@14 slave,fail aa 1 999819000 7 disconnected\n", true, ""},
		{"a dead one and one that lives", me + "dd :0@0 slave,fail,noaddr aa 1 1000 7 disconnected\nee " +
			"127.0.0.1:5@15 slave aa 0 1000 7 connected\n", false, ""},
		{"one that was never heard", me + "dd 127.0.0.1:4@14 slave,fail aa 1 0 7 disconnected\n", false, ""},
		{"asked a replica", "aa 127.0.0.1:1@11 myself,slave bb 0 0 7 connected\n" + other, false, errNoMaster.Error()},
		{"nobody asked", other, false, "does not name"},
		{"no time", me + "dd 127.0.0.1:4@14 slave,fail aa 1 soon 7 disconnected\n", false, "soon"},
		{"a short line", me + "dd 127.0.0.1:4@14 slave aa\n", false, "a line that is none"},
		{"nothing", "", false, "does not name"},
	} {
		alone, err := hasNoHeir(c.nodes, now)
		if alone != c.alone || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %t, %v", c.name, alone, err)
		}
	}
	if _, err := hasNoHeir("aa 127.0.0.1:1@11 myself,slave bb 0 0 7 connected\n", now); !errors.Is(err, errNoMaster) {
		t.Errorf("%v", err)
	}
}
