// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/base/languages"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/base/sample"
	"prywalk/internal/base/schema"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

// waitExplainer finds what sleeping threads wait for. The innermost functions give the kind of a lock; the copied bytes
// its owner. Descriptors' names are from /proc.
type waitExplainer struct {
	names *symbols.Namer                    // nil before the first lock
	peers map[string]*waits.RemoteAddresses // by network namespace
	ends  waits.Peers
}

func (e *waitExplainer) peersOf(files *waits.OpenFiles) *waits.RemoteAddresses {
	network := files.Network()
	known := cmp.Or(e.peers[network], &waits.RemoteAddresses{})
	cache.Put(&e.peers, maxCached, network, known)
	return known
}

func (e *waitExplainer) close() {
	if e.names != nil {
		_ = e.names.Close()
		e.names = nil
	}
}

const procCacheLifetime = time.Second // of what /proc shows: a descriptor's name, the list of threads

type waitState struct {
	byInnerTID           map[int]*target.Thread // in its own pid namespace
	names                map[sample.StackID][]waits.StackFunction
	variables            map[schema.Hex]waits.Variable
	files                *waits.OpenFiles
	peers                *waits.RemoteAddresses
	ends                 *waits.Peers
	unnamed              map[string]unnamedFile // by description
	unnamedDue           monotonic.Moment       // the least due time of them, or earlier
	otherThreads         *waits.LiveThreads     // those not in byInnerTID
	otherThreadsListedAt monotonic.Moment
	parent               struct {
		of, pid int // a thread's ID, and the parent process if that is a thread of it, else 0
		at      monotonic.Moment
	}
	walker frames.Walker
}

// unnamedFile is a socket or pipe that is perhaps newer than the lists in which its other end was searched.
type unnamedFile struct {
	fd         int
	due        monotonic.Moment // when newer lists may be read
	onlyServer bool             // clients are not named
	again      bool             // it was searched once
}

func (e *waitExplainer) add(p *processState, th *target.Thread) {
	if p.waitState == nil {
		files := waits.NewOpenFiles(p.process.Code.PID)
		p.waitState = &waitState{
			byInnerTID: map[int]*target.Thread{}, files: files, peers: e.peersOf(files), ends: &e.ends,
			otherThreads: waits.NewLiveThreads(p.process.Code.PID, nil),
		}
		p.waitState.walker.MaxDepth = waits.MaxFunctions
	}
	p.waitState.byInnerTID[th.Walk.InnerTID] = th
}

func (w *waitState) forget(th *target.Thread) {
	if w != nil && w.byInnerTID[th.Walk.InnerTID] == th {
		delete(w.byInnerTID, th.Walk.InnerTID)
	}
}

// Thread implements [waits.ThreadFinder]. Threads without an account are searched in /proc.
func (w *waitState) Thread(innerTID int, _ bool) (int, bool) {
	if th := w.byInnerTID[innerTID]; th != nil {
		return th.TID, true
	}
	tid, ok := w.otherThreads.Thread(innerTID, false)
	if now := procmem.Moment(); !ok && now.Sub(w.otherThreadsListedAt) > procCacheLifetime {
		w.otherThreadsListedAt = now
		w.otherThreads.Invalidate()
		return w.otherThreads.Thread(innerTID, false)
	}
	return tid, ok
}

// Parent implements [waits.ThreadFinder]. It reads the parent's threads again after procCacheLifetime.
func (w *waitState) Parent(innerTID int) int {
	if now := procmem.Moment(); w.parent.of != innerTID || now.Sub(w.parent.at) > procCacheLifetime {
		w.parent.of, w.parent.pid, w.parent.at = innerTID, w.otherThreads.Parent(innerTID), now
	}
	return w.parent.pid
}

// explain returns [profile.Interval].WaitsFor and Owner; nothing outside of a call.
func (e *waitExplainer) explain(p *processState, th *target.Thread, s *observe.RawSample, id sample.StackID) (
	waitsFor string, owner int,
) {
	if s.State == sample.Running || s.Call.Nr < 0 {
		return "", 0
	}
	sl := waits.Sleeper{
		State: s.State.Letter()[0], Reason: s.WaitReason(), Args: s.Call.Args, InCall: true, Memory: s.FutexCopy(),
	}
	if sl.Reason == "futex" {
		sl.Stack = e.innermostFunctions(p, s, id)
	}
	sources := p.process.Code.Runtimes().FrameSources()
	if word, timed, ok := waits.RuntimeWaitCall(sl.Reason, &sl.Args); ok && len(sources) > 0 {
		sl.Managed = func() (w waits.Wait, ok bool) {
			w, ok, _ = callstack.WaitOf(sources, &managed.WaitQuery{InnerTID: th.Walk.InnerTID, Word: word, Mem: &s.Mem,
				Live: liveOf(th, s), Timed: timed})
			return w, ok
		}
	}
	switch found := waits.Describe(&sl); {
	case found.IsManaged():
		found.ResolveOwner(p.waitState)
		return found.Label(), found.Owner
	case found.Kind == waits.FileLock && found.FD != nil:
		return string(found.Kind) + " " + p.waitState.describeFile(th, int(found.FD.FD), s.At, found.Kind), 0
	case found.Kind == waits.Child:
		child := waits.ChildWaitedFor(p.process.Code.PID, found.Child)
		if child.PID == 0 || !liveOf(th, s).Unchanged() {
			return "", 0
		}
		return child.ChildLabel(), child.PID
	case found.Kind == waits.Sleep && !strings.HasSuffix(sl.Reason, "nanosleep"):
		return string(found.Kind), 0
	case found.FD != nil:
		return p.waitState.describeFile(th, int(found.FD.FD), s.At, found.Kind), 0
	case found.Kind == waits.Descriptor:
		if fd, ok := found.OnlyDescriptor(&sl, e.callMemory(th, s, maxPollRead)); ok {
			return p.waitState.describeFile(th, fd, s.At, found.Kind), 0
		}
	case found.Kind == waits.Other:
		found.ReadPath(&sl, e.callMemory(th, s, waits.MaxPath))
		if !strings.HasPrefix(found.Path, "/") { // a label of another form
			return "", 0
		}
		return found.Path, 0
	case found.Kind.IsSynchronization() && found.Address != 0:
		found.ResolveOwner(p.waitState)
		found.SetVariable(e.variableAt(p, found.Address))
		switch {
		case found.Free:
			return found.Label(), profile.NoOwner
		case found.OwnerParent != 0:
			return found.Label(), profile.ParentOwner
		}
		return found.Label(), found.Owner
	}
	return "", 0
}

func liveOf(th *target.Thread, s *observe.RawSample) *callstack.Live {
	p := th.Proc.Code
	return &callstack.Live{ReadMemory: p.Read, PID: p.PID, TID: th.TID, RunCount: s.Sched.Runs}
}

// innermostFunctions returns as many as decide the lock's kind.
func (e *waitExplainer) innermostFunctions(p *processState, s *observe.RawSample,
	id sample.StackID) []waits.StackFunction {
	w := p.waitState
	if names, ok := w.names[id]; ok {
		return names
	}
	var names []waits.StackFunction
	for w.walker.Init(p.process.Code.Space(), &s.Regs, &s.Mem); !waits.IsIdentified(names) && w.walker.Next(); {
		f := w.walker.Frame()
		names = append(names, e.functionName(p, &f, s.Regs.Arch))
	}
	cache.Put(&w.names, maxCached, id, names)
	return names
}

func (e *waitExplainer) functionName(p *processState, f *frames.Frame, arch frames.Arch) (n waits.StackFunction) {
	if f.Module == nil {
		return n
	}
	n.Module = f.Module.Name
	if mapping := loadedcode.MappingOf(f.Module); mapping != nil && mapping.Image != nil {
		n.Function = e.namer().Symbol(mapping.Image, p.process.Code.PID, f.LookupPC(arch)-f.Module.Bias)
	}
	return n
}

func (e *waitExplainer) namer() *symbols.Namer {
	if e.names == nil {
		e.names = symbols.NewNamer()
	}
	return e.names
}

func (e *waitExplainer) variableAt(p *processState, addr schema.Hex) waits.Variable {
	v, ok := p.waitState.variables[addr]
	if ok {
		return v
	}
	v = e.namer().VariableAt(p.process.Code.Space(), p.process.Code.PID, uint64(addr))
	cache.Put(&p.waitState.variables, maxCached, addr, v)
	return v
}

// describeFile finds named pipes only where no file that could hang is waited for.
func (w *waitState) describeFile(th *target.Thread, fd int, now monotonic.Moment, kind waits.Kind) string {
	f, link := &th.Walk.File, w.files.Link(fd) // the number can be another file's by now
	if f.FD != fd || f.Link != link || now.Sub(f.At) > procCacheLifetime {
		*f = target.LastFile{FD: fd, Link: link, At: now}
		if kind == waits.Descriptor {
			link = w.files.NamedPipe(fd, link)
		}
		f.Text = w.describe(fd, link, false)
	}
	return f.Text
}

// describe returns linkText. [processState.nameLater] searches a missing other end in newer lists.
func (w *waitState) describe(fd int, link string, onlyServer bool) string {
	due := monotonic.Moment(w.ends.NextLists(w.peers))
	text := w.linkText(fd, link)
	if strings.Contains(text, ":[") && !strings.Contains(text, " = ") && procmem.Moment() < due {
		w.searchLater(text, unnamedFile{fd: fd, due: due, onlyServer: onlyServer})
	}
	return text
}

func (w *waitState) searchLater(text string, f unnamedFile) {
	cache.Put(&w.unnamed, maxCached, text, f)
	w.unnamedDue = min(w.unnamedDue, f.due)
}

const maxLookups = 64 // of one nameLater, as a lookup can be a query to the kernel

// nameLater searches other ends by the inodes: a thread that sleeps on is not sampled again.
func (p *processState) nameLater(now monotonic.Moment) {
	w, lookups := p.waitState, 0
	if now < w.unnamedDue {
		return
	}
	w.unnamedDue = math.MaxInt64
	for text, f := range w.unnamed {
		if now < f.due || lookups == maxLookups {
			w.unnamedDue = min(w.unnamedDue, f.due)
			continue
		}
		lookups++
		delete(w.unnamed, text)
		link := text
		if strings.HasPrefix(text, "socket:") {
			link, _, _ = strings.Cut(text, " ")
		}
		longer := w.linkText(f.fd, link)
		isClient := f.onlyServer && w.peers.IsServed(link)
		switch {
		case longer != text && strings.HasPrefix(longer, text) && !isClient:
			cache.Put(&p.named, maxEnds, text, longer)
		case longer == text && !f.again: // a search for another file may have postponed the lists
			f.again, f.due = true, monotonic.Moment(w.ends.NextLists(w.peers))
			w.searchLater(text, f)
		}
	}
}

func (w *waitState) linkText(fd int, link string) string {
	text := link
	if kind, ok := strings.CutPrefix(text, "anon_inode:"); ok {
		text = strings.Trim(kind, "[]")
	} else if peer := w.peers.Of(w.files, text, procmem.Now); peer != "" {
		text += " " + peer
	}
	return text + w.ends.Of(w.files, w.peers, link, fd, procmem.Now)
}

// maxPollRead is the size of a struct pollfd, bytes.
const maxPollRead = 8

// callMemory reads from the copied stack, else at most limit bytes from the target if the thread still sleeps.
func (e *waitExplainer) callMemory(th *target.Thread, s *observe.RawSample, limit int) func(addr uint64, b []byte) int {
	return func(addr uint64, b []byte) int {
		for n := 0; n < len(b); n += 8 {
			word, ok := s.Mem.Word(addr + uint64(n))
			if !ok {
				live := liveOf(th, s)
				if len(b) > limit || live.Read(addr, b) != len(b) || !live.Unchanged() {
					return 0
				}
				break
			}
			var whole [8]byte
			binary.LittleEndian.PutUint64(whole[:], word)
			copy(b[n:], whole[:])
		}
		return len(b)
	}
}

type deadlockSuspects struct {
	waitsFor map[int]int // waiter to owner
	pids     map[int]int
	unowned  map[int]int // by process: waiters at a language's locks without a stored owner
	threads  map[int]int // by process
	atLock   map[int]int // by process: threads that wait for a lock
}

// minUnowned is the least unowned of a deadlock.
const minUnowned = 2

func (s *deadlockSuspects) recordThread(th *target.Thread) {
	if s.pids == nil {
		s.waitsFor, s.pids, s.unowned = map[int]int{}, map[int]int{}, map[int]int{}
		s.threads, s.atLock = map[int]int{}, map[int]int{}
	}
	pid := th.Proc.Code.PID
	s.pids[th.TID] = pid
	s.threads[pid]++
	switch kind, _, _ := strings.Cut(th.Walk.WaitsFor, " "); waits.Kind(kind) {
	case waits.Mutex, waits.RWLock, waits.LibraryLock:
		s.atLock[pid]++
	case waits.Semaphore: // with what is made of it
		if strings.HasSuffix(th.Walk.WaitsFor, ")") {
			s.atLock[pid]++
		}
	}
	switch {
	case th.Walk.Owner > 0:
		s.waitsFor[th.TID] = th.Walk.Owner
	case strings.HasPrefix(th.Walk.WaitsFor, string(waits.Semaphore)):
		for _, n := range th.Proc.Code.Runtimes().FrameSources() {
			if l := languages.OfSystem(n.Name()); l != nil && l.Waits.BareLocks {
				s.unowned[pid]++
			}
		}
	}
}

// Suspects returns the processes with possible deadlocks: cycles of known owners, several waiters at locks whose owner
// only stacks show, or no thread that does not wait for a lock.
func (a *Aggregator) Suspects() []int { return a.suspects.processes() }

func (s *deadlockSuspects) processes() (pids []int) {
	for _, cycle := range waits.Cycles(s.waitsFor) {
		for _, tid := range cycle {
			pids = append(pids, s.pids[tid])
		}
	}
	for pid, n := range s.unowned {
		if n >= minUnowned {
			pids = append(pids, pid)
		}
	}
	for pid, n := range s.atLock {
		if n == s.threads[pid] {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return slices.DeleteFunc(slices.Compact(pids), func(pid int) bool { return pid == 0 })
}
