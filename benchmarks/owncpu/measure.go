// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	bare "prywalk/benchmarks/bench/load"
	"prywalk/benchmarks/bench/tools"
	"prywalk/benchmarks/overhead/load"
)

type cell struct {
	threads, running, freq int
	order                  []string
	runs                   map[string][]tools.Totals
}

func (s *settings) measure(ctx context.Context, dir string) (cells []cell, notes string, err error) {
	list, notes, err := s.selectTools(dir)
	if err != nil {
		return nil, "", err
	}
	binary := filepath.Join(dir, "target")
	if err := compile(ctx, binary); err != nil {
		return nil, "", err
	}
	for _, running := range s.running {
		for _, threads := range s.threads {
			for _, freq := range s.freqs {
				c := cell{threads: max(threads, running), running: running, freq: freq, runs: map[string][]tools.Totals{}}
				if err := s.ofCell(ctx, dir, binary, &c, list); err != nil {
					return nil, "", err
				}
				cells = append(cells, c)
				fmt.Fprintf(os.Stderr, "%d threads, %d running, %d Hz: done\n", c.threads, c.running, c.freq)
			}
		}
	}
	return cells, notes, nil
}

func compile(ctx context.Context, binary string) error {
	if err := os.WriteFile(binary+".c", load.CLoad, 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "cc", "-O2", "-pthread", "-o", binary,
		binary+".c").CombinedOutput(); err != nil {
		return fmt.Errorf("cannot compile the target (Debian: gcc): %w: %s", err, out)
	}
	return nil
}

func (s *settings) ofCell(ctx context.Context, dir, binary string, c *cell, list []tools.Tool) error {
	for _, t := range list {
		c.order = append(c.order, t.Name)
	}
	pid, end, err := startTarget(ctx, binary, c.running, c.threads-c.running)
	if err != nil {
		return err
	}
	defer end()
	for range s.rounds {
		for _, t := range shuffled(list) {
			got, err := s.once(ctx, dir, pid, c, t)
			if err != nil {
				return fmt.Errorf("%s: %w", nameOf(t.Name), err)
			}
			c.runs[t.Name] = append(c.runs[t.Name], got)
		}
	}
	return nil
}

func startTarget(ctx context.Context, binary string, running, sleeping int) (pid int, end func(), err error) {
	cmd := exec.CommandContext(ctx, binary, strconv.Itoa(running), strconv.Itoa(sleeping))
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	end = func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, bare.Ready) {
		end()
		return 0, nil, fmt.Errorf("the target did not start: %q %w", line, err)
	}
	return cmd.Process.Pid, end, nil
}

func (s *settings) once(ctx context.Context, dir string, pid int, c *cell, t tools.Tool) (got tools.Totals, err error) {
	j := &tools.Job{PID: pid, Threads: c.threads + 1, Freq: float64(c.freq), Self: s.binary,
		Dir: filepath.Join(dir, "job")}
	if err := os.Mkdir(j.Dir, 0o700); err != nil {
		return got, err
	}
	defer os.RemoveAll(j.Dir)
	session, err := t.Start(ctx, j)
	if err != nil {
		return got, err
	}
	if err = session.Go(); err == nil {
		err = pause(ctx, s.length)
	}
	if err == nil {
		err = session.Hold()
	}
	if err != nil {
		session.Kill()
		return got, err
	}
	return session.Finish()
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func nameOf(tool string) string {
	if tool == "" {
		return "prywalk"
	}
	return tool
}
