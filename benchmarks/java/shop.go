// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	bare "prywalk/benchmarks/bench/load"
	"prywalk/benchmarks/overhead/load"
)

//go:embed src
var sources embed.FS

var stages = [...]string{"parse", "store", "query", "search", "render"}

type shop struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func classPath(dir string) string { return dir + ":" + filepath.Join(*loadDir, "*") }

func startShop(ctx context.Context, dir string, sleeping int) (*shop, error) {
	if err := compile(ctx, dir, "Shop", "Stacks"); err != nil {
		return nil, err
	}
	argv := append(strings.Fields(*options), "-cp", classPath(dir), "Shop", strconv.Itoa(*workers), strconv.Itoa(sleeping))
	s := &shop{cmd: exec.CommandContext(ctx, *java, argv...)}
	s.cmd.Stderr = os.Stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.stop()
			return nil, fmt.Errorf("the program did not start: %w", err)
		}
		if strings.TrimSpace(line) == bare.Ready {
			return s, nil
		}
	}
}

func compile(ctx context.Context, dir string, classes ...string) error {
	for _, class := range classes {
		text, err := sources.ReadFile("src/" + class + ".java")
		if err != nil {
			return err
		}
		file := filepath.Join(dir, class+".java")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "javac", "-cp", classPath(dir), "-d", dir, file)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("javac: %w: %s", err, out)
		}
	}
	return nil
}

func (s *shop) pid() int { return s.cmd.Process.Pid }

func (s *shop) stop() {
	_ = s.in.Close()
	hangs := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer hangs.Stop()
	_ = s.cmd.Wait()
}

type report struct {
	bare.Report
	// Waits has the lengths of orders.
	Waits *load.Histogram `json:"waits"`
	// Used has the CPU time of each stage so far, ns.
	Used []int64 `json:"used"`
}

func (s *shop) ask() (r report, err error) {
	if _, err := io.WriteString(s.in, "?\n"); err != nil {
		return r, fmt.Errorf("the program has ended: %w", err)
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return r, fmt.Errorf("the program has ended: %w", err)
		}
		if line[0] == '{' {
			r.Waits = &load.Histogram{}
			return r, json.Unmarshal(line, &r)
		}
	}
}

type stretch struct {
	rate  float64
	each  float64 // orders per second of CPU time
	used  [len(stages)]float64
	waits *load.Histogram
}

func (s *shop) window(ctx context.Context) (w stretch, err error) {
	before, err := s.ask()
	if err == nil {
		err = pause(ctx, *window)
	}
	if err != nil {
		return w, err
	}
	after, err := s.ask()
	if err != nil {
		return w, err
	}
	all := 0.0
	for i := range stages {
		w.used[i] = float64(after.Used[i] - before.Used[i])
		all += w.used[i] / 1e9
	}
	w.waits = after.Waits
	work := float64(after.Work - before.Work)
	w.rate, w.each = work/(float64(after.At-before.At)/1e9), work/all
	return w, nil
}
