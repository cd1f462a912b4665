package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// connectedFor is the time for which a player's connections are kept after their last report. Their node reports
	// them far more often.
	connectedFor = 10 * time.Minute
	// presentFor is the time for which a node counts as alive after its last report.
	presentFor = 15 * time.Second
	// usersAtOnce is the number of players whose connections are reported in one call.
	usersAtOnce = 200
)

// Connection is one connection of a player.
type Connection struct {
	User  string
	Node  string // which has it
	N     uint64 // unique on the node
	Since int64  // Unix ms
}

// Connections tracks the connections of each player, over all nodes.
type Connections struct{ *client }

// NewConnections returns a Connections.
func NewConnections(s *Store) *Connections { return &Connections{s.client} }

// Tell records opened and closed connections, and returns all those of their players, by player. It may be repeated.
// Of two nodes that report the same player at once, the later one gets both connections.
func (c *Connections) Tell(ctx context.Context, come, gone []Connection) (map[string][]Connection, error) {
	all := make(map[string][]Connection, len(come)+len(gone))
	comeOf, goneOf := map[string][]Connection{}, map[string][]Connection{}
	for _, one := range come {
		all[one.User], comeOf[one.User] = nil, append(comeOf[one.User], one)
	}
	for _, one := range gone {
		all[one.User], goneOf[one.User] = nil, append(goneOf[one.User], one)
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(all)), usersAtOnce) {
		read := make(map[string]*redis.MapStringStringCmd, len(some))
		err := c.pipelined(ctx, func(p redis.Pipeliner) {
			for _, user := range some {
				key := c.keys.player(user, "connections")
				for _, one := range comeOf[user] {
					p.HSet(ctx, key, one.field(), one.Since)
				}
				for _, one := range goneOf[user] {
					p.HDel(ctx, key, one.field())
				}
				p.PExpire(ctx, key, connectedFor)
				read[user] = p.HGetAll(ctx, key)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("record players' connections: %w", err)
		}
		for user, cmd := range read {
			all[user] = connectionsOf(user, cmd.Val())
		}
	}
	return all, nil
}

// Of returns a player's connections on the nodes that are alive, the oldest first.
func (c *Connections) Of(ctx context.Context, user string) ([]Connection, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := c.rdb.HGetAll(ctx, c.keys.player(user, "connections")).Result()
	if c.Checked(err) != nil {
		return nil, fmt.Errorf("read a player's connections: %w", err)
	}
	list := slices.DeleteFunc(connectionsOf(user, fields),
		func(one Connection) bool { return !slices.Contains(nodes, one.Node) })
	slices.SortFunc(list, func(x, y Connection) int {
		return cmp.Or(cmp.Compare(x.Since, y.Since), cmp.Compare(x.N, y.N))
	})
	return list, nil
}

// field returns the connection's name among those of its player.
func (c Connection) field() string { return c.Node + "." + strconv.FormatUint(c.N, 10) }

// connectionsOf parses a player's connections, in no order. It leaves out invalid ones.
func connectionsOf(user string, fields map[string]string) []Connection {
	list := make([]Connection, 0, len(fields))
	for field, value := range fields {
		node, number, _ := strings.Cut(field, ".")
		n, err := strconv.ParseUint(number, 10, 64)
		since, errSince := strconv.ParseInt(value, 10, 64)
		if err == nil && errSince == nil {
			list = append(list, Connection{User: user, Node: node, N: n, Since: since})
		}
	}
	return list
}

// Here reports that a node is alive, and with it its connections.
func (c *Connections) Here(ctx context.Context, node string) error {
	key, now := c.keys.upNodes(), c.clock()
	_, err := c.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAdd(ctx, key, redis.Z{Score: float64(now), Member: node})
		p.ZRemRangeByScore(ctx, key, "-inf", strconv.FormatInt(now-presentFor.Milliseconds(), 10))
		p.PExpire(ctx, key, presentFor)
		return nil
	})
	return wrap(c.Checked(err), "record this node as alive")
}

// Gone reports that a node has no connections any more.
func (c *Connections) Gone(ctx context.Context, node string) error {
	return wrap(c.Checked(c.rdb.ZRem(ctx, c.keys.upNodes(), node).Err()), "remove this node's connections")
}

// Nodes returns the nodes with players that are alive.
func (c *Connections) Nodes(ctx context.Context) ([]string, error) {
	since := "(" + strconv.FormatInt(c.clock()-presentFor.Milliseconds(), 10)
	nodes, err := c.rdb.ZRangeByScore(ctx, c.keys.upNodes(), &redis.ZRangeBy{Min: since, Max: "+inf"}).Result()
	return nodes, wrap(c.Checked(err), "read the nodes")
}

// namedFor is the time for which a player's display profile is kept after its last report. A list of claims is read in
// the days after an event.
const namedFor = 7 * 24 * time.Hour

// Named is a player's display profile. The reader's settings restrict its display, and it proves nothing.
type Named struct {
	User   string `json:"-"`
	Name   string `json:"name,omitempty"`
	Avatar string `json:"avatar,omitempty"` // address of a picture
	Face   string `json:"face,omitempty"`   // id of one of redrain's own pictures
}

// Names stores the recent display profiles of players.
type Names struct{ *client }

// NewNames returns a Names.
func NewNames(s *Store) *Names { return &Names{s.client} }

// Tell stores display profiles. It may be repeated.
func (n *Names) Tell(ctx context.Context, named []Named) error {
	err := n.pipelined(ctx, func(p redis.Pipeliner) {
		for _, one := range named {
			text, _ := json.Marshal(one) // texts only: it cannot fail
			p.Set(ctx, n.keys.player(one.User, "name"), text, namedFor)
		}
	})
	return wrap(err, "store display profiles")
}

// Read returns the stored display profiles of some players.
func (n *Names) Read(ctx context.Context, users []string) ([]Named, error) {
	texts := make([]*redis.StringCmd, len(users))
	_ = n.pipelined(ctx, func(p redis.Pipeliner) { // each command has its own error
		for i, user := range users {
			texts[i] = p.Get(ctx, n.keys.player(user, "name"))
		}
	})
	var known []Named
	for i, text := range texts {
		if errors.Is(text.Err(), redis.Nil) {
			continue
		}
		if err := text.Err(); err != nil {
			return nil, fmt.Errorf("read display profiles: %w", err)
		}
		one := Named{User: users[i]}
		if json.Unmarshal([]byte(text.Val()), &one) == nil { // an invalid profile is reported again
			known = append(known, one)
		}
	}
	return known, nil
}
