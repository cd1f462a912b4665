package pipeline

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// register adds a collector where there is a registry.
func register(r prometheus.Registerer, collectors ...prometheus.Collector) error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, c := range collectors {
		errs = append(errs, r.Register(c))
	}
	return errors.Join(errs...)
}
