package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	core "k8s.io/api/core/v1"
)

// secrets are values that config check accepts.
var secrets = map[string]string{
	"redis":           "redis:6379",
	"nats":            "nats://nats:4222",
	"mysql":           "redrain:password@tcp(db:3306)/redrain",
	"operator-token":  strings.Repeat("o", 32),
	"viewer-token":    strings.Repeat("v", 32),
	"jwt-secret":      strings.Repeat("j", 32),
	"provider-secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
}

// settings has redrain check the arguments and files of each container.
func (c *checker) settings(redrain string) {
	for _, d := range c.deployments {
		pod := d.Spec.Template.Spec
		if err := c.configCheck(redrain, d.Name, pod.Containers[0]); err != nil {
			c.fault("%s: %w", d.Name, err)
		}
	}
	for _, j := range c.jobs {
		args := j.Spec.Template.Spec.Containers[0].Args
		if out, err := exec.Command(redrain, append(args, "--help")...).CombinedOutput(); err != nil {
			c.fault("%s: %v: %w\n%s", j.Name, args, err, out)
		}
	}
}

// configCheck puts the container's files below a folder of its own.
func (c *checker) configCheck(redrain, name string, container core.Container) error {
	dir, err := os.MkdirTemp("", "redrain-chart-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	const etc = "/etc/redrain"
	config := strings.ReplaceAll(c.config(name), etc, dir)
	if err := os.Mkdir(filepath.Join(dir, "secrets"), 0o700); err != nil {
		return err
	}
	files := map[string]string{"redrain.yaml": config}
	for secret, value := range secrets {
		files["secrets/"+secret] = value
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			return err
		}
	}
	args := strings.Split(strings.ReplaceAll(strings.Join(container.Args, "\n"), etc, dir), "\n")
	if args[0] != "serve" {
		c.fault("%s: the first argument is %s, not serve", name, args[0])
	}
	out, err := exec.Command(redrain, append([]string{"config", "check"}, args[1:]...)...).CombinedOutput()
	if err != nil {
		c.fault("%s: config check: %w\n%s\n%s", name, err, out, config)
	}
	return nil
}
