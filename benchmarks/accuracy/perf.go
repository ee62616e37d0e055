// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/benchmarks/perfscript"
)

type perf struct {
	cmd      *exec.Cmd
	stderr   bytes.Buffer
	done     chan error
	ctl, ack *os.File
	filter   []string
	data     string
	windows  []window
	lost     int64
}

type window struct{ from, to int64 }

const perfTimeout = 10 * time.Second

func (b *bench) startPerf(ctx context.Context, pids []int) (*perf, error) {
	dir, err := os.MkdirTemp(b.dir, "perf-")
	if err != nil {
		return nil, err
	}
	p := &perf{data: filepath.Join(dir, "perf.data"), done: make(chan error, 1)}
	ctl, ack := filepath.Join(dir, "ctl"), filepath.Join(dir, "ack")
	for path, file := range map[string]**os.File{ctl: &p.ctl, ack: &p.ack} {
		if err := unix.Mkfifo(path, 0o600); err != nil {
			return nil, err
		}
		if *file, err = os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0); err != nil {
			return nil, err
		}
	}
	args := []string{
		"record", "-q", "-N", "-o", p.data, "-e", "cpu-clock", "--call-graph", "dwarf,8192", "-F", strconv.Itoa(b.Freq),
		"-k", "CLOCK_MONOTONIC", "-D", "-1", "--control", "fifo:" + ctl + "," + ack,
	}
	args = append(args, p.target(pids)...)
	p.cmd = exec.CommandContext(ctx, "perf", args...)
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGINT) }
	p.cmd.WaitDelay = 5 * time.Second
	p.cmd.Stderr = &p.stderr
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("perf is needed to compare with (Debian: linux-perf): %w", err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	if err := p.say("disable"); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// target makes root sample all processors, and filter afterwards: perf's timer for a process expires in the switch
// itself. Of a redis that sleeps 20,000 times a second it attributed 18 % to finish_task_switch, ten times too much.
func (p *perf) target(pids []int) []string {
	if os.Geteuid() != 0 {
		return []string{"-p", list(pids)}
	}
	p.filter = []string{"--pid", list(pids)}
	return []string{"-a", "-m", "16M"}
}

func (p *perf) say(order string) error {
	if _, err := io.WriteString(p.ctl, order+"\n"); err != nil {
		return err
	}
	if err := p.ack.SetReadDeadline(time.Now().Add(perfTimeout)); err != nil {
		return err
	}
	var answer [16]byte
	n, err := p.ack.Read(answer[:])
	if err != nil || !bytes.HasPrefix(answer[:n], []byte("ack")) {
		return fmt.Errorf("perf did not answer %q: %q, %w: %s", order, answer[:n], errors.Join(err), p.stderr.String())
	}
	return nil
}

func (p *perf) slice(ctx context.Context, length time.Duration) error {
	w := window{from: monotonic()}
	if err := p.say("enable"); err != nil {
		return err
	}
	pause(ctx, length)
	err := p.say("disable")
	w.to = monotonic()
	p.windows = append(p.windows, w)
	return errors.Join(err, ctx.Err())
}

func (p *perf) stop() error {
	defer p.closeFiles()
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-time.After(perfTimeout):
		p.kill()
		return errors.New("perf did not end")
	}
	if st, err := os.Stat(p.data); err != nil || st.Size() == 0 {
		return fmt.Errorf("perf wrote nothing: %s", p.stderr.String())
	}
	return nil
}

func (p *perf) kill() {
	_ = p.cmd.Process.Kill()
	p.closeFiles()
}

func (p *perf) closeFiles() {
	p.ctl.Close()
	p.ack.Close()
}

// samples calls each with perf's samples and their slice's number. Precondition: the target lives, as files with names
// of generated code go with it.
func (p *perf) samples(ctx context.Context, each func(slice int, s *perfscript.Sample)) error {
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "perf", "script", "-i", p.data, "--no-inline", "--show-lost-events", "-F",
		perfscript.Fields)
	cmd.Args = append(cmd.Args, p.filter...)
	cmd.Stderr = &errs
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.lost, err = perfscript.Parse(out, func(s *perfscript.Sample) error {
		if i := p.window(s.Time); i >= 0 {
			each(i, s)
		}
		return nil
	})
	if err != nil {
		_ = cmd.Process.Kill()
	}
	if waitErr := cmd.Wait(); err == nil && waitErr != nil {
		err = fmt.Errorf("%w: %s", waitErr, errs.String())
	}
	if err != nil {
		return fmt.Errorf("perf script: %w", err)
	}
	return nil
}

func (p *perf) window(at int64) int {
	for i, w := range p.windows {
		if at >= w.from-1000 && at <= w.to {
			return i
		}
	}
	return -1
}

func monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
