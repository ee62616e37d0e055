// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

var binary, otelcol string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	syscall.Umask(0o022) // other users run what the tests make
	dir, err := os.MkdirTemp("", "prywalk-agent-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary, otelcol = filepath.Join(dir, "prywalk"), filepath.Join(dir, "collector")
	if err := testtargets.BuildPrywalk(binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// buildCollector compiles a module with many dependencies.
var buildCollector = sync.OnceValue(func() error {
	// With the settings of make lint, which has compiled these packages already.
	build := exec.Command("go", "build", "-C", "../collector", "-o", otelcol, ".")
	if out, err := bounded.AllOutput(build); err != nil {
		return fmt.Errorf("building the collector: %w\n%s", err, out)
	}
	return nil
})

const patience = 4 * time.Minute

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	eventuallyWithin(t, patience, what, ok)
}

// eventuallyWithin asks ten times less often than testtargets.Eventually: the answers come from the agent.
func eventuallyWithin(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Millisecond) { // between two queries
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

var ports atomic.Int32

// freeAddress's port is below those of outgoing connections (from 32768 on, ip(7)).
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 20000 {
		port := 10000 + (os.Getpid()*100+int(ports.Add(1)))%20000
		if l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port of 127.0.0.1 between 10000 and 30000 is free")
	return ""
}

type collector struct {
	t          *testing.T
	dir        string
	grpc, http string
	prefix     []string
	cmd        *exec.Cmd
}

func newCollector(t *testing.T, protocol string) *collector {
	t.Helper()
	testtargets.OnlyInAll(t, "compiles the OpenTelemetry Collector")
	if err := buildCollector(); err != nil {
		t.Fatal(err)
	}
	c := &collector{t: t, dir: t.TempDir(), grpc: freeAddress(t), http: freeAddress(t)}
	lines := func(indent string) (out string) {
		for line := range strings.Lines(protocol) {
			out += indent + line
		}
		return out
	}
	text := fmt.Sprintf(`receivers:
  otlp:
    protocols:
      grpc:
        endpoint: %s
        include_metadata: true
%s
      http:
        endpoint: %s
        include_metadata: true
%s
exporters:
  sums:
    path: %s
service:
  pipelines:
    profiles:
      receivers: [otlp]
      exporters: [sums]
`, c.grpc, lines("        "), c.http, lines("        "), c.file())
	if err := os.WriteFile(filepath.Join(c.dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	return c
}

func (c *collector) file() string { return filepath.Join(c.dir, "sums.jsonl") }

func (c *collector) start() *collector {
	c.t.Helper()
	args := append(slices.Clone(c.prefix), otelcol, filepath.Join(c.dir, "config.yaml"))
	c.cmd = exec.Command(args[0], args[1:]...)
	c.cmd.Stdout, c.cmd.Stderr = os.Stderr, os.Stderr
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	eventually(c.t, "the collector listens", func() bool {
		if c.prefix != nil {
			return c.listensInItsNamespace()
		}
		for _, addr := range []string{c.grpc, c.http} {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				return false
			}
			_ = conn.Close()
		}
		return true
	})
	return c
}

// The command of prefix executes the collector.
func (c *collector) listensInItsNamespace() bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", c.cmd.Process.Pid))
	for _, addr := range []string{c.grpc, c.http} {
		_, port, _ := net.SplitHostPort(addr)
		n, _ := strconv.Atoi(port)
		// 127.0.0.1 in state TCP_LISTEN (proc_pid_net(5)).
		if !strings.Contains(string(text), fmt.Sprintf(" 0100007F:%04X 00000000:0000 0A ", n)) {
			return false
		}
	}
	return true
}

func (c *collector) stop() {
	if c.cmd != nil {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		_ = c.cmd.Wait()
		c.cmd = nil
	}
}

type message struct {
	Sums      map[string]int64          `json:"sums"`
	Resources map[string]map[string]any `json:"resources"`
	Broken    []string                  `json:"broken"`
	Size      int                       `json:"size"`
	Times     int                       `json:"times"`
	Values    int                       `json:"values"`
	Headers   map[string]string         `json:"headers"`
}

func (c *collector) messages() (list []message) {
	c.t.Helper()
	text, err := os.ReadFile(c.file())
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Fatal(err)
		}
		for _, rule := range m.Broken {
			c.t.Errorf("a message violates a rule of OTLP: %s", rule)
		}
		list = append(list, m)
	}
	return list
}

func (c *collector) sums() map[string]int64 {
	c.t.Helper()
	out := map[string]int64{}
	for _, m := range c.messages() {
		for k, v := range m.Sums {
			out[k] += v
		}
	}
	return out
}

type load struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.Writer
	out     *bufio.Reader
	pid     int
	threads int
}

const (
	loadThreads      = 4
	loadMilliseconds = 300
)

func startLoad(t *testing.T, env ...string) *load {
	t.Helper()
	return startLoadOf(t, loadThreads, loadMilliseconds, env...)
}

func startLoadOf(t *testing.T, threads, milliseconds int, env ...string) *load {
	t.Helper()
	exe, err := testtargets.Compile("gated.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	l := &load{
		t: t, cmd: exec.Command(exe, strconv.Itoa(threads), strconv.Itoa(milliseconds)), threads: threads,
	}
	l.cmd.Env = append(os.Environ(), env...)
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	l.out = testtargets.Ready(t, l.cmd)
	l.pid = l.cmd.Process.Pid
	l.awaitSleep()
	return l
}

func (l *load) compute() {
	l.t.Helper()
	if _, err := io.WriteString(l.in, "\n"); err != nil {
		l.t.Fatal(err)
	}
	if line, err := l.out.ReadString('\n'); line != "done\n" {
		l.t.Fatalf("the load printed %q, want done: %v", line, err)
	}
	l.awaitSleep()
}

func (l *load) awaitSleep() {
	l.t.Helper()
	eventually(l.t, "all threads sleep", func() bool {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", l.pid))
		for _, f := range files {
			text, err := os.ReadFile(f)
			if _, rest, ok := bytes.Cut(text, []byte(") ")); err != nil || !ok || rest[0] != 'S' {
				return false
			}
		}
		return len(files) == l.threads+1
	})
}

func (l *load) cpu() (ns int64) {
	l.t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", l.pid))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			l.t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			l.t.Fatal(err)
		}
		ns += n
	}
	return ns
}

type agent struct {
	t       *testing.T
	cmd     *exec.Cmd
	metrics string
	rec     string
	ended   <-chan error
	stderr  bytes.Buffer
}

func startAgent(t *testing.T, l *load, args ...string) *agent {
	t.Helper()
	a := &agent{t: t, metrics: freeAddress(t), rec: filepath.Join(t.TempDir(), "local.pb.gz")}
	all := append([]string{"agent", "-p", strconv.Itoa(l.pid), "--window", "1s", "-F", "50", "--max-overhead", "50%",
		"--flush", patience.String(),
		"--metrics", a.metrics, "-o", a.rec}, args...)
	a.cmd = exec.Command(binary, all...)
	a.run("all threads are sampled", func() bool { return a.metric("observations_total") > 4*float64(l.threads) })
	return a
}

func (a *agent) run(what string, ready func() bool) {
	a.t.Helper()
	a.cmd.Stderr = &a.stderr
	if err := a.cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = a.cmd.Process.Kill() })
	ended := make(chan error, 1)
	go func() { ended <- a.cmd.Wait() }()
	a.ended = ended
	eventually(a.t, what, func() bool {
		if len(ended) > 0 {
			a.t.Fatalf("the agent has ended: %v\n%s", <-ended, a.stderr.String()) // it is there
		}
		return ready()
	})
}

func (a *agent) metric(name string) float64 {
	r, err := http.Get("http://" + a.metrics + "/metrics")
	if err != nil {
		return -1
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "prywalk_"+name+" "); ok {
			v, err := strconv.ParseFloat(rest, 64)
			if err != nil {
				a.t.Errorf("%s: %v", line, err)
			}
			return v
		}
	}
	return -1
}

func (a *agent) awaitTicks() {
	a.t.Helper()
	ticks := a.metric("ticks_total")
	eventually(a.t, "five more ticks", func() bool { return a.metric("ticks_total") > ticks+5 })
}

func (a *agent) end() {
	a.t.Helper()
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		a.t.Fatal(err)
	}
	hung := time.AfterFunc(2*patience, func() { _ = a.cmd.Process.Kill() })
	defer hung.Stop()
	if err := bounded.Receive(a.t, "the agent ends", a.ended); err != nil {
		a.t.Fatalf("the agent: %v\n%s", err, a.stderr.String())
	}
}

func (a *agent) recorded() map[string]int64 {
	a.t.Helper()
	f, err := os.Open(a.rec)
	if err != nil {
		a.t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		a.t.Fatal(err)
	}
	out := map[string]int64{}
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				names = append(names, line.Function.Name)
			}
		}
		for i, of := range p.SampleType {
			if v := s.Value[i]; v != 0 && of.Unit == "nanoseconds" {
				out[fmt.Sprintf("%d %s/%s %s", s.NumLabel["pid"][0], of.Type, of.Unit, strings.Join(names, ";"))] += v
			}
		}
	}
	return out
}

func compareSums(t *testing.T, received, recorded map[string]int64) {
	t.Helper()
	if len(recorded) < 5 {
		t.Errorf("the recording has %d sums, want at least 5", len(recorded))
	}
	for k, v := range recorded {
		if received[k] != v {
			t.Errorf("%s: received %d, want %d, as recorded", k, received[k], v)
		}
	}
	for k, v := range received {
		if _, ok := recorded[k]; !ok {
			t.Errorf("%s: received %d, but nothing is recorded", k, v)
		}
	}
}

func ofClock(sums map[string]int64, clock string) (ns int64) {
	for k, v := range sums {
		if strings.Contains(k, " "+clock+"/nanoseconds ") {
			ns += v
		}
	}
	return ns
}
