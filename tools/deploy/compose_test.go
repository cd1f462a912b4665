package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"redrain/internal/testenv"
)

// stack is compose.yaml in a copy of deploy, with its secrets. Its processes run on this machine.
type stack struct {
	project *types.Project
	redrain string
	admins  [2]string // addresses of the nodes' metrics
	proxy   string    // address of HAProxy
	monitor string    // address of Prometheus
}

// TestCompose loads compose.yaml, then plays a rain on its processes: two nodes, HAProxy, Prometheus and Alertmanager,
// with their commands and files. Addresses are those of this machine, and the back ends are the tests'. Prometheus then
// has both nodes and no alert that wakes a person, and each metric on a board or in a rule exists.
func TestCompose(t *testing.T) {
	testenv.RunsFrom(t, testenv.All)
	testenv.ParallelFailover(t, testenv.Heavy)
	s := load(t)
	s.checkFiles(t)
	s.startNodes(t)
	s.startMonitor(t)
	s.play(t)
	checkMetrics(t, s.scrape(t))
}

func load(t *testing.T) *stack {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"balancers", "compose", "grafana", "prometheus"} {
		testenv.Must(t, os.CopyFS(filepath.Join(dir, folder), os.DirFS(path(folder))))
	}
	testenv.Contains(t, run(t, filepath.Join(dir, "compose", "secrets.sh")), "operator token: ", "the output")
	options := testenv.Got(cli.NewProjectOptions([]string{filepath.Join(dir, "compose", "compose.yaml")})).Must(t)
	return &stack{project: testenv.Got(options.LoadProject(t.Context())).Must(t), redrain: testenv.Binary(t)}
}

// checkFiles: each mounted file is there, each image has a version, and a node is killed only after its drain.
func (s *stack) checkFiles(t *testing.T) {
	t.Helper()
	version := regexp.MustCompile(`^[a-z/-]+:v?\d+\.\d+[.\w-]*$`)
	for name, service := range s.project.Services {
		if !version.MatchString(service.Image) {
			t.Errorf("%s: the image %s has no version", name, service.Image)
		}
		for _, v := range service.Volumes {
			if v.Type == types.VolumeTypeBind {
				testenv.WantErr(t, testenv.Err(os.Stat(v.Source)), nil, name)
			}
		}
		grace := service.StopGracePeriod
		if strings.HasPrefix(name, "node-") && time.Duration(*grace) <= 35*time.Second {
			t.Errorf("%s: the grace period of %v is not above drain-delay and drain-timeout", name, grace)
		}
	}
}

// command returns the command of a service with the mounted paths of this machine, which its mounted files get too.
// here are pairs of other texts and their replacements.
func (s *stack) command(t *testing.T, name string, here ...string) []string {
	t.Helper()
	service := testenv.Got(s.project.GetService(name)).Must(t)
	var files []string
	for _, v := range service.Volumes {
		here = append(here, v.Target, v.Source)
		if info := testenv.Got(os.Stat(v.Source)).Must(t); info.Mode().IsRegular() {
			files = append(files, v.Source)
		}
	}
	replace := strings.NewReplacer(here...)
	for _, file := range files {
		text := replace.Replace(string(testenv.Got(os.ReadFile(file)).Must(t)))
		testenv.Must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	command := slices.Clone([]string(service.Command))
	for i := range command {
		command[i] = replace.Replace(command[i])
	}
	return command
}

// at is a path in the folder of compose.yaml.
func (s *stack) at(name ...string) string {
	return filepath.Join(append([]string{s.project.WorkingDir}, name...)...)
}

// startNodes starts both nodes, and HAProxy before them.
func (s *stack) startNodes(t *testing.T) {
	t.Helper()
	testenv.Must(t, os.WriteFile(s.at("secrets", "mysql"), []byte(testenv.MySQL(t)), 0o600))
	backends := []string{
		"redis-1:6379,redis-2:6379,redis-3:6379", strings.Join(testenv.RedisCluster(t), ","),
		"nats://nats-1:4222,nats://nats-2:4222,nats://nats-3:4222", testenv.NATS(t),
		"172.30.0.10", "127.0.0.1", // HAProxy
	}
	balancer := []string{"bind :80\n", "bind LISTEN\n", "maxconn 100000", "maxconn 8000"}
	for i := range s.admins {
		name, listen := fmt.Sprintf("node-%d", i+1), testenv.Addr(t)
		s.admins[i] = testenv.Addr(t)
		args := s.command(t, name, backends...)
		run(t, s.redrain, append([]string{"config", "check"}, args[1:]...)...)
		launch(t, s.redrain, append(args, "--listen", listen, "--admin-listen", s.admins[i])...)
		_, port, err := net.SplitHostPort(s.admins[i])
		testenv.Must(t, err)
		address := s.project.Services[name].Networks["default"].Ipv4Address
		balancer = append(balancer, address+":8080", listen+" port "+port)
	}
	s.command(t, "haproxy", balancer...)
	config := string(testenv.Got(os.ReadFile(s.at("..", "balancers", "haproxy.cfg"))).Must(t))
	s.proxy = testenv.StartHAProxyWith(t, config).Addr
	testenv.Eventually(t, time.Minute, "a page through HAProxy", func() bool {
		return testenv.Err(get("http://"+s.proxy+"/")) == nil
	})
}

func (s *stack) startMonitor(t *testing.T) {
	t.Helper()
	alertmanager := testenv.Addr(t)
	launch(t, testenv.Program(t, "prometheus-alertmanager"), append(s.command(t, "alertmanager"),
		"--web.listen-address="+alertmanager, "--cluster.listen-address=", "--storage.path="+t.TempDir())...)
	s.monitor = testenv.Addr(t)
	launch(t, testenv.Program(t, "prometheus"), append(
		s.command(t, "prometheus", "node-1:9090", s.admins[0], "node-2:9090", s.admins[1],
			"alertmanager:9093", alertmanager),
		"--web.listen-address="+s.monitor, "--storage.tsdb.path="+t.TempDir())...)
	testenv.Eventually(t, time.Minute, "Prometheus has both nodes", func() bool {
		return s.query(t, `count(up{job="redrain"} == 1)`) == "2"
	})
}

// play plays the rain of the README, smaller.
func (s *stack) play(t *testing.T) {
	t.Helper()
	token := string(testenv.Got(os.ReadFile(s.at("secrets", "operator-token"))).Must(t))
	t.Log(run(t, s.redrain, "bench", "--url", "http://"+s.proxy, "--token", token, "--players", "100",
		"--duration", "5s"))
	testenv.Eventually(t, time.Minute, "Prometheus has the taps", func() bool {
		return s.query(t, `sum(redrain_taps_total{outcome="won"}) > bool 0`) == "1"
	})
	testenv.Equal(t, s.query(t, `count(ALERTS{severity="page", alertstate="firing"})`), "", "alerts that wake a person")
}

// query returns the value of an expression with one result, or "".
func (s *stack) query(t *testing.T, expr string) string {
	t.Helper()
	text, err := get("http://" + s.monitor + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return "" // Prometheus starts
	}
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	testenv.Must(t, json.Unmarshal(text, &answer))
	if len(answer.Data.Result) == 0 {
		return ""
	}
	return fmt.Sprint(answer.Data.Result[0].Value[1])
}

// scrape returns the metrics of both nodes.
func (s *stack) scrape(t *testing.T) string {
	t.Helper()
	one, err1 := get("http://" + s.admins[0] + "/metrics")
	other, err2 := get("http://" + s.admins[1] + "/metrics")
	testenv.Must(t, errors.Join(err1, err2))
	return string(one) + string(other)
}

// client keeps no connection, so that none is left when a test ends.
var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// get returns the body of an answer with 200.
func get(address string) ([]byte, error) {
	resp, err := client.Get(address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// launch starts a program until the test ends.
func launch(t *testing.T, program string, args ...string) {
	t.Helper()
	log := testenv.Got(os.Create(filepath.Join(t.TempDir(), "log"))).Must(t)
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	t.Cleanup(func() {
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("the log of %s:\n%s", filepath.Base(program), text[max(0, len(text)-4000):])
		}
	})
	testenv.Start(t, cmd)
}
