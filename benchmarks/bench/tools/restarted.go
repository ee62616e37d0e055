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
	"time"
)

// Restarted is a tool without commands, restarted for each window: after SIGSTOP py-spy would catch up on missed
// samples.
type Restarted struct {
	spent Stretch
	job   *Job
	ctx   context.Context
	// Command returns the command line for an output file.
	Command func(file string) []string
	// Sampling reports from output and file whether sampling has begun.
	Sampling func(said []byte, file string) bool
	// Count counts the stacks of the file, and complete ones; −1: unknown.
	Count  func(text []byte) (samples, complete int64)
	runs   int
	now    *Program
	totals Totals
}

// Start returns a session.
func (r Restarted) Start(ctx context.Context, j *Job) (Session, error) {
	r.ctx, r.job = ctx, j
	r.totals = Totals{Stops: -1, Calls: -1, Copied: -1}
	return &r, nil
}

func (r *Restarted) file() string { return filepath.Join(r.job.Dir, fmt.Sprintf("out%d", r.runs)) }

func (r *Restarted) saidFile() string { return r.file() + ".err" }

// Go implements Session.
func (r *Restarted) Go() error {
	r.runs++
	errs, err := os.Create(r.saidFile())
	if err != nil {
		return err
	}
	defer errs.Close()
	command := r.Command(r.file())
	r.now, err = launch(r.ctx, func(c *exec.Cmd) { c.Stdout, c.Stderr = errs, errs }, command[0], command[1:]...)
	if err != nil {
		return err
	}
	r.spent.PID = r.now.PID()
	for end := time.Now().Add(patience); !r.Sampling(r.said(), r.file()); time.Sleep(time.Millisecond) {
		if err := r.now.alive(); err != nil {
			return fmt.Errorf("%w: %s", err, LastLine(r.said()))
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s has not begun within %v: %s", command[0], patience, LastLine(r.said()))
		}
	}
	r.spent.Begin()
	return nil
}

func (r *Restarted) said() []byte {
	text, _ := os.ReadFile(r.saidFile())
	return text
}

// Mark implements Session.
func (r *Restarted) Mark() error { return nil }

// Hold implements Session.
func (r *Restarted) Hold() error {
	r.spent.End()
	if err := r.now.finish(&r.totals); err != nil {
		return err
	}
	text, err := os.ReadFile(r.file())
	if err != nil {
		return fmt.Errorf("%s left no file: %w: %s", r.now.cmd.Args[0], err, LastLine(r.said()))
	}
	r.add(r.Count(text))
	return nil
}

func (r *Restarted) add(samples, complete int64) {
	t := &r.totals
	t.Samples += samples
	if complete < 0 || t.Complete < 0 {
		t.Complete = -1
		return
	}
	t.Complete += complete
}

// Finish implements Session.
func (r *Restarted) Finish() (Totals, error) {
	t := r.totals
	t.Seconds, t.CPU = r.spent.Seconds, r.spent.CPU
	if t.Samples == 0 {
		return t, errors.New("it saw nothing: " + LastLine(r.said()))
	}
	return t, nil
}

// Kill implements Session.
func (r *Restarted) Kill() {
	if r.now != nil {
		r.now.Kill()
	}
}

// LastLine returns the last line of a text.
func LastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
