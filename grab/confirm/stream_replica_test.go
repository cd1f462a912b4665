package confirm_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"redrain/grab/confirm"
	"redrain/grab/grabtest"
	"redrain/internal/testenv"
	"redrain/rain"
)

// reading reads all entries, as a relay does. It is an error where they may not leave Redis.
func reading(gm *grabtest.Game) (all []rain.Entry, err error) {
	gm.T.Helper()
	all, _, err = gm.G.Page(gm.T.Context(), gm.C.ID, 0, "", 100)
	if err == nil {
		err = gm.G.MayLeave(gm.T.Context(), all)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// What a relay holds may be settled at that moment by way of the winners' own node. It is told from what Redis has
// lost.
func TestWhatIsSettledMeanwhileMayLeave(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm, _ := grabtest.Streaming(t, rdb, grabtest.Setup{Packets: 3})
		gm.UntilWon("p", gm.Drop(0))
		gm.UntilWon("q", gm.Drop(0))
		held := inOutbox(gm)
		lasts := func() (err error) {
			testenv.Eventually(t, time.Minute, "a replica acknowledges, where there is one", func() bool {
				err = gm.G.MayLeave(t.Context(), held)
				return !errors.Is(err, confirm.ErrNoReplica)
			})
			return err
		}
		testenv.Must(t, lasts())
		gm.Remove(held)
		testenv.Must(t, lasts())
		held[1].Wins[0].Packet++
		testenv.WantErr(t, lasts(), confirm.ErrForgotten, "another win")
		held[1].Wins[0].Packet--
		gm.Lose()
		testenv.WantErr(t, lasts(), confirm.ErrForgotten, "lost")
		held[1].Wins, held[1].Reclaim = nil, &rain.Reclaim{Numbers: rain.Numbers{{First: 1, Last: 1}}}
		testenv.WantErr(t, lasts(), confirm.ErrForgotten, "a reclaim that is lost")
	})
}

// An heir that has not got the entry may have written another one under the same id: what was read does not last.
func TestAnotherEntryUnderTheSameIDIsNoProof(t *testing.T) {
	grabtest.EachBackend(t, func(t *testing.T, rdb grabtest.Client) {
		gm, _ := grabtest.Streaming(t, rdb, grabtest.Setup{Packets: 3})
		drop := gm.Drop(0)
		gm.UntilWon("p", drop)
		held, key := inOutbox(gm), gm.G.Keys(gm.C.ID, 0).Outbox
		at, seal := strconv.FormatInt(held[0].SealedAt, 10), held[0].Wins[0].Seal
		for _, heir := range []struct {
			at, packets, wins string
			want              error
		}{
			{at, "0-0", seal + " " + drop + " p", nil}, // the same one
			{at, "0-0", seal + " " + drop + " q", confirm.ErrForgotten},
			{at, "1-1", seal + " " + drop + " p", confirm.ErrForgotten},
			{at, "0-0", "AAAAAAAAAAA " + drop + " p", confirm.ErrForgotten},
			{"1", "0-0", seal + " " + drop + " p", confirm.ErrForgotten},
			{at, "0-1", seal + " " + drop + " p\n" + seal + " " + drop + " q", confirm.ErrForgotten},
		} {
			testenv.Must(t, rdb.Del(t.Context(), key).Err())
			entry := &redis.XAddArgs{Stream: key, ID: held[0].Ref.ID,
				Values: []string{"at", heir.at, "packets", heir.packets, "wins", heir.wins}}
			testenv.Must(t, rdb.XAdd(t.Context(), entry).Err())
			testenv.Eventually(t, time.Minute, "a replica acknowledges, where there is one", func() bool {
				err := gm.G.MayLeave(t.Context(), held)
				if !errors.Is(err, confirm.ErrNoReplica) && !errors.Is(err, heir.want) {
					t.Errorf("%q: %v, want %v", heir.wins, err, heir.want)
				}
				return !errors.Is(err, confirm.ErrNoReplica)
			})
		}
	})
}
