package alarms

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"redrain/client/openapi"
	"redrain/rain"
	"redrain/server/cluster"
)

const (
	// kept is the time for which an alarm stays open without a repetition.
	kept = 24 * time.Hour
	// most is the number of different open alarms; beyond it the oldest are dropped.
	most = 200
)

// Open holds the alarms that this node has received from any node. It is safe for concurrent use.
type Open struct {
	clock rain.Clock

	mu   sync.Mutex
	by   map[key]alarm
	seen map[string]struct{} // the codes since the start
}

type key struct{ code, campaign string }

// alarm is an open alarm.
type alarm struct {
	openapi.OpenAlarm

	isCondition bool  // it ends by itself
	until       int64 // Unix ms: it ends then, unless it is repeated
}

// NewOpen returns an empty list. A nil registerer gets no metric.
func NewOpen(clock rain.Clock, registerer prometheus.Registerer) *Open {
	o := &Open{clock: clock, by: map[key]alarm{}, seen: map[string]struct{}{}}
	if registerer != nil {
		registerer.MustRegister(o)
	}
	return o
}

// Raise opens an alarm, or repeats an open one. It reports whether this is news: a repeated condition is none.
func (o *Open) Raise(n cluster.Alarm) (isNews bool) {
	now := o.clock()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[n.Code] = struct{}{}
	k := key{n.Code, n.Campaign}
	v, open := o.by[k]
	if !open || v.until < now {
		v = alarm{OpenAlarm: openapi.OpenAlarm{Code: n.Code, Campaign: n.Campaign, Since: now}}
		open = false
	}
	isNews = !open || n.LastsMS == 0
	if isNews {
		v.Times++
	}
	v.isCondition = n.LastsMS > 0
	v.Message, v.At, v.until = n.Message, now, now+cmp.Or(n.LastsMS, kept.Milliseconds())
	o.by[k] = v
	if len(o.by) > most {
		oldest := k
		for k, one := range o.by {
			if one.At < o.by[oldest].At {
				oldest = k
			}
		}
		delete(o.by, oldest)
	}
	return isNews
}

// List returns the open alarms, the newest first.
func (o *Open) List() []openapi.OpenAlarm {
	list := []openapi.OpenAlarm{}
	for _, a := range o.list() {
		list = append(list, a.OpenAlarm)
	}
	slices.SortFunc(list, func(a, b openapi.OpenAlarm) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Campaign, b.Campaign))
	})
	return list
}

// list returns the open alarms, and removes those that have ended.
func (o *Open) list() (list []alarm) {
	now := o.clock()
	o.mu.Lock()
	defer o.mu.Unlock()
	for k, v := range o.by {
		if v.until < now {
			delete(o.by, k)
			continue
		}
		list = append(list, v)
	}
	return list
}

var openDesc = prometheus.NewDesc("redrain_alarms", "Open alarms, by code. Each node counts those of all nodes.",
	[]string{"code"}, nil)

// Describe implements prometheus.Collector.
func (*Open) Describe(to chan<- *prometheus.Desc) { to <- openDesc }

// Collect implements prometheus.Collector. A code stays at 0 after its alarms have ended.
func (o *Open) Collect(to chan<- prometheus.Metric) {
	counts := map[string]int{}
	for _, a := range o.list() {
		counts[a.Code]++
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for code := range o.seen {
		to <- prometheus.MustNewConstMetric(openDesc, prometheus.GaugeValue, float64(counts[code]), code)
	}
}
