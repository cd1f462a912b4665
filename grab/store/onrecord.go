package store

import "context"

// OnRecord reports for each win whether the wins hash has it, from that very outbox entry. read returns fields of the
// hash as HMGET does.
func OnRecord(of []Record, read func(fields []string) ([]any, error)) ([]bool, error) {
	fields := make([]string, len(of))
	for i, r := range of {
		fields[i] = r.field()
	}
	found, err := read(fields)
	if err == nil && len(found) != len(fields) {
		err = errReply
	}
	if err != nil {
		return nil, err
	}
	there := make([]bool, len(of))
	for i, v := range found {
		text, _ := v.(string)
		want := &of[i]                                                //nolint:gosec // as many were found as asked for
		is, _, err := parseRecord(want.Win.User, want.Win.Drop, text) // an unreadable record counts as absent
		there[i] = err == nil && is.Win.Packet == want.Win.Packet && is.Entry == want.Entry
	}
	return there, nil
}

// ReadWins reads fields of a shard's wins hash, for OnRecord.
func (w *Wins) ReadWins(ctx context.Context, campaign string, shard int, fields []string) ([]any, error) {
	found, err := w.rdb.HMGet(ctx, w.keys.shard(campaign, shard).Wins, fields...).Result()
	return found, w.checked(err)
}
