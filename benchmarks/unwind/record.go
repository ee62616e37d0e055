// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"prywalk/benchmarks/unwind/snapshot"
	"prywalk/frames"
	"prywalk/internal/base/errs"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

type recording struct {
	name    string
	process *loadedcode.Process
	file    snapshot.File
	// left counts stacks left out: incomplete, not on one stack, or in overwritten code.
	left int
}

const interval = 5 * time.Millisecond

func record(name string, n int, limit time.Duration) (r *recording, stop func(), err error) {
	t, err := testtargets.Start(name, testtargets.Options{Limit: limit})
	if err != nil {
		return nil, nil, err
	}
	pid := t.PID
	if all := t.PIDs(); len(all) > 1 {
		pid = all[len(all)-1]
	}
	return recordProcess(name, n, pid, t.PIDs, t.Stop)
}

func recordProcess(name string, n, pid int, pids func() []int, end func()) (r *recording, stop func(), err error) {
	p, err := loadedcode.Open(pid)
	if err != nil {
		end()
		return nil, nil, err
	}
	stop = func() { p.Close(); end() }
	r = &recording{name: name, process: p}
	for try := 1; ; try++ {
		err = r.takeAndStop(n, pids)
		if try == tries || !errors.Is(err, errOverwritten) {
			break
		}
		signal(pids, syscall.SIGCONT) // let a JIT compiler do most of its work
		r.file.Stacks, r.left = nil, 0
	}
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	r.modules()
	return r, stop, nil
}

const tries = 5

const patience = 2 * time.Minute

func (r *recording) takeAndStop(n int, pids func() []int) error {
	if err := r.take(n); err != nil {
		return err
	}
	signal(pids, syscall.SIGSTOP)
	if err := r.waitUntilStill(); err != nil {
		return err
	}
	return r.dropOverwritten()
}

func signal(pids func() []int, sig syscall.Signal) {
	for _, pid := range pids() {
		_ = syscall.Kill(pid, sig)
	}
}

// waitUntilStill has the memory read again: JIT compilers write code into pages that were read.
func (r *recording) waitUntilStill() error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s, err := process.ReadStatus("/proc", r.process.PID)
		if err != nil {
			return err
		}
		if s.State == 'T' {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("process %d does not stop", r.process.PID)
		}
	}
	_, err := r.process.Refresh()
	return err
}

var errOverwritten = errors.New("its code was overwritten")

const mostOverwritten = 20

// dropOverwritten drops stacks whose walk differs from the first one: their generated code was moved or freed. If one
// without generated code does, both walks are printed.
func (r *recording) dropOverwritten() error {
	var w frames.Walker
	space, kept, dropped := r.process.Space(), r.file.Stacks[:0], 0
	for i, p := range prepare(&r.file) {
		if p.right(&w, space) {
			kept = append(kept, r.file.Stacks[i])
			continue
		}
		if !slices.ContainsFunc(p.pcs, func(pc uint64) bool { m := space.ModuleAt(pc); return m == nil || m.Generated }) {
			fmt.Fprintf(os.Stderr, "%s: stack %d has no generated code and is not walked as when it was recorded: "+
				"%x then, %x now (%v)\n", r.name, i, p.pcs, p.addresses(&w, space), w.StopReason())
		}
		if dropped++; dropped > len(r.file.Stacks)/mostOverwritten {
			return fmt.Errorf("%d stacks are not walked as when they were recorded: %w", dropped, errOverwritten)
		}
	}
	r.file.Stacks, r.left = kept, r.left+dropped
	return nil
}

func (r *recording) modules() {
	for _, m := range r.process.Space().Modules() {
		path := fmt.Sprintf("/proc/%d/root%s", r.process.PID, m.Name)
		if info, err := os.Stat(path); err != nil || !filepath.IsAbs(m.Name) || !info.Mode().IsRegular() {
			continue
		}
		r.file.Modules = append(r.file.Modules, snapshot.Module{Start: m.Start, End: m.End, Bias: m.Bias, Path: m.Name})
	}
}

func (r *recording) take(n int) error {
	return ptrace.Run(ptrace.Options{}, func(c *ptrace.Controller) error {
		l := observe.New(c, observe.NewPool(0), observe.ModeAlwaysStop)
		threads := map[int]*watched{}
		for end := time.Now().Add(patience); len(r.file.Stacks) < n; time.Sleep(interval) {
			if time.Now().After(end) {
				return fmt.Errorf("%d of %d stacks in %v; %d were left out", len(r.file.Stacks), n, patience, r.left)
			}
			if err := r.round(l, threads, n); err != nil {
				return err
			}
		}
		return nil
	})
}

type watched struct {
	*observe.Thread
	pc, sp uint64
}

func (r *recording) round(l *observe.Observer, threads map[int]*watched, n int) error {
	tids, err := r.process.Threads(nil)
	if err != nil {
		return err
	}
	var failed error
	done := func(th *observe.Thread, s *observe.RawSample, err error) {
		switch {
		case err == nil && len(r.file.Stacks) < n:
			if at := threads[th.ID.TID]; at.pc != s.Regs.PC || at.sp != s.Regs.SP() {
				at.pc, at.sp = s.Regs.PC, s.Regs.SP()
				r.add(s)
			}
		case err != nil && observe.Reason(err) == errs.Denied:
			failed = err
		}
	}
	for _, tid := range tids {
		th := threads[tid]
		if th == nil {
			th = &watched{Thread: observe.NewThread(r.process.PID, tid, nil)}
			th.Memory = r.process.Memory()
			threads[tid] = th
		}
		if _, _, err := l.Begin(th.Thread); err != nil && observe.Reason(err) == errs.Denied {
			return err
		}
	}
	until := procmem.Now() + int64(200*time.Millisecond)
	for th, s, err := l.Stops.Next(ptrace.Moment(until)); th != nil; th, s, err = l.Stops.Next(ptrace.Moment(until)) {
		done(th, s, err)
	}
	for _, th := range threads {
		l.Stops.Cancel(th.Thread)
	}
	return failed
}

func (r *recording) add(s *observe.RawSample) {
	if end := r.process.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	var w frames.Walker
	var pcs []uint64
	for w.Init(r.process.Space(), &s.Regs, &s.Mem); w.Next(); {
		pcs = append(pcs, w.Frame().PC)
	}
	last := w.Frame()
	mem := s.Mem.Stack
	if !w.StopReason().Complete() || last.SP < mem.Addr {
		r.left++
		return
	}
	// Beyond the last frame the other unwinders read some words before they find that it has no caller.
	used := min(uint64(len(mem.Bytes)), last.SP-mem.Addr+beyond)
	r.file.Stacks = append(r.file.Stacks, snapshot.Stack{
		Regs: s.Regs, Addr: mem.Addr, Bytes: append([]byte(nil), mem.Bytes[:used]...), PCs: pcs,
	})
}

const beyond = 1024

func (r *recording) save(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(r.file.Write(f), f.Close())
}
