package confirm

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/internal/testenv"
)

func TestWhatAMasterSaysOfItsReplicas(t *testing.T) {
	for _, c := range []struct {
		name, info string
		copying    []infoReplica
		more       int
		err        string
	}{
		{"none", "# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\n", nil, 0,
			""},
		{"one that copies", "role:master\r\nconnected_slaves:1\r\n" +
			"slave0:ip=127.0.0.1,port=1,state=wait_bgsave,offset=0,lag=0\r\n",
			[]infoReplica{{"127.0.0.1:1", 0}}, 0, ""},
		{"IPv6", "role:master\r\nconnected_slaves:1\r\nslave0:ip=::1,port=6379,state=online,offset=0,lag=7\r\n",
			[]infoReplica{{"::1:6379", 7 * time.Second}}, 0, ""},
		{"ten", "role:master\r\nconnected_slaves:10\r\nslave0:ip=a,port=1\r\nslave3:ip=b,port=\r\n",
			[]infoReplica{{"a:1", 0}}, 9,
			""},
		{"a replica itself", "role:slave\r\nconnected_slaves:0\r\n", nil, 0, errNoMaster.Error()},
		{"no number", "role:master\r\n", nil, 0, "INFO replication"},
		{"a word", "role:master\r\nconnected_slaves:some\r\n", nil, 0, "INFO replication"},
	} {
		copying, more, err := connected(c.info)
		if !slices.Equal(copying, c.copying) || more != c.more || (err == nil) != (c.err == "") || err != nil &&
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v and %d more, %v", c.name, copying, more, err)
		}
	}
}

// A replica that could take over must not be overlooked, and one that cannot must not be waited for.
func TestWhoMayTakeOverInACluster(t *testing.T) {
	now := time.UnixMilli(1_000_000_000)
	const me = "aa 127.0.0.1:1@11,host myself,master - 0 0 7 connected 0-5460\n"
	const other = "bb 127.0.0.1:2@12 master - 0 999999000 2 connected 5461-16383 [5461->-aa]\ncc 127.0.0.1:3@13 " +
		"slave bb 0 999999000 2 connected\n"
	fourth := []string{"127.0.0.1:4"}
	for _, c := range []struct {
		name, nodes string
		want        replicaSet
		err         string
	}{
		{"replicas of others only", me + other, replicaSet{}, ""},
		{"the old master is dead", me + other + "dd 127.0.0.1:4@14 master,fail - 1 999900000 1 disconnected\n",
			replicaSet{}, ""},
		{"a replica", me + other + "dd 127.0.0.1:4@14 slave aa 0 999999000 7 connected\n",
			replicaSet{names: fourth}, ""},
		{"an IPv6 one", me + "dd ::1:4@14,host slave aa 0 999999000 7 connected\n",
			replicaSet{names: []string{"::1:4"}}, ""},
		{"one that this master alone misses", me + "dd 127.0.0.1:4@14 slave,fail? aa 1 1000 7 disconnected\n",
			replicaSet{names: fourth}, ""},
		{"one that has died", me + "dd 127.0.0.1:4@14 slave,fail aa 1 999821000 7 disconnected\n",
			replicaSet{dead: []silent{{"127.0.0.1:4", 179 * time.Second}}}, ""},
		{"a dead one and one that lives", me + "dd :0@0 slave,fail,noaddr aa 1 999999000 7 disconnected\nee " +
			"127.0.0.1:4@15 slave aa 0 1000 7 connected\n",
			replicaSet{names: fourth, dead: []silent{{":0", time.Second}}}, ""},
		{"one that was never heard", me + "dd 127.0.0.1:4@14 slave,fail aa 1 0 7 disconnected\n",
			replicaSet{names: fourth}, ""},
		{"one that must not", me + "dd 127.0.0.1:4@14 slave,nofailover aa 0 999999000 7 connected\n",
			replicaSet{barred: fourth}, ""},
		{"a dead one that must not", me + "dd 127.0.0.1:4@14 slave,fail,nofailover aa 0 999999000 7 connected\n",
			replicaSet{barred: fourth}, ""},
		{"asked a replica", "aa 127.0.0.1:1@11 myself,slave bb 0 0 7 connected\n" + other,
			replicaSet{}, errNoMaster.Error()},
		{"nobody asked", other, replicaSet{}, "no line of the node"},
		{"no time", me + "dd 127.0.0.1:4@14 slave,fail aa 1 soon 7 disconnected\n", replicaSet{}, "soon"},
		{"a short line", me + "dd 127.0.0.1:4@14 slave aa\n", replicaSet{}, "invalid line"},
		{"nothing", "", replicaSet{}, "no line of the node"},
	} {
		got, err := parseReplicaSet(c.nodes, now)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	_, err := parseReplicaSet("aa 127.0.0.1:1@11 myself,slave bb 0 0 7 connected\n", now)
	testenv.WantErr(t, err, errNoMaster)
}

// If the Cluster writes other addresses than the master, only the number of its replicas counts. If both once wrote the
// same address, that stays known, even when all connected replicas are strangers.
func TestHeirsByNameAndByNumber(t *testing.T) {
	names := func(n ...string) []string { return n }
	for _, c := range []struct {
		name       string
		replicaSet replicaSet
		copying    []string
		more       int
		same       bool
		want       candidates
		sure       bool
	}{
		{"none", replicaSet{}, nil, 0, false, candidates{}, false},
		{"all connected", replicaSet{names: names("a:1", "b:2")}, names("b:2", "a:1"), 0, false,
			candidates{count: 2, names: names("a:1", "b:2")}, true},
		{"one cut off", replicaSet{names: names("a:1", "b:2")}, names("b:2"), 0, false,
			candidates{count: 2, names: names("a:1", "b:2")}, true},
		{"all cut off", replicaSet{names: names("a:1")}, nil, 0, false,
			candidates{count: 1, names: names("a:1")}, false},
		{"one that the Cluster does not know yet", replicaSet{names: names("a:1")}, names("a:1", "c:3"), 0, false,
			candidates{count: 2, names: names("c:3", "a:1")}, true},
		{"only such", replicaSet{}, names("c:3"), 0, false, candidates{count: 1, names: names("c:3")}, false},
		{"a barred one", replicaSet{names: names("a:1"), barred: names("b:2")}, names("a:1", "b:2"), 0, false,
			candidates{count: 1, names: names("a:1"), barred: names("b:2")}, true},
		{"a barred one only", replicaSet{barred: names("b:2")}, names("b:2"), 0, false,
			candidates{names: names(), barred: names("b:2")}, true},
		{"one without an address", replicaSet{names: names("a:1")}, names("a:1"), 1, false,
			candidates{count: 2, names: names("a:1")}, true},
		{"other addresses", replicaSet{names: names("a:1"), barred: names("b:2")}, names("x:1", "y:2", "z:3"), 0, false,
			candidates{count: 3}, false},
		{"other addresses, one cut off", replicaSet{names: names("a:1", "b:2")}, names("x:1"), 0, false,
			candidates{count: 2}, false},
		{"a stranger, and the heir cut off", replicaSet{names: names("a:1")}, names("x:1"), 0, true,
			candidates{count: 2, names: names("x:1", "a:1")}, true},
	} {
		var copying []infoReplica
		for _, name := range c.copying {
			copying = append(copying, infoReplica{name: name})
		}
		got, sure := newCandidates(c.replicaSet, copying, c.more, c.same)
		if got.count != c.want.count || !slices.Equal(got.names, c.want.names) ||
			!slices.Equal(got.barred, c.want.barred) || sure != c.sure {
			t.Errorf("%s: %+v (sure: %t), want %+v (%t)", c.name, *got, sure, c.want, c.sure)
		}
	}
}

func TestWhatAMasterSaysItsReplicasHave(t *testing.T) {
	answer := func(v any) *redis.Cmd {
		cmd := redis.NewCmd(t.Context(), "role")
		cmd.SetVal(v)
		return cmd
	}
	got, err := roleOf(answer([]any{"master", int64(7), []any{[]any{"::1", "6379", "5"}, []any{"b", "2", "7"}}}))
	want := role{7, []replica{{"::1:6379", 5}, {"b:2", 7}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, c := range map[string]struct {
		answer any
		want   error
	}{
		"a replica":         {[]any{"slave", "127.0.0.1", int64(1), "connected", int64(7)}, errNoMaster},
		"a sentinel":        {[]any{"sentinel", []any{}}, errNoMaster},
		"nothing":           {[]any{}, errNoMaster},
		"too little":        {[]any{"master", int64(7)}, errRole},
		"no offset":         {[]any{"master", "7", []any{}}, errRole},
		"no list":           {[]any{"master", int64(7), "none"}, errRole},
		"no replica":        {[]any{"master", int64(7), []any{"a"}}, errRole},
		"too short a one":   {[]any{"master", int64(7), []any{[]any{"a", "1"}}}, errRole},
		"a port, a number":  {[]any{"master", int64(7), []any{[]any{"a", int64(1), "7"}}}, errRole},
		"an offset, a word": {[]any{"master", int64(7), []any{[]any{"a", "1", "much"}}}, errRole},
	} {
		testenv.WantErr(t, testenv.Err(roleOf(answer(c.answer))), c.want, name)
	}
}
