// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"debug/elf"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/base/errs"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/runtimes/cpython"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

type host struct {
	p    *loadedcode.Process
	syms map[string]map[string]elf.Symbol
}

func (h *host) Arch() frames.Arch                { return h.p.Space().Arch }
func (h *host) Modules() []*frames.Module        { return h.p.Space().Modules() }
func (h *host) CodeAnalysis() *heuristics.Source { return nil }
func (h *host) Read(a uint64, b []byte) int      { n, _ := h.p.ReadMem(a, b); return n }

func (h *host) ReadCode(a uint64, b []byte) int { return h.Read(a, b) }

func (h *host) Member(*frames.Module, string, string) (int64, bool) { return 0, false }

func (h *host) OwnSymbols(*frames.Module, ...string) []managed.Symbol { return nil }

func (h *host) Section(*frames.Module, string) (uint64, []byte, bool) { return 0, nil, false }

func (h *host) Symbol(m *frames.Module, name string) (uint64, uint64, bool) {
	table := h.syms[m.Name]
	if table == nil {
		table = map[string]elf.Symbol{}
		if f, err := elf.Open(m.Name); err == nil {
			all, _ := f.DynamicSymbols()
			more, _ := f.Symbols()
			for _, s := range append(all, more...) {
				if s.Section != elf.SHN_UNDEF {
					table[s.Name] = s
				}
			}
			f.Close()
		}
		h.syms[m.Name] = table
	}
	s, ok := table[name]
	return s.Value + m.Bias, s.Size, ok
}

type live struct {
	p         *loadedcode.Process
	unchanged func() bool
}

func (l live) Read(a uint64, b []byte) int { n, _ := l.p.ReadMem(a, b); return n }
func (l live) Unchanged() bool             { return l.unchanged() }

type python struct {
	pid     int
	p       *loadedcode.Process
	host    *host
	names   managed.FrameSource
	plans   observe.Plans
	threads map[int]*observe.Thread
	walker  frames.Walker
	loops   map[uint64]bool
	cut     bool   // the loop outside of the last stack's Python frames has none
	before  func() // each look
	after   func()
	mayEnd  bool // threads end meanwhile
	bare    int
	finds   bool
}

type frame struct {
	managed.Frame
	truth managed.Certainty
}

const release = "release "

// pythons returns the interpreters by version. PYTHON_RELEASES is the directory of scripts/setup-pythons.sh.
func pythons(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range []string{"/usr/local/lib/python-releases", os.Getenv("PYTHON_RELEASES")} {
		more, _ := filepath.Glob(filepath.Join(dir, "3.*/bin/python3"))
		for _, exe := range more {
			all[release+filepath.Base(filepath.Dir(filepath.Dir(exe)))] = exe
		}
	}
	home, _ := os.UserHomeDir()
	found, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	for _, exe := range found {
		v := filepath.Base(filepath.Dir(filepath.Dir(exe)))
		if major, _, _ := strings.Cut(strings.TrimPrefix(v, "3."), "."); major != "6" && major != "7" {
			all[v] = exe
		}
	}
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		all["system"] = "/usr/bin/python3"
	}
	testtargets.Need(t, len(all) > 0, "python3", testtargets.SetUp)
	if !testtargets.All() { // one release
		for _, version := range append([]string{"system"}, slices.Sorted(maps.Keys(all))...) {
			if exe, ok := all[version]; ok {
				return map[string]string{version: exe}
			}
		}
	}
	return all
}

func attach(t *testing.T, pid int) *python {
	t.Helper()
	py, err := find(t, pid)
	if err != nil {
		t.Fatal(err)
	}
	return py
}

func find(t *testing.T, pid int) (*python, error) {
	t.Helper()
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	py := &python{pid: pid, p: p, host: &host{p, map[string]map[string]elf.Symbol{}}, threads: map[int]*observe.Thread{},
		loops: map[uint64]bool{}}
	r, err := cpython.Detect(py.host)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, errors.New("no Python was found")
	}
	py.names = r.(managed.FrameSource)
	py.plans.Store(&[]*managed.Plan{py.names.Plan()})
	return py, nil
}

// stackBytes are copied from the first stop on: sizes are not learned here.
const stackBytes = 256 << 10

func (py *python) looks(t *testing.T, n int, tell func(tid int, s *observe.RawSample, stack []frame, natives []uint64,
	h managed.Health)) {
	t.Helper()
	tids, err := py.p.Threads(nil)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctl := ptrace.NewController(ptrace.Options{})
	defer ctl.Close()
	l := observe.New(ctl, observe.NewPool(4), observe.ModeAlwaysRead)
	for range n {
		for _, tid := range tids {
			th := py.threads[tid]
			if th == nil {
				th = observe.NewThread(py.pid, tid, nil)
				th.Feedback().SetCopySize(stackBytes)
				th.Memory, th.Plans = py.p.Memory(), &py.plans
				py.threads[tid] = th
				py.plan(th, 0)
			}
			done := func(th *observe.Thread, s *observe.RawSample, err error) {
				if err != nil {
					if !errors.Is(err, ptrace.ErrTimeout) && !py.ended(err) {
						t.Error(err)
					}
					return
				}
				if py.after != nil {
					py.after()
				}
				stack, natives, h := py.walk(th, s)
				tell(th.ID.TID, s, stack, natives, h)
				py.plan(th, s.Regs.TLS)
			}
			if th.Pending() {
				collect(l, done)
				continue
			}
			if py.before != nil {
				py.before()
			}
			outcome, s, err := l.Begin(th)
			switch {
			case py.ended(err):
			case err != nil:
				t.Error(err)
			case outcome == observe.Done:
				done(th, s, nil)
			case outcome == observe.Pending:
				collect(l, done)
			}
		}
	}
}

func collect(l *observe.Observer, done func(*observe.Thread, *observe.RawSample, error)) {
	until := ptrace.Now().Add(1e9)
	for th, s, err := l.Stops.Next(until); th != nil; th, s, err = l.Stops.Next(until) {
		done(th, s, err)
	}
}

func (py *python) ended(err error) bool {
	return err != nil && py.mayEnd && observe.Reason(err) == errs.Exited
}

func (py *python) plan(th *observe.Thread, tls uint64) {
	if th.Plans == nil {
		th.Feedback().SetPlan(nil, 0)
		return
	}
	if py.finds {
		return
	}
	if at, ok := py.names.Anchor(procmem.InnerTID(th.ID.TID), tls); ok {
		th.Feedback().SetPlan(py.names.Plan(), at)
	}
}

func (py *python) walk(th *observe.Thread, s *observe.RawSample) (stack []frame, natives []uint64, h managed.Health) {
	if end := py.p.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	files := th.Files()
	l := live{py.p, func() bool {
		if s.How != observe.ByPassiveRead {
			return false
		}
		now, err := files.SchedStat()
		return err == nil && now.Runs == s.Sched.Runs
	}}
	return py.merge(&managed.Sample{InnerTID: procmem.InnerTID(th.ID.TID), Regs: &s.Regs, Mem: &s.Mem, At: int64(s.At),
		Live: l})
}

func (py *python) merge(s *managed.Sample) (stack []frame, natives []uint64, h managed.Health) {
	var refs []managed.Ref
	py.names.Begin(s)
	py.cut = false
	w := &py.walker
	var last frames.Frame
	for w.Init(py.p.Space(), s.Regs, s.Mem); w.Next(); {
		f := w.Frame()
		if last.PC != 0 {
			known := len(refs)
			refs, _ = py.names.ManagedFrames(&last, f.SP, refs)
			py.cut = known > 0 && (py.cut || len(refs) == known && py.isLoop(natives[len(natives)-1]))
		}
		last = f
		natives = append(natives, f.LookupPC(frames.X86_64))
	}
	outer := frames.Addr(0)
	if w.StopReason().Complete() {
		outer = managed.Outermost
	}
	refs, _ = py.names.ManagedFrames(&last, outer, refs)
	h = py.names.End()
	var out []managed.Frame
	for i := len(refs) - 1; i >= 0; i-- {
		var truth managed.Certainty
		out, truth = py.names.Symbolize(refs[i], s.Live, out[:0])
		stack = append(stack, frame{out[0], truth})
	}
	return stack, natives, h
}

func (py *python) isLoop(pc uint64) bool {
	is, known := py.loops[pc]
	if !known {
		is = strings.HasPrefix(py.functions([]uint64{pc})[0], "_PyEval_EvalFrameDefault")
		py.loops[pc] = is
	}
	return is
}

func (py *python) functions(pcs []uint64) (list []string) {
	for _, pc := range pcs {
		m, name := py.p.Space().ModuleAt(pc), "?"
		if m != nil {
			for _, s := range py.host.syms[m.Name] {
				if at := pc - m.Bias; at >= s.Value && at < s.Value+s.Size && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
					name = s.Name
				}
			}
		}
		list = append(list, name)
	}
	return list
}
