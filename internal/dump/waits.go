package dump

import (
	"os"
	"strconv"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/core"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/symbols"
	"prywalk/internal/waits"
)

// explainer tells what the sleepers of one process wait for.
type explainer struct {
	pid     int
	names   *symbols.Namer
	space   func() *frames.Space
	read    func(addr uint64, buf []byte) int
	files   *waits.Files         // nil for a core
	name    func(tid int) string // of a thread; nil for a core
	threads waits.Threads
	slept   map[int]*waits.Sleeper // by thread
	symbols map[waits.Address]waits.Variable
}

// explainerOf is for a live process; threads are those of all processes that are looked at.
func explainerOf(t *code.Process, names *symbols.Namer, threads waits.Threads) *explainer {
	return &explainer{
		pid: t.PID, names: names, space: t.Space, files: waits.NewFiles(t.PID), threads: threads, name: t.ThreadName,
		read: func(addr uint64, buf []byte) int {
			n, _ := t.Memory().Read(t.MemoryTID(), addr, buf)
			return n
		},
		slept: map[int]*waits.Sleeper{}, symbols: map[waits.Address]waits.Variable{},
	}
}

// explain fills in what a thread waits for.
func (x *explainer) explain(d *Thread, s *look.Shot) {
	if s == nil || s.State == look.Running {
		return
	}
	sl := &waits.Sleeper{
		State: s.State.Letter()[0], Wait: s.Wait(), Args: s.Call.Args, InCall: s.Call.Nr >= 0, Near: copyOf(s.Near()),
	}
	x.describe(d, sl)
}

// copyOf keeps what is the shot's.
func copyOf(c waits.Copy) waits.Copy {
	c.Bytes = append([]byte(nil), c.Bytes...)
	return c
}

// describe tells what a sleeper waits for.
func (x *explainer) describe(d *Thread, sl *waits.Sleeper) {
	sl.Stack = innermost(d)
	w := waits.Of(sl)
	if w.Kind == waits.None {
		return
	}
	x.slept[d.TID] = sl
	w.Resolve(x.threads)
	if w.Owner != 0 && x.name != nil {
		w.OwnerName = x.name(w.Owner)
	}
	w.ReadMore(sl, x.read)
	if x.files != nil {
		x.files.Describe(&w)
	}
	w.Place(x.variable(w.Address))
	w.Idle = waits.Idle(sl.Wait, w.Kind, func(i int) string {
		if i < len(d.Frames) {
			return d.Frames[i].Function
		}
		return ""
	})
	d.WaitsFor = &w
}

// innermost gives the innermost functions of a stack.
func innermost(d *Thread) (out []waits.Name) {
	for i := range d.Frames[:min(len(d.Frames), waits.MostNames)] {
		out = append(out, waits.Name{Function: d.Frames[i].Function, Module: d.Frames[i].Module})
	}
	return out
}

// variable gives the static variable at an address, nothing if it is none.
func (x *explainer) variable(addr waits.Address) waits.Variable {
	v, known := x.symbols[addr]
	if known || addr == 0 || x.space() == nil {
		return v
	}
	if img, at := code.ImageAt(x.space(), uint64(addr)); img != nil {
		if name, offset, ok := x.names.Object(img, x.pid, at); ok {
			v = waits.Variable{Name: name, Offset: offset}
		}
	}
	x.symbols[addr] = v
	return v
}

// members finds threads of live processes by the numbers that their locks have.
type members struct {
	pid    int
	others []int // processes that are looked at, too
	inner  map[int]int
	nested bool
}

// membersOf is for the locks of a process; others are the processes that are looked at besides.
func membersOf(pid int, others []int) *members {
	m := &members{pid: pid}
	var s procmem.Status
	m.nested = procmem.ReadStatus(pid, &s) == nil && s.NSpidN > 1
	own := namespace(pid)
	for _, p := range others {
		if p != pid && namespace(p) == own && own != "" {
			m.others = append(m.others, p)
		}
	}
	return m
}

// namespace names the pid namespace of a process, "" if that is not told.
func namespace(pid int) string {
	link, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	return link
}

// Thread implements [waits.Threads].
func (m *members) Thread(inner int, shared bool) (int, bool) {
	if m.nested {
		return m.nestedThread(inner, shared)
	}
	if alive(m.pid, inner) {
		return inner, true
	}
	for i := 0; shared && i < len(m.others); i++ {
		if alive(m.others[i], inner) {
			return inner, true
		}
	}
	return 0, false
}

// nestedThread finds a thread by its number in the process's own pid namespace.
func (m *members) nestedThread(inner int, shared bool) (int, bool) {
	if m.inner == nil {
		m.inner = map[int]int{}
		for _, pid := range append([]int{m.pid}, m.others...) {
			m.list(pid)
		}
	}
	tid, ok := m.inner[inner]
	if !ok || !alive(m.pid, tid) && !(shared && m.another(tid)) {
		return 0, false
	}
	return tid, true
}

// another reports whether a thread is one of the other processes'.
func (m *members) another(tid int) bool {
	for _, pid := range m.others {
		if alive(pid, tid) {
			return true
		}
	}
	return false
}

// list takes note of the numbers of a process's threads in their own namespace.
func (m *members) list(pid int) {
	entries, _ := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	for _, e := range entries {
		tid, _ := strconv.Atoi(e.Name())
		var s procmem.Status
		if procmem.ReadStatus(tid, &s) == nil && s.NSpidN > 1 {
			m.inner[s.NSpid[s.NSpidN-1]] = tid
		}
	}
}

// alive reports whether a process has a thread of that number that has not ended.
func alive(pid, tid int) bool {
	var s procmem.Status
	return procmem.ReadStatus(tid, &s) == nil && s.Tgid == pid && s.State != 'Z' && s.State != 'X'
}

// coreThreads are the threads of a core.
type coreThreads map[int]bool

// Thread implements [waits.Threads].
func (c coreThreads) Thread(inner int, _ bool) (int, bool) { return inner, c[inner] }

// explainerOfCore is for a core.
func explainerOfCore(c *core.Core, names *symbols.Namer) *explainer {
	threads := coreThreads{}
	for _, th := range c.Threads() {
		threads[th.TID] = true
	}
	read := func(addr uint64, buf []byte) int { return readWords(c.Memory(), addr, buf) }
	return &explainer{
		pid: c.PID, names: names, space: c.Space, threads: threads, read: read,
		slept: map[int]*waits.Sleeper{}, symbols: map[waits.Address]waits.Variable{},
	}
}

// explainCore fills in what a thread of a core waited for. On arm64 the kernel's result stands where the first argument
// was.
func (x *explainer) explainCore(d *Thread, c *core.Core, th *core.Thread) {
	if th.Syscall < 0 || c.Arch != frames.X86_64 {
		return
	}
	sl := &waits.Sleeper{Wait: d.Wait, InCall: true}
	for i, reg := range look.ArgumentRegisters(c.Arch) {
		v, ok := th.Regs.Get(reg)
		if !ok {
			return
		}
		sl.Args[i] = v
	}
	if addr, ok := waits.Sleeps(&sl.Args); ok && d.Wait == "futex" && addr >= waits.Before {
		var b [waits.Around]byte
		from := addr - waits.Before
		if n := x.read(from, b[:]); n > 0 {
			sl.Near = waits.Copy{Addr: from, Bytes: b[:n]}
		} else if n := x.read(addr, b[:]); n > 0 { // the first thing in its mapping
			sl.Near = waits.Copy{Addr: addr, Bytes: b[:n]}
		}
	}
	x.describe(d, sl)
}

// readWords copies memory of a core, whole words at a time.
func readWords(m frames.Memory, addr uint64, buf []byte) int {
	n := 0
	for ; n+8 <= len(buf); n += 8 {
		w, ok := m.Word(addr + uint64(n))
		if !ok {
			break
		}
		for i := range 8 {
			buf[n+i] = byte(w >> (8 * i))
		}
	}
	return n
}
