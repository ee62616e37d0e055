// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type watcher struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
	stats    string
}

type outcome struct {
	Ticks         int64     `json:"ticks"`
	Missed        int64     `json:"missed_ticks"`
	Stopped       int64     `json:"stopped"`
	ReadPassively int64     `json:"read_passively"`
	Unchanged     int64     `json:"unchanged"`
	Syscalls      int64     `json:"syscalls"`
	DurationS     float64   `json:"duration_s"`
	Scheduled     string    `json:"scheduling"`
	StopUS        *stopTime `json:"stop_us"`
	// Ending is the time from the request to the end, EndingCPU its CPU time, s.
	Ending, EndingCPU float64 `json:"-"`
}

type stopTime struct{ P50, P99, Max float64 }

type tool struct {
	name  string
	start func(ctx context.Context, s *subject, freq int) (*watcher, error)
}

func (b *bench) prywalkTool(before ...string) tool {
	return tool{"prywalk", func(ctx context.Context, s *subject, freq int) (*watcher, error) {
		w := &watcher{stats: filepath.Join(b.dir, "stats.json")}
		_ = os.Remove(w.stats)
		args := append(slices.Clone(before), b.prywalk, "record", "--engine", "ptrace", "-p", strconv.Itoa(s.pid), "-F",
			strconv.Itoa(freq),
			"-o", filepath.Join(b.dir, "out.pb.gz"), "--stats", w.stats)
		return w, w.start(ctx, args)
	}}
}

func (b *bench) walkerTool(bytes int, all bool, before ...string) tool {
	return tool{"C walker", func(ctx context.Context, s *subject, freq int) (*watcher, error) {
		w := &watcher{}
		args := append(slices.Clone(before), b.walker, strconv.Itoa(s.pid), strconv.Itoa(freq), strconv.Itoa(bytes))
		for _, tid := range s.runners {
			if !all {
				args = append(args, strconv.Itoa(tid))
			}
		}
		return w, w.start(ctx, args)
	}}
}

const endLimit = time.Minute

func (w *watcher) start(ctx context.Context, args []string) error {
	w.cmd = exec.CommandContext(ctx, args[0], args[1:]...)
	w.cmd.Cancel = func() error { return w.cmd.Process.Signal(syscall.SIGTERM) }
	w.cmd.WaitDelay = endLimit
	w.cmd.Stdout, w.cmd.Stderr = &w.out, &w.err
	return w.cmd.Start()
}

func (w *watcher) stop() (*outcome, error) {
	before, _ := cpuOf(w.cmd.Process.Pid)
	began := time.Now()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return nil, fmt.Errorf("%s ended early: %w: %s", w.cmd.Path, w.cmd.Wait(), w.said())
	}
	kill := time.AfterFunc(endLimit, func() { _ = w.cmd.Process.Kill() })
	err := w.cmd.Wait()
	kill.Stop()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", w.cmd.Path, err, w.said())
	}
	o, err := w.read()
	if err != nil {
		return nil, fmt.Errorf("what %s says that it did: %w", w.cmd.Path, err)
	}
	used := w.cmd.ProcessState.UserTime() + w.cmd.ProcessState.SystemTime()
	o.Ending, o.EndingCPU = time.Since(began).Seconds(), max(0, used.Seconds()-before)
	return o, nil
}

func (w *watcher) abandon() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
}

func (w *watcher) said() string { return strings.TrimSpace(w.err.String()) }

func (w *watcher) read() (*outcome, error) {
	text := w.out.Bytes()
	if w.stats != "" {
		var err error
		if text, err = os.ReadFile(w.stats); err != nil {
			return nil, err
		}
	}
	o := &outcome{}
	return o, json.Unmarshal(text, o)
}
