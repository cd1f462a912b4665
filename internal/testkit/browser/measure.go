package browser

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Holdings is what a page holds on to.
type Holdings struct {
	Heap      float64 // bytes of JavaScript objects that can be reached
	Nodes     int64   // of the DOM, with those that are in no document any more but still referred to
	Listeners int64   // of DOM events
}

// Holdings collects garbage, and counts what is left.
func (p *Page) Holdings() (Holdings, error) {
	ctx, cancel := context.WithTimeout(p.ctx, Patience)
	defer cancel()
	return chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (h Holdings, err error) {
		// Twice: what the first leaves to finalizers goes with the second.
		for range 2 {
			if _, err := cdp.Call(ctx, t, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
				return h, err
			}
		}
		counts, err := cdp.Call(ctx, t, memory.GetDOMCounters, cdp.Empty{})
		if err != nil {
			return h, err
		}
		usage, err := cdp.Call(ctx, t, runtime.GetHeapUsage, cdp.Empty{})
		return Holdings{Heap: usage.UsedSize, Nodes: counts.Nodes, Listeners: counts.JsEventListeners}, err
	})
}
