package confirm

import (
	"redrain/grab/store"
	"redrain/rain"
)

// Pending are outbox entries of one shard whose winners wait to be told. An entry is written whole and kept whole, so
// what is known of one of its wins holds for all. The zero value is empty.
type Pending struct {
	entries []*entry
	byID    map[string]*entry
}

// entry is one pending entry.
type entry struct {
	id        string
	sample    rain.Win    // one of its wins
	written   *rain.Entry // all of it, where it has just been written; nil for an older one
	confirmed bool        // its winners may be told
}

// AddFresh adds an entry that has just been written.
func (p *Pending) AddFresh(e *rain.Entry) { p.add(e.Ref.ID, e.Wins[0]).written = e }

// AddOlder adds a win of an entry that was written before. Where the entry's other wins are needed, they are read from
// the outbox.
func (p *Pending) AddOlder(id string, win rain.Win) { p.add(id, win) }

func (p *Pending) add(id string, win rain.Win) *entry {
	known := p.byID[id]
	if known == nil {
		known = &entry{id: id, sample: win}
		if p.byID == nil {
			p.byID = map[string]*entry{}
		}
		p.byID[id] = known
		p.entries = append(p.entries, known)
	}
	return known
}

// Confirmed tells whether the winners of the entry may be told.
func (p *Pending) Confirmed(id string) bool {
	known := p.byID[id]
	return known != nil && known.confirmed
}

// confirmRecorded marks those entries as confirmed whose sample is on record, from that very entry; none
// where it fails. read returns fields of the wins hash as HMGET does.
func confirmRecorded(of []*entry, read func(fields []string) ([]any, error)) error {
	records := make([]store.Record, len(of))
	for i, e := range of {
		records[i] = store.Record{Win: e.sample, Entry: e.id}
	}
	there, err := store.OnRecord(records, read)
	if err != nil {
		return err
	}
	for i, e := range of {
		e.confirmed = there[i]
	}
	return nil
}
