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

// patience bounds the wait for one answer or one end of a tool. Reading the symbols of large programs, or writing
// what was recorded, takes a while on a busy machine.
const patience = 120 * time.Second

// Program is a tool's program that runs.
type Program struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	done   chan error
	// CPU is the processor time that it took in all, in seconds; known when it has ended.
	CPU float64
}

// launch starts a program, which setUp, if not nil, may change before. What it says on standard error is kept for the
// case of failure.
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

// PID is its process.
func (p *Program) PID() int { return p.cmd.Process.Pid }

// End sends a signal and waits until the program has ended; its status may tell of the signal.
func (p *Program) End(s syscall.Signal) error {
	_ = p.cmd.Process.Signal(s) // it may have ended
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

var errEnded = errors.New("the process has exited")

// alive gives an error if the program has ended.
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

// said is the last line of standard error. Precondition: the program has ended.
func (p *Program) said() string {
	return LastLine(p.stderr.Bytes())
}
