package confirm

import (
	"redrain/grab/store"
	"redrain/rain"
)

// Pending holds outbox entries of one shard whose winners wait for their notification. An entry is written
// atomically, so a proof for one of its wins holds for all. The zero value is empty.
type Pending struct {
	entries []*entry
	byID    map[string]*entry
}

// entry is one pending entry.
type entry struct {
	id        string
	sample    rain.Win    // one of its wins
	written   *rain.Entry // the whole entry; nil for an older one that has not been read
	confirmed bool        // its winners may be notified
}

// AddFresh adds an entry that has just been written.
func (p *Pending) AddFresh(e *rain.Entry) { p.add(e.Ref.ID, e.Wins[0]).written = e }

// AddOlder adds a win of an entry that was written before. If the entry's other wins are needed, they are read from
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

// Confirmed reports whether the winners of the entry may be notified.
func (p *Pending) Confirmed(id string) bool {
	known := p.byID[id]
	return known != nil && known.confirmed
}

// confirmRecorded confirms the entries whose sample is on record, from that very entry. If read fails it confirms
// none. The function read returns fields of the wins hash as HMGET does.
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
