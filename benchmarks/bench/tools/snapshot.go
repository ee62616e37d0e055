// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

type snapshots struct {
	ctx      context.Context
	job      *Job
	program  string
	args     func(*Job) []string
	perStack string
	complete func(text, said []byte, stacks int64) int64
	stop     context.CancelFunc
	loop     sync.WaitGroup
	began    time.Time
	totals   Totals
	err      error
}

func gdbArgs(j *Job) []string {
	return []string{
		"-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load no", "-iex",
		"set backtrace past-main on", "-p", strconv.Itoa(j.PID),
		"-ex", "thread apply all bt",
	}
}

func euStackArgs(j *Job) []string { return []string{"-q", "-n", "0", "-p", strconv.Itoa(j.PID)} }

// snapshotTool expects perStack at the start of each stack. debian is the program's package.
func snapshotTool(program, debian string, args func(*Job) []string, perStack string,
	complete func(text, said []byte, stacks int64) int64) Tool {
	return Tool{
		Name: program, Kinds: []string{Native}, AllThreads: true, Unpaced: true,
		Check: Installed(program, "Debian: "+debian),
		Start: func(ctx context.Context, j *Job) (Session, error) {
			s := &snapshots{ctx: ctx, job: j, program: program, args: args, perStack: perStack, complete: complete}
			s.totals = Totals{Calls: -1, Copied: -1}
			return s, nil
		},
	}
}

// Go implements Session.
func (s *snapshots) Go() error {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(s.ctx)
	s.began = time.Now()
	s.loop.Go(func() {
		period := time.Duration(float64(time.Second) / s.job.Freq)
		for next := s.began; ctx.Err() == nil && s.err == nil; {
			s.err = s.once()
			next = next.Add(period)
			if late := time.Since(next); late > 0 {
				next = next.Add(late)
			}
			select {
			case <-time.After(time.Until(next)):
			case <-ctx.Done():
			}
		}
	})
	return nil
}

// once is not cancelled: a killed debugger may leave threads stopped.
func (s *snapshots) once() error {
	out, err := os.Create(filepath.Join(s.job.Dir, "stacks.txt"))
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(s.program, s.args(s.job)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &said
	_ = cmd.Run()
	if cmd.ProcessState == nil {
		return errors.New(s.program + " could not be run")
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		return err
	}
	n := countLines(text, s.perStack)
	if n == 0 {
		return errors.New(s.program + " printed no stack")
	}
	s.totals.Samples += n
	s.totals.Complete += s.complete(text, said.Bytes(), n)
	s.totals.Stops += n
	s.totals.CPU += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.totals.MemoryMB = max(s.totals.MemoryMB, float64(ru.Maxrss)*1024/1e6)
	}
	return nil
}

// gdbComplete ignores frames beyond a first function, which gdb may invent.
func gdbComplete(text, _ []byte, _ int64) (n int64) {
	found := false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "Thread "):
			found = false
		case !found && strings.HasPrefix(line, "#") && slices.ContainsFunc(strings.Fields(line), IsRoot):
			found = true
			n++
		}
	}
	return n
}

// euStackComplete ignores errors of places in no module: eu-stack continues beyond Go's first functions.
func euStackComplete(_, said []byte, stacks int64) int64 {
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "dwfl_thread_getframes") && !strings.Contains(line, "<unknown>") {
			stacks--
		}
	}
	return max(stacks, 0)
}

func countLines(text []byte, begin string) (n int64) {
	for line := range bytes.Lines(text) {
		if strings.HasPrefix(string(line), begin) {
			n++
		}
	}
	return n
}

// Mark implements Session.
func (s *snapshots) Mark() error { return nil }

// Hold implements Session.
func (s *snapshots) Hold() error {
	s.stop()
	s.loop.Wait()
	s.totals.Seconds += time.Since(s.began).Seconds()
	return s.err
}

// Finish implements Session.
func (s *snapshots) Finish() (Totals, error) { return s.totals, s.err }

// Kill implements Session.
func (s *snapshots) Kill() {
	if s.stop != nil {
		s.stop()
		s.loop.Wait()
	}
}
