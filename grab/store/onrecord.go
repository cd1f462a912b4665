package store

import "context"

// OnRecord tells of each win whether the wins hash has it, from that very outbox entry. read returns fields of the
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
		is, _, err := parseRecord(of[i].Win.User, of[i].Win.Drop, text) // what nobody can read is not there
		there[i] = err == nil && is.Win.Packet == of[i].Win.Packet && is.Entry == of[i].Entry
	}
	return there, nil
}

// ReadWins reads fields of a shard's wins hash, for OnRecord.
func (w *Wins) ReadWins(ctx context.Context, campaign string, shard int, fields []string) ([]any, error) {
	found, err := w.rdb.HMGet(ctx, w.keys.shard(campaign, shard).Wins, fields...).Result()
	return found, w.checked(err)
}
