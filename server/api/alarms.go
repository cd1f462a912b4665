package api

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"

	"redrain/internal/openapi"
	"redrain/server/cluster"
)

const (
	// alarmsKept is the time for which an alarm stays open without a repetition.
	alarmsKept = 24 * time.Hour
	// mostAlarms is the number of different open alarms; beyond it the oldest are dropped.
	mostAlarms = 200
)

// openAlarms holds the alarms that this node has received from any node.
type openAlarms struct {
	mu sync.Mutex
	by map[alarmKey]openapi.OpenAlarm
}

type alarmKey struct{ code, campaign string }

func (o *openAlarms) raise(n cluster.Alarm, now int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil {
		o.by = map[alarmKey]openapi.OpenAlarm{}
	}
	key := alarmKey{n.Code, n.Campaign}
	v, open := o.by[key]
	if !open || v.At < now-alarmsKept.Milliseconds() {
		v = openapi.OpenAlarm{Code: n.Code, Campaign: n.Campaign, FirstAt: now}
	}
	v.Message, v.At, v.Times = n.Message, now, v.Times+1
	o.by[key] = v
	if len(o.by) > mostAlarms {
		oldest := key
		for k, one := range o.by {
			if one.At < o.by[oldest].At {
				oldest = k
			}
		}
		delete(o.by, oldest)
	}
}

// list returns the open alarms, the newest first.
func (o *openAlarms) list(now int64) []openapi.OpenAlarm {
	o.mu.Lock()
	defer o.mu.Unlock()
	open := []openapi.OpenAlarm{}
	for key, v := range o.by {
		if v.At < now-alarmsKept.Milliseconds() {
			delete(o.by, key)
			continue
		}
		open = append(open, v)
	}
	slices.SortFunc(open, func(a, b openapi.OpenAlarm) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Campaign, b.Campaign))
	})
	return open
}

// listAlarms lists the alarms of the last day that this node has received, the newest first.
func (a *API) listAlarms(w http.ResponseWriter, _ *http.Request, _ caller) error {
	return answer(w, list[openapi.OpenAlarm]{Items: a.o.Events.alarms.list(a.o.Clock())}, nil)
}
