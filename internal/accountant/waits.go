// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"strings"

	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/symbols"
	"prywalk/internal/waits"
)

// # What sleepers wait for
//
// The accountant labels each new sleep. What a lock is follows from the names of the innermost functions, which are
// asked for once for each stack. Who holds it follows from the bytes that the look has copied. Names of descriptors
// are read from /proc, and kept for a second.

const (
	// mostLocations bounds what is remembered of stacks and of addresses.
	mostLocations = 1 << 14
	// fileEvery is how old the name of a descriptor may get, in nanoseconds.
	fileEvery = 1e9
	// innermostFrames is how many frames are walked for names.
	innermostFrames = 8
)

// waiting is what is known of the waits of one process's threads.
type waiting struct {
	byInner map[int]*threadAccount // by the thread's number in its own pid namespace
	names   map[sample.StackID][]waits.Name
	things  map[waits.Address]waits.Variable
	files   *waits.Files
	others  *waits.Members // those that are not in byInner
	listed  int64          // when they were listed, CLOCK_MONOTONIC ns
	walker  frames.Walker
}

// lastFile is a descriptor that a thread was seen to wait for.
type lastFile struct {
	fd   int
	text string
	at   int64
}

// met takes note of a thread that can hold locks.
func (a *Accountant) met(th *threadAccount) {
	p := th.proc
	if p.waits == nil {
		p.waits = &waiting{
			byInner: map[int]*threadAccount{}, names: map[sample.StackID][]waits.Name{},
			things: map[waits.Address]waits.Variable{}, files: waits.NewFiles(p.Target.PID),
			others: waits.NewMembers(p.Target.PID, nil),
		}
		p.waits.walker.MaxDepth = innermostFrames
	}
	p.waits.byInner[th.innerTID()] = th
}

// execed forgets what was known of the program before.
func (w *waiting) execed() {
	if w != nil {
		clear(w.names)
		clear(w.things)
	}
}

// forget takes note of a thread that has ended.
func (w *waiting) forget(th *threadAccount) {
	if w != nil && w.byInner[th.innerTID()] == th {
		delete(w.byInner, th.innerTID())
	}
}

// innerTID is the thread's number as its own process sees it.
func (th *threadAccount) innerTID() int {
	if th.nsTID != 0 {
		return th.nsTID
	}
	return th.TID
}

// Thread implements [waits.Threads]. Who is not looked at, or has not been yet, is asked for below /proc.
func (w *waiting) Thread(inner int, _ bool) (int, bool) {
	if th := w.byInner[inner]; th != nil {
		return th.TID, true
	}
	tid, ok := w.others.Thread(inner, false)
	if now := procmem.Now(); !ok && now-w.listed > fileEvery {
		w.listed = now
		w.others.Forget()
		return w.others.Thread(inner, false)
	}
	return tid, ok
}

// explain tells what the thread of a shot waits for, and who holds it ([profile.Interval]); nothing for one that runs.
func (a *Accountant) explain(th *threadAccount, s *look.Shot, id sample.StackID) (waitsFor string, owner int) {
	if s.State == sample.Running || s.Call.Nr < 0 {
		return "", 0
	}
	p := th.proc
	sl := waits.Sleeper{State: s.State.Letter()[0], Wait: s.Wait(), Args: s.Call.Args, InCall: true, Near: s.Near()}
	if sl.Wait == "futex" {
		sl.Stack = a.innermost(p, s, id)
	}
	if word, ok := waits.Sleeps(&sl.Args); ok && sl.Wait == "futex" && len(p.Target.Namers()) > 0 {
		sl.Managed = func() (waits.For, bool) { return a.managed(th, s, word) }
	}
	w := waits.Of(&sl)
	switch {
	case w.IsManaged():
		w.Resolve(p.waits)
		return w.Label(), w.Owner
	case w.FD != nil:
		return a.file(th, w.FD.FD, s.At), 0
	case w.Kind.IsLock() && w.Address != 0:
		w.Resolve(p.waits)
		w.SetVariable(a.variable(p, w.Address))
		if a.Explained != nil {
			a.Explained(s, &w)
		}
		if w.Free {
			return w.Label(), profile.Nobody
		}
		return w.Label(), w.Owner
	}
	return "", 0
}

// managed asks the run-time systems of a process what a sleeper waits for.
func (a *Accountant) managed(th *threadAccount, s *look.Shot, word uint64) (waits.For, bool) {
	p := th.proc
	live := &callstack.Live{
		Mem: p.Target.Read, PID: p.Target.PID, TID: th.TID, Runs: s.Sched.Runs, Counts: a.unwind.managed.runCounts(),
	}
	w, ok, _ := callstack.Waiting(p.Target.Namers(), &managed.Sleeper{TID: th.innerTID(), Word: word, Mem: &s.Mem,
		Live: live})
	return w, ok
}

// innermost gives the names of the innermost functions of a stack, as far as they matter.
func (a *Accountant) innermost(p *processAccount, s *look.Shot, id sample.StackID) []waits.Name {
	w := p.waits
	if names, ok := w.names[id]; ok {
		return names
	}
	var names []waits.Name
	for w.walker.Init(p.Target.Space(), &s.Regs, &s.Mem); !waits.Decided(names) && w.walker.Next(); {
		f := w.walker.Frame()
		names = append(names, a.name(p, &f, s.Regs.Arch))
	}
	if len(w.names) >= mostLocations {
		clear(w.names)
	}
	w.names[id] = names
	return names
}

// name gives a frame's function by the symbol tables.
func (a *Accountant) name(p *processAccount, f *frames.Frame, arch frames.Arch) (n waits.Name) {
	if f.Module == nil {
		return n
	}
	n.Module = f.Module.Name
	if at := code.MappingOf(f.Module); at != nil && at.Image != nil {
		n.Function = a.namer().Symbol(at.Image, p.Target.PID, f.Lookup(arch)-f.Module.Bias)
	}
	return n
}

// namer reads symbol tables while it is sampled: of the libraries, mostly, in which threads wait.
func (a *Accountant) namer() *symbols.Namer {
	if a.lockNames == nil {
		a.lockNames = symbols.NewNamer()
	}
	return a.lockNames
}

// variable gives the static variable at an address.
func (a *Accountant) variable(p *processAccount, addr waits.Address) waits.Variable {
	v, ok := p.waits.things[addr]
	if ok {
		return v
	}
	if img, at := code.ImageAt(p.Target.Space(), uint64(addr)); img != nil {
		if name, offset, ok := a.namer().Object(img, p.Target.PID, at); ok {
			v = waits.Variable{Name: name, Offset: offset}
		}
	}
	if len(p.waits.things) >= mostLocations {
		clear(p.waits.things)
	}
	p.waits.things[addr] = v
	return v
}

// file names the descriptor that a thread waits for.
func (a *Accountant) file(th *threadAccount, fd int, now int64) string {
	f := &th.file
	if f.text == "" || f.fd != fd || now-f.at > fileEvery {
		text := th.proc.waits.files.Link(fd)
		if text, ok := strings.CutPrefix(text, "anon_inode:"); ok {
			*f = lastFile{fd, strings.Trim(text, "[]"), now}
		} else {
			if peer := th.proc.waits.files.Peer(text, procmem.Now); peer != "" {
				text += " " + peer
			}
			*f = lastFile{fd, text, now}
		}
	}
	return f.text
}
