package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// checker collects the faults of a release.
type checker struct {
	*objects

	faults []error
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(format, args...))
}

// check decodes the objects, and checks their references to each other. redrain may be "".
func check(documents []string, redrain string) error {
	o, err := decode(documents)
	if err != nil {
		return err
	}
	c := &checker{objects: o}
	if len(o.deployments) != 2 || len(o.budgets) != 2 || len(o.services) != 2 {
		c.fault("%d Deployments, %d budgets, %d Services, want 2 of each", len(o.deployments), len(o.budgets),
			len(o.services))
	}
	for _, d := range o.deployments {
		if !matches(d.Spec.Selector, d.Spec.Template.Labels) {
			c.fault("Deployment %s does not select its pods", d.Name)
		}
		c.pod(d.Name, &d.Spec.Template.Spec)
		c.drain(d.Name, &d.Spec.Template.Spec)
	}
	c.selectors()
	c.routes()
	if redrain != "" {
		c.settings(redrain)
	}
	return errors.Join(c.faults...)
}

// pods returns the pods that a selector selects.
func (c *checker) pods(selector *meta.LabelSelector) (found []core.PodTemplateSpec) {
	for _, d := range c.deployments {
		if matches(selector, d.Spec.Template.Labels) {
			found = append(found, d.Spec.Template)
		}
	}
	for _, j := range c.jobs {
		if matches(selector, j.Spec.Template.Labels) {
			found = append(found, j.Spec.Template)
		}
	}
	return found
}

func matches(selector *meta.LabelSelector, of map[string]string) bool {
	s, err := meta.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(of))
}

// hasPort reports whether a pod has a port of this name or number.
func hasPort(pod core.PodSpec, port intstr.IntOrString) bool {
	return slices.ContainsFunc(pod.Containers, func(c core.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool {
			return p.Name == port.StrVal || p.ContainerPort == port.IntVal
		})
	})
}

// pod checks that volumes exist and that probes ask the paths of redrain.
func (c *checker) pod(name string, pod *core.PodSpec) {
	for _, v := range pod.Volumes {
		if v.ConfigMap != nil && c.config(v.ConfigMap.Name) == "" {
			c.fault("%s: no ConfigMap %s", name, v.ConfigMap.Name)
		}
	}
	for _, container := range pod.Containers {
		for _, m := range container.VolumeMounts {
			if !slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name }) {
				c.fault("%s: no volume %s", name, m.Name)
			}
		}
		for path, probe := range map[string]*core.Probe{
			"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe,
		} {
			if probe == nil || probe.HTTPGet.Path != path || !hasPort(*pod, probe.HTTPGet.Port) {
				c.fault("%s: no probe asks %s on a port of the container", name, path)
			}
		}
	}
	for _, spread := range pod.TopologySpreadConstraints {
		if len(c.pods(spread.LabelSelector)) != 1 {
			c.fault("%s: the topology constraint %s selects not exactly these pods", name, spread.TopologyKey)
		}
	}
}

// config is the redrain.yaml of a ConfigMap.
func (c *checker) config(name string) string {
	for _, m := range c.configs {
		if m.Name == name {
			return m.Data["redrain.yaml"]
		}
	}
	return ""
}

// drain checks that a pod is killed only after drain-delay and drain-timeout.
func (c *checker) drain(name string, pod *core.PodSpec) {
	var is struct {
		Delay   meta.Duration `json:"drain-delay"`
		Timeout meta.Duration `json:"drain-timeout"`
	}
	if err := yaml.Unmarshal([]byte(c.config(name)), &is); err != nil {
		c.fault("%s: %w", name, err)
	}
	grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
	if need := is.Delay.Duration + is.Timeout.Duration; is.Delay.Duration < 5*time.Second || grace <= need {
		c.fault("%s: the grace period of %v is not above %v", name, grace, need)
	}
}

// selectors checks that budgets, policies and Services select pods, and that these have their ports.
func (c *checker) selectors() {
	for _, b := range c.budgets {
		if len(c.pods(b.Spec.Selector)) != 1 {
			c.fault("budget %s selects not exactly the pods of one Deployment", b.Name)
		}
	}
	for _, p := range c.policies {
		for _, pod := range c.pods(&p.Spec.PodSelector) {
			for _, rule := range p.Spec.Ingress {
				for _, port := range rule.Ports {
					if !hasPort(pod.Spec, *port.Port) {
						c.fault("policy %s: no port %v", p.Name, port.Port)
					}
				}
			}
		}
	}
	for _, s := range c.services {
		pods := c.pods(&meta.LabelSelector{MatchLabels: s.Spec.Selector})
		for _, port := range s.Spec.Ports {
			if !slices.ContainsFunc(pods, func(p core.PodTemplateSpec) bool { return hasPort(p.Spec, port.TargetPort) }) {
				c.fault("Service %s: no pod has port %v", s.Name, port.TargetPort)
			}
		}
	}
}

// routes checks the objects that name others: Ingresses, autoscalers and monitors.
func (c *checker) routes() {
	for _, i := range c.ingresses {
		for _, rule := range i.Spec.Rules {
			for _, p := range rule.HTTP.Paths {
				if to := p.Backend.Service; !c.hasService(nil, to.Name, to.Port.Name) {
					c.fault("Ingress %s: no Service %s with port %s", i.Name, to.Name, to.Port.Name)
				}
			}
		}
	}
	for _, s := range c.scalers {
		for _, d := range c.deployments {
			if isTarget := d.Name == s.Spec.ScaleTargetRef.Name; isTarget != (d.Spec.Replicas == nil) {
				c.fault("Deployment %s: either it has replicas, or an autoscaler", d.Name)
			}
		}
	}
	for _, m := range c.monitors {
		for _, e := range m.Spec.Endpoints {
			if !c.hasService(&m.Spec.Selector, "", e.Port) {
				c.fault("ServiceMonitor %s: no Service with port %s", m.Name, e.Port)
			}
		}
	}
	for _, r := range c.rules {
		if len(r.Spec.Groups) == 0 {
			c.fault("PrometheusRule %s is empty", r.Name)
		}
	}
}

// hasService reports whether a Service has a port. It is named, or a selector selects it.
func (c *checker) hasService(selector *meta.LabelSelector, name, port string) bool {
	for _, s := range c.services {
		if s.Name != name && !matches(selector, s.Labels) {
			continue
		}
		return slices.ContainsFunc(s.Spec.Ports, func(p core.ServicePort) bool { return p.Name == port })
	}
	return false
}
