package connections

import (
	"cmp"
	"context"
	"slices"
	"time"

	"redrain/grab/store"
)

// know reads the list of nodes again where one of the connections is of a node that is not on it: it may have just
// come. What is left of a node that has gone is looked for once in a while.
func (l *List) know(ctx context.Context, list []store.Connection) error {
	now, unknown := time.Now(), false
	for _, c := range list {
		if c.Node == l.o.Node || l.nodes[c.Node] || now.Before(l.missing[c.Node]) {
			continue
		}
		l.missing[c.Node] = now.Add(hereEvery)
		unknown = true
	}
	if !unknown {
		return nil
	}
	return l.readNodes(ctx)
}

// there are those of a player's connections that are still there: not those of nodes that have gone, and of this node
// those that it has. What Redis still has of this node is told of again.
func (l *List) there(list []store.Connection) []store.Connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(list, func(c store.Connection) bool {
		if c.Node != l.o.Node {
			return !l.nodes[c.Node]
		}
		_, has := l.here[c.User][c.N]
		if !has {
			l.pending.gone = append(l.pending.gone, c)
			l.again()
		}
		return !has
	})
}

// tooManyOf are those of a player's connections that are too many: the oldest.
func (l *List) tooManyOf(list []store.Connection) []store.Connection {
	if l.o.Most == 0 || len(list) <= l.o.Most {
		return nil
	}
	slices.SortFunc(list, func(a, b store.Connection) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Node, b.Node), cmp.Compare(a.N, b.N))
	})
	return list[:len(list)-l.o.Most]
}

// conclude does what follows from all connections of a player: those that are too many end, and each node on which the
// player is knows on how many they are.
func (l *List) conclude(user string, list []store.Connection) {
	tooMany := l.tooManyOf(list)
	staying := map[string]bool{}
	for _, c := range list[len(tooMany):] {
		staying[c.Node] = true
	}
	notices := map[string]Notice{}
	for node := range staying {
		notices[node] = Notice{User: user, Nodes: len(staying)}
	}
	for _, c := range tooMany {
		n := notices[c.Node]
		notices[c.Node] = Notice{User: user, Nodes: len(staying), End: append(n.End, c.N)}
	}
	for node, n := range notices {
		if node == l.o.Node {
			l.Heard(n)
		} else {
			l.o.Tell(node, n)
		}
	}
}
