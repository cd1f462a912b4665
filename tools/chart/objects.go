package main

import (
	"errors"
	"fmt"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// objects are the objects of a release.
type objects struct {
	configs     []*core.ConfigMap
	services    []*core.Service
	deployments []*apps.Deployment
	jobs        []*batch.Job
	budgets     []*policy.PodDisruptionBudget
	scalers     []*autoscaling.HorizontalPodAutoscaler
	ingresses   []*networking.Ingress
	policies    []*networking.NetworkPolicy
	monitors    []*monitoring.ServiceMonitor
	rules       []*monitoring.PrometheusRule
}

// decode refuses unknown fields and kinds.
func decode(documents []string) (*objects, error) {
	o, errs := &objects{}, []error(nil)
	for _, document := range documents {
		if err := o.add([]byte(document)); err != nil {
			errs = append(errs, fmt.Errorf("%w\n%s", err, document))
		}
	}
	return o, errors.Join(errs...)
}

func (o *objects) add(document []byte) error {
	var kind meta.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 ConfigMap":
		return decodeInto(document, &o.configs)
	case "v1 Service":
		return decodeInto(document, &o.services)
	case "apps/v1 Deployment":
		return decodeInto(document, &o.deployments)
	case "batch/v1 Job":
		return decodeInto(document, &o.jobs)
	case "policy/v1 PodDisruptionBudget":
		return decodeInto(document, &o.budgets)
	case "autoscaling/v2 HorizontalPodAutoscaler":
		return decodeInto(document, &o.scalers)
	case "networking.k8s.io/v1 Ingress":
		return decodeInto(document, &o.ingresses)
	case "networking.k8s.io/v1 NetworkPolicy":
		return decodeInto(document, &o.policies)
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return decodeInto(document, &o.monitors)
	case "monitoring.coreos.com/v1 PrometheusRule":
		return decodeInto(document, &o.rules)
	}
	return fmt.Errorf("unknown kind %s %s", kind.APIVersion, kind.Kind)
}

func decodeInto[T any](document []byte, list *[]*T) error {
	object := new(T)
	*list = append(*list, object)
	return yaml.UnmarshalStrict(document, object)
}
