// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// patience allows for large symbol tables on a busy machine.
const patience = 120 * time.Second

// Program is a running program of a tool.
type Program struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	done   chan error
	CPU    float64 // s, once it has ended
}

func launch(ctx context.Context, setUp func(*exec.Cmd), program string, args ...string) (*Program, error) {
	p := &Program{cmd: exec.CommandContext(ctx, program, args...), done: make(chan error, 1)}
	p.cmd.Stderr = &p.stderr
	p.cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	p.cmd.WaitDelay = time.Second
	if setUp != nil {
		setUp(p.cmd)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p, nil
}

// PID is the number of its process.
func (p *Program) PID() int { return p.cmd.Process.Pid }

// End sends a signal and waits; the exit status may report the signal.
func (p *Program) End(s syscall.Signal) error {
	_ = p.cmd.Process.Signal(s)
	select {
	case err := <-p.done:
		p.done <- err
	case <-time.After(patience):
		p.Kill()
		return fmt.Errorf("%s did not end: %s", p.cmd.Args[0], p.said())
	}
	st := p.cmd.ProcessState
	p.CPU = (st.UserTime() + st.SystemTime()).Seconds()
	return nil
}

// finish ends the program as Ctrl-C does, and adds its memory and CPU time to t.
func (p *Program) finish(t *Totals) error {
	before := ProcessCPU(p.PID())
	t.MemoryMB = max(t.MemoryMB, PeakMB(p.PID()))
	if err := p.End(syscall.SIGINT); err != nil {
		return err
	}
	t.After += max(0, p.CPU-before)
	t.Whole += p.CPU
	return nil
}

var errEnded = errors.New("the process has exited")

func (p *Program) alive() error {
	select {
	case err := <-p.done:
		p.done <- err
		if err == nil {
			err = errEnded
		}
		return fmt.Errorf("%s: %w: %s", p.cmd.Args[0], err, p.said())
	default:
		return nil
	}
}

// Kill ends the program at once.
func (p *Program) Kill() { _ = p.cmd.Process.Kill() }

func (p *Program) said() string {
	return LastLine(p.stderr.Bytes())
}
