// SPDX-License-Identifier: Apache-2.0

// Command fleet measures agents that send to one OpenTelemetry Collector. A host is a network and a PID namespace with
// a load, an agent, and a veth pair. It needs root and iproute2.
//
//	go -C benchmarks run ./fleet --hosts 100 --for 60s
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"prywalk/internal/testtargets"
)

const (
	bridge  = "prywalkbr"
	address = "10.177.0.1"
	port    = "4317"
)

func main() {
	f := fleet{}
	flag.IntVar(&f.hosts, "hosts", 100, "agents, at most 250")
	flag.DurationVar(&f.length, "for", time.Minute, "how long is measured")
	flag.DurationVar(&f.warm, "warm-up", 30*time.Second, "how long before that")
	flag.IntVar(&f.threads, "threads", 20, "threads of a host's load; each wakes ten times a second")
	flag.StringVar(&f.args, "args", "", "further arguments of the agents, such as --aggregate")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := f.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

type fleet struct {
	hosts, threads int
	length, warm   time.Duration
	args           string

	dir       string
	collector *exec.Cmd
	agents    []*exec.Cmd
	undo      []func()
}

func (f *fleet) run(ctx context.Context) (err error) {
	if f.hosts < 1 || f.hosts > 250 {
		return errors.New("--hosts: give from 1 to 250")
	}
	if f.dir, err = os.MkdirTemp("", "prywalk-fleet-"); err != nil {
		return err
	}
	defer os.RemoveAll(f.dir)
	defer func() {
		f.endAgents()
		for i := len(f.undo) - 1; i >= 0; i-- {
			f.undo[i]()
		}
	}()
	if err := f.start(ctx); err != nil {
		return err
	}
	if !sleep(ctx, f.warm) {
		return ctx.Err()
	}
	before, began := f.counts(), time.Now()
	if !sleep(ctx, f.length) {
		return ctx.Err()
	}
	after, seconds := f.counts(), time.Since(began).Seconds()
	f.print(before, after, seconds)
	return nil
}

func (f *fleet) start(ctx context.Context) error {
	exe := filepath.Join(f.dir, "prywalk")
	if err := testtargets.BuildPrywalk(exe); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-C", "../integration/collector", "-o",
		filepath.Join(f.dir, "collector"), ".")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the collector: %w: %s", err, text)
	}
	load, err := testtargets.Compile("naps.c", "-O1")
	if err != nil {
		return err
	}
	if err := f.link(bridge, "type", "bridge"); err != nil {
		return err
	}
	if err := all([][]string{
		{"ip", "address", "add", address + "/16", "dev", bridge}, {"ip", "link", "set", bridge, "up"},
	}); err != nil {
		return err
	}
	if err := f.collect(); err != nil {
		return err
	}
	for i := range f.hosts {
		if err := f.host(i, exe, load); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) link(name string, args ...string) error {
	f.undo = append(f.undo, func() { _ = exec.Command("ip", "link", "delete", name).Run() })
	return all([][]string{append([]string{"ip", "link", "add", name}, args...)})
}

func (f *fleet) collect() error {
	text := "receivers:\n  otlp:\n    protocols:\n      grpc:\n        endpoint: " + address + ":" + port + `
exporters:
  sums:
    path: ` + f.dir + `/sums
    discard: true
service:
  pipelines:
    profiles:
      receivers: [otlp]
      exporters: [sums]
    metrics:
      receivers: [otlp]
      exporters: [sums]
`
	file := filepath.Join(f.dir, "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(f.dir, "collector.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	f.collector = exec.Command(filepath.Join(f.dir, "collector"), file)
	f.collector.Stderr = log
	if err := f.collector.Start(); err != nil {
		return err
	}
	f.undo = append(f.undo, func() { end(f.collector) })
	for range 600 {
		if c, err := net.Dial("tcp", address+":"+port); err == nil {
			return c.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	text2, _ := os.ReadFile(log.Name())
	return fmt.Errorf("the collector does not listen: %s", text2)
}

func name(i int) string { return "prywalk" + strconv.Itoa(i) }

func (f *fleet) host(i int, exe, load string) error {
	ns, peer := name(i), "eth0"
	f.undo = append(f.undo, func() { _ = exec.Command("ip", "netns", "delete", ns).Run() })
	if err := all([][]string{{"ip", "netns", "add", ns}}); err != nil {
		return err
	}
	if err := f.link(ns, "type", "veth", "peer", "name", peer, "netns", ns); err != nil {
		return err
	}
	in := func(args ...string) []string { return append([]string{"ip", "-n", ns}, args...) }
	if err := all([][]string{
		{"ip", "link", "set", ns, "master", bridge, "up"},
		in("address", "add", fmt.Sprintf("10.177.1.%d/16", i+1), "dev", peer),
		in("link", "set", peer, "up"), in("link", "set", "lo", "up"),
	}); err != nil {
		return err
	}
	script := `"$1" "$2" 100 turns <"$3" >/dev/null & shift 3; exec "$@"`
	fifo := filepath.Join(f.dir, ns)
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		return err
	}
	hold, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	f.undo = append(f.undo, func() { _ = hold.Close() })
	args := []string{
		"netns", "exec", ns, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script, "sh", load,
		strconv.Itoa(f.threads), fifo, exe, "agent", "-a", "--endpoint", "http://" + address + ":" + port,
	}
	a := exec.Command("ip", append(args, strings.Fields(f.args)...)...)
	if a.Stderr, err = os.Create(fifo + ".log"); err != nil {
		return err
	}
	if err := a.Start(); err != nil {
		return err
	}
	f.agents = append(f.agents, a)
	return nil
}

// endAgents signals unshare's child, as unshare ignores SIGTERM.
func (f *fleet) endAgents() {
	for _, a := range f.agents {
		if pid := agentOf(a.Process.Pid); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}
	late := time.AfterFunc(20*time.Second, func() {
		for _, a := range f.agents {
			_ = a.Process.Kill()
		}
	})
	defer late.Stop()
	for _, a := range f.agents {
		_ = a.Wait()
	}
}

func end(c *exec.Cmd) {
	_ = c.Process.Signal(syscall.SIGTERM)
	t := time.AfterFunc(20*time.Second, func() { _ = c.Process.Kill() })
	defer t.Stop()
	_ = c.Wait()
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func all(list [][]string) error {
	for _, c := range list {
		if text, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(c, " "), err, text)
		}
	}
	return nil
}
