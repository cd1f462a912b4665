package grab

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct{ batchSize, scriptSeconds, confirmSeconds prometheus.Histogram }

func newMetrics(reg prometheus.Registerer) *metrics {
	factory := promauto.With(reg)
	return &metrics{
		batchSize: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "redrain_grab_batch_size", Help: "Taps that one call of the grab script has decided.",
			Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, maxBatch},
		}),
		scriptSeconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "redrain_grab_script_seconds", Help: "From sending a batch to Redis to its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 15), // 0.1 ms to 1.6 s
		}),
		confirmSeconds: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "redrain_grab_confirm_seconds", Help: "From a batch's wins in Redis to their confirmation, with " +
				"--confirm replica or stream.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 15),
		}),
	}
}
