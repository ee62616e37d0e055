// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// restarted is a tool that obeys no orders: it is started anew each time that it is switched on. (Stopped by
// SIGSTOP, py-spy makes up for all the looks that it missed when it goes on.)
type restarted struct {
	spent   stretch
	job     *Job
	ctx     context.Context
	command func(file string) []string
	// sampling tells from what it prints and the output file that it has begun to look.
	sampling func(said []byte, file string) bool
	// count counts the stacks in its file, and those that reach the thread's first function; −1 if that cannot be told.
	count  func(text []byte) (samples, complete int64)
	runs   int
	now    *process
	totals Totals
}

// start makes a session.
func (r restarted) start(ctx context.Context, j *Job) (Session, error) {
	r.ctx, r.job = ctx, j
	r.totals = Totals{Stops: -1, Ticks: -1, Calls: -1, Copied: -1}
	return &r, nil
}

// file is the output of the present run, saidFile what it prints.
func (r *restarted) file() string { return filepath.Join(r.job.Dir, fmt.Sprintf("out%d", r.runs)) }

func (r *restarted) saidFile() string { return r.file() + ".err" }

// Go implements Session.
func (r *restarted) Go() error {
	r.runs++
	errs, err := os.Create(r.saidFile())
	if err != nil {
		return err
	}
	defer errs.Close()
	command := r.command(r.file())
	r.now, err = launch(r.ctx, func(c *exec.Cmd) { c.Stdout, c.Stderr = errs, errs }, command[0], command[1:]...)
	if err != nil {
		return err
	}
	r.spent.pid = r.now.pid()
	for end := time.Now().Add(patience); !r.sampling(r.said(), r.file()); time.Sleep(time.Millisecond) {
		if err := r.now.alive(); err != nil {
			return fmt.Errorf("%w: %s", err, lastLine(r.said()))
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s has not begun within %v: %s", command[0], patience, lastLine(r.said()))
		}
	}
	r.spent.begin()
	return nil
}

func (r *restarted) said() []byte {
	text, _ := os.ReadFile(r.saidFile()) // it is there
	return text
}

// Mark implements Session.
func (r *restarted) Mark() error { return nil }

// Hold implements Session.
func (r *restarted) Hold() error {
	r.spent.end()
	before := processCPU(r.now.pid())
	r.totals.MemoryMB = max(r.totals.MemoryMB, peakMB(r.now.pid()))
	if err := r.now.end(syscall.SIGINT); err != nil {
		return err
	}
	r.totals.After += max(0, r.now.cpu-before)
	r.totals.Whole += r.now.cpu
	text, err := os.ReadFile(r.file())
	if err != nil {
		return fmt.Errorf("%s left no file: %w: %s", r.now.cmd.Args[0], err, lastLine(r.said()))
	}
	r.add(r.count(text))
	return nil
}

// add adds what one run counted.
func (r *restarted) add(samples, complete int64) {
	t := &r.totals
	t.Samples += samples
	if complete < 0 || t.Complete < 0 {
		t.Complete = -1
		return
	}
	t.Complete += complete
}

// Finish implements Session.
func (r *restarted) Finish() (Totals, error) {
	t := r.totals
	t.Seconds, t.CPU = r.spent.seconds, r.spent.cpu
	if t.Samples == 0 {
		return t, errors.New("it saw nothing: " + lastLine(r.said()))
	}
	return t, nil
}

// Kill implements Session.
func (r *restarted) Kill() {
	if r.now != nil {
		r.now.Kill()
	}
}

// lastLine gives the last line of a text.
func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
