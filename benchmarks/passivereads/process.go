// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strconv"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

type process struct {
	*loadedcode.Process
	tasks   ptrace.OtherMemory
	threads map[int]*thread
}

type thread struct {
	proc *process
	look *observe.Thread
	done uint64
}

type processes struct {
	cache  *loadedcode.ImageCache
	names  *symbols.Namer
	list   map[int]*process
	walker frames.Walker
}

func newProcesses() *processes {
	return &processes{cache: loadedcode.NewImageCache(0), names: symbols.NewNamer(), list: map[int]*process{}}
}

func (ps *processes) close() {
	for _, p := range ps.list {
		p.end()
	}
	_ = ps.names.Close()
	_ = ps.cache.Close()
}

func (p *process) end() {
	for _, th := range p.threads {
		th.look.Close()
	}
	_ = p.Close()
}

func (ps *processes) each(pids []int, f func(*thread)) {
	for _, pid := range pids {
		p := ps.list[pid]
		if p == nil {
			t, err := ps.cache.Open(pid)
			if err != nil {
				continue
			}
			t.JITFuncBounds = ps.names.JITFuncBounds(pid)
			p = &process{Process: t, tasks: observe.NewTaskStacks(t), threads: map[int]*thread{}}
			ps.list[pid] = p
		}
		tids, err := p.Threads(nil)
		if err != nil {
			continue
		}
		for _, tid := range tids {
			th := p.threads[tid]
			if th == nil {
				th = &thread{proc: p, look: p.newLook(tid)}
				p.threads[tid] = th
			}
			if !th.look.Pending() {
				f(th)
			}
		}
	}
}

func (p *process) newLook(tid int) *observe.Thread {
	t := observe.NewThread(p.PID, tid, nil)
	t.Memory = p.Memory()
	t.OtherMemory = p.tasks
	return t
}

func (th *thread) forget() {
	th.look.Close()
	delete(th.proc.threads, th.look.ID.TID)
}

type chain struct {
	pcs    []frames.Addr
	sps    []frames.Addr
	stop   frames.StopReason
	proven int
}

func (ps *processes) walk(p *process, t *observe.Thread, s *observe.RawSample) chain {
	if end := p.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	c := ps.walkOnce(p, s)
	if !c.stop.Complete() {
		if changed, err := p.Refresh(); err == nil && changed {
			c = ps.walkOnce(p, s)
		}
	}
	t.Feedback().Walked(p.Process, &ps.walker, s)
	return c
}

func (ps *processes) walkOnce(p *process, s *observe.RawSample) chain {
	var c chain
	w := &ps.walker
	for w.Init(p.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		c.pcs, c.sps = append(c.pcs, f.PC), append(c.sps, f.SP)
	}
	c.stop, c.proven = w.StopReason(), w.FoundRegs()
	return c
}

func (ps *processes) describe(p *process, c *chain) string {
	text := ""
	for i, pc := range c.pcs {
		if i > 0 {
			text += " < "
			pc--
		}
		text += ps.name(p, pc)
	}
	return text + " (" + c.stop.String() + ")"
}

func (ps *processes) name(p *process, pc frames.Addr) string {
	m := p.Space().ModuleAt(pc)
	if m == nil {
		return "?"
	}
	if named := ps.names.Frames(m, p.PID, pc-m.Bias, nil); len(named) > 0 {
		return named[len(named)-1].Name
	}
	return filepath.Base(m.Name) + "+0x" + strconv.FormatUint(pc-m.Bias, 16)
}

const waitLimit = 2e9

func stopThread(l *observe.Observer, t *observe.Thread) (*observe.RawSample, error) {
	outcome, s, err := l.Begin(t)
	if err == nil && outcome == observe.Pending {
		if _, s, err = l.Stops.Next(ptrace.Now().Add(waitLimit)); l.Stops.Cancel(t) {
			err = ptrace.ErrTimeout
		}
	}
	return s, err
}
