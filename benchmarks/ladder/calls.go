// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const callsEvent = "raw_syscalls:sys_enter"

func canCount(ctx context.Context) bool {
	counting.once.Do(func() {
		out, err := exec.CommandContext(ctx, "perf", "stat", "-x,", "-e", callsEvent, "--", "true").CombinedOutput()
		_, parsed := parseCount(string(out))
		counting.works = err == nil && parsed == nil
	})
	return counting.works
}

var counting struct {
	once  sync.Once
	works bool
}

func callsPerSecond(ctx context.Context, pid int, window time.Duration) (float64, error) {
	seconds := fmt.Sprintf("%.3f", window.Seconds())
	out, err := exec.CommandContext(ctx, "perf", "stat", "-x,", "-e", callsEvent, "-p", strconv.Itoa(pid), "--", "sleep",
		seconds).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("perf stat: %w: %s", err, out)
	}
	n, err := parseCount(string(out))
	return float64(n) / window.Seconds(), err
}

// callsOfARun counts by the kernel and by prywalk, which counts only those of its observations.
func (b *bench) callsOfARun(ctx context.Context, s *subject, freq int) (kernel, own int64, err error) {
	count, w := filepath.Join(b.dir, "count"), &watcher{stats: filepath.Join(b.dir, "stats.json")}
	cmd := exec.CommandContext(ctx, "perf", "stat", "-x,", "-o", count, "-e", callsEvent, "--",
		b.prywalk, "record", "--engine", "ptrace", "-p", strconv.Itoa(s.pid), "-F", strconv.Itoa(freq), "-d",
		(b.Warmup + b.Window).String(),
		"-o", filepath.Join(b.dir, "out.pb.gz"), "--stats", w.stats)
	if err := output(cmd); err != nil {
		return 0, 0, err
	}
	text, err := os.ReadFile(count)
	if err != nil {
		return 0, 0, err
	}
	if kernel, err = parseCount(string(text)); err != nil {
		return 0, 0, err
	}
	did, err := w.read()
	if err != nil {
		return 0, 0, err
	}
	return kernel, did.Syscalls, nil
}

func parseCount(text string) (int64, error) {
	for line := range strings.Lines(text) {
		count, rest, _ := strings.Cut(line, ",")
		if strings.Contains(rest, callsEvent) {
			n, err := strconv.ParseInt(count, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("perf stat did not count %s: %q", callsEvent, strings.TrimSpace(line))
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("perf stat said nothing of %s: %q", callsEvent, text)
}
