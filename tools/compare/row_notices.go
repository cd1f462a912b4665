//go:build linux

package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"redrain/internal/bench"
	"redrain/internal/testenv"
)

// noticeWins are settled in a turn of measureNotices, and at most roomful players are there at once: a process may not
// have more connections everywhere.
const (
	noticeWins = 100_000
	roomful    = 10_000
)

// measureNotices lets players win everything while JetStream gives the settler nothing. Then it measures the work until
// each win is in the ledger and its player has the notice.
func measureNotices(r *run) {
	for _, players := range []int{500, 50_000} {
		of := thousands(noticeWins) + " wins of " + thousands(players) + " players"
		all := line{What: "processor time of a payout, MariaDB + redrain, " + of + ", until each has its notice; " +
			"less the share of resting rooms, µs",
			Goal: atMost(40)}
		database := line{What: "– MariaDB, µs"}
		settler := line{What: "– redrain's settler, µs"}
		gateway := line{What: "– redrain's gateway, which notifies the players, µs"}
		stream := line{What: "– Redis and NATS, µs"}
		rate := line{What: "– payouts/s, from the last tap to the last `settled`"}
		for range r.rounds {
			used := r.notify(players)
			all.Ours = append(all.Ours, used.micros(noticeWins, ofDatabase, ofSettler, ofServer))
			database.Ours = append(database.Ours, used.micros(noticeWins, ofDatabase))
			settler.Ours = append(settler.Ours, used.micros(noticeWins, ofSettler))
			gateway.Ours = append(gateway.Ours, used.micros(noticeWins, ofServer))
			stream.Ours = append(stream.Ours, used.micros(noticeWins, ofRedis, ofNATS))
			rate.Ours = append(rate.Ours, noticeWins/used.took.Seconds())
		}
		r.add(all, database, settler, gateway, stream, rate)
	}
}

// notify is one turn, on a database of its own. If there are more players than a room holds, they come in groups, and
// the sum counts.
func (r *run) notify(players int) (sum usage) {
	err := do(r.ctx, r.log, func(s *scope) {
		r := r.within(s, r.row)
		db := newDatabase(s)
		namespace := testenv.Namespace(s)
		flags := append(r.back.flags(s, db, gateway), "--namespace", namespace)
		ours := startRedrain(s, r.back, flags...)
		settler := startRedrain(s, r.back, append(flags, "--roles", "relay,settle")...)
		r.wait(time.Second) // until it has made its consumer
		campaign := ours.offer(s, noticeWins, noticeWins/players)
		processes := append([]process{ours.process, {ofSettler, settler.pid}, db.server, r.back.nats},
			r.back.processes...)
		group := min(players, roomful)
		for first := 0; first < players; first += group {
			sum.add(r.notifyGroup(ours, namespace, campaign, first, group, noticeWins/players, processes))
		}
		r.balanced(ours, db, campaign)
		r.Logf("  %6d players: all have their notices after %.1f s, processor seconds %v", players, sum.took.Seconds(),
			sum)
	})
	r.check("settle", err)
	return sum
}

// notifyGroup lets players from a number on win so often each, then settles, and waits until all have their notices.
func (r *run) notifyGroup(ours *contestant, namespace, campaign string, first, count, each int,
	processes []process) usage {
	crowd, leave := r.gatherAs(ours, campaign, count, func(player int) string {
		return "player-" + strconv.Itoa(first+player)
	})
	defer leave()
	r.settling(namespace, false)
	duration, fall, drops := dense()
	ours.rain(campaign, falling(duration, drops, fall))
	wins := int64(count * each)
	playing, stop := context.WithCancel(r.ctx)
	defer stop()
	go func() {
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for playing.Err() == nil && crowd.Progress().Won < wins {
			select {
			case <-look.C:
			case <-playing.Done():
			}
		}
		stop()
	}()
	report := crowd.Play(playing, bench.Plan{Duration: time.Minute})
	if won := report.Outcomes["won"]; won != wins {
		r.Fatalf("%d wins, not %d: %v; errors %v", won, wins, report.Outcomes, report.Errors)
	}
	ours.endRain(r.scope, campaign)
	rest := r.resting(processes)
	before, err := read(processes)
	r.check("before", err)
	r.settling(namespace, true)
	for crowd.Progress().Settled < wins {
		r.wait(10 * time.Millisecond)
	}
	after, err := read(processes)
	r.check("after", err)
	used := after.since(before)
	used.without(rest)
	return used
}

// resting is the usage of processes without taps and settlement: a room gets its figures once a second.
func (r *run) resting(processes []process) usage {
	before, err := read(processes)
	r.check("before", err)
	r.wait(3 * time.Second)
	after, err := read(processes)
	r.check("after", err)
	return after.since(before)
}

// balanced fails unless the ledger has all wins, and its books balance.
func (r *run) balanced(ours *contestant, db *database, campaign string) {
	var paid int
	r.check("count the payouts", db.QueryRowContext(r.ctx, "SELECT COUNT(*) FROM payout WHERE campaign_id = ?",
		campaign).Scan(&paid))
	books, err := ours.operator.Reconciliation(r.ctx, campaign)
	r.check("prove the books", err)
	if paid != noticeWins || !books.Balanced || books.Paid != noticeWins*amount {
		r.Fatalf("%d wins are paid, and the books say %+v", paid, books)
	}
}

// settling lets the settler of a redrain with this namespace get messages from JetStream, or none for now.
func (r *run) settling(namespace string, on bool) {
	conn, err := nats.Connect(r.back.natsURL)
	r.check("connect to NATS", err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	r.check("open JetStream", err)
	stream, consumer := strings.ToUpper(namespace)+"_PAYOUT", "settle"
	if on {
		_, err = js.ResumeConsumer(r.ctx, stream, consumer)
	} else {
		_, err = js.PauseConsumer(r.ctx, stream, consumer, time.Now().Add(time.Hour))
	}
	r.check("pause the settler, or let it go on", err)
}
