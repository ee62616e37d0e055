// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/benchmarks/command"
	"prywalk/benchmarks/machine"
)

type row struct {
	Name     string  `json:"name"`
	Group    string  `json:"group"`
	Error    string  `json:"error,omitempty"`
	Load     float64 `json:"load"`
	Revision string  `json:"revision,omitempty"`
	// Before has the figures of the build of -before on the same process.
	Now    *figures `json:"now,omitempty"`
	Before *figures `json:"before,omitempty"`
}

const (
	firstLook   = time.Second
	shortest    = 2 * time.Second
	rounds      = 3
	programTime = 10 * time.Minute
)

func (s *settings) measure(ctx context.Context, p *program) row {
	r := row{Name: p.name, Group: p.group, Revision: command.Revision()}
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	if err := s.both(ctx, p, &r); err != nil {
		r.Error = err.Error()
	}
	r.Load = machine.Load()
	return r
}

func (s *settings) both(ctx context.Context, p *program, r *row) error {
	t, err := p.start(ctx, programTime)
	if err != nil {
		return err
	}
	defer t.Stop()
	if err := pause(ctx, s.settle); err != nil {
		return err
	}
	d := firstLook
	for range rounds {
		if r.Now, err = s.record(ctx, s.binary, t.PID, d); err != nil {
			return err
		}
		longer := s.length(r.Now.Running, d)
		if r.Now.Running >= s.stacks || longer <= d {
			break
		}
		d = longer
	}
	if s.before != "" {
		r.Before, err = s.record(ctx, s.before, t.PID, d)
	}
	select {
	case <-t.Exited():
		return errors.New("the program ended while it was recorded")
	default:
	}
	return err
}

func (s *settings) length(n int64, d time.Duration) time.Duration {
	if n == 0 {
		return min(4*d, s.longest)
	}
	return min(max(time.Duration(1.1*float64(d)*float64(s.stacks)/float64(n)), shortest), s.longest)
}

func (s *settings) record(ctx context.Context, binary string, pid int, d time.Duration) (*figures, error) {
	dir, err := os.MkdirTemp("", "prywalk-atwork-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file, stats := filepath.Join(dir, "r.pb.gz"), filepath.Join(dir, "stats.json")
	cmd := exec.CommandContext(ctx, binary, "record", "--engine", s.engine, "-p", strconv.Itoa(pid), "--children", "-F",
		strconv.Itoa(s.freq),
		"-d", d.String(), "-o", file, "--stats", stats)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("prywalk record: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return read(file, stats)
}

func read(file, stats string) (*figures, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	text, err := os.ReadFile(stats)
	if err != nil {
		return nil, err
	}
	f := &figures{}
	if err := json.Unmarshal(text, &f.Stats); err != nil {
		return nil, fmt.Errorf("%s: %w", stats, err)
	}
	f.count(p)
	return f, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
