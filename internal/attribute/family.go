// SPDX-License-Identifier: Apache-2.0

package attribute

// # CPU time of unobserved children
//
// When a parent waits for a child, the kernel adds the child's time, and that of the child's children, to the parent's
// cutime and cstime (kernel/exit.c, wait_task_zombie; fields 16 and 17 of /proc/PID/stat). So
//
//	CPU time of unobserved children = growth of cutime + cstime − CPU time of the observed children
//
// An observed child adds its own time as attributed, its time before the recording, and that of its children: as last
// read or as its observed children have added, whichever is more. So nothing is counted twice.
//
// A child that is not waited for adds nothing: a zombie, a child of a process that ignores SIGCHLD, an orphan.

const (
	// cutime is read every cutimeEvery while it grows, else every cutimeRarely, plus cutimePause for each process (a read
	// takes some 10 µs), ns.
	cutimeEvery  = 10e6
	cutimeRarely = 100e6
	cutimePause  = 2e6
	// how long an ended process's account stays open for late ends of children, ns
	closeAfter = 200e6
	// interval of settlements of open accounts, and of retries, ns
	settleEvery = 1e9
	settleAgain = 50e6
	// mostAncestors bounds the search for a waiter.
	mostAncestors = 64
)

// Member is a process of a [Family].
type Member struct {
	pid          int
	start        uint64 // clock ticks after boot
	ppid         int
	parent       *Member
	openChildren int // open

	first        int64 // cutime + cstime when its account began, ns
	last         int64
	fromObserved int64
	own          int64 // and before the recording, ns
	left         int64 // end, CLOCK_MONOTONIC ns; 0: open
	settledSum   int64 // last at settledAt, ns
	// CLOCK_MONOTONIC ns
	settledAt  int64
	attributed int64
	attribute  func(ns, at int64, last bool)
}

// Family accounts for the CPU time of unobserved children. Not safe for concurrent use.
type Family struct {
	living  map[int]*Member
	leaving []*Member
	next    int64
	pause   int64 // between two reads, ns
	settled int64 // CLOCK_MONOTONIC ns
	kernel  Relatives
}

// Relatives answers questions about processes and their children from the kernel.
type Relatives interface {
	// Relative gives the state of a process; false if it is gone.
	Relative(pid int) (Relative, bool)
	// IgnoresChildren reports whether the process ignores SIGCHLD.
	IgnoresChildren(pid int) bool
	// ExactChildrenCPU gives the CPU time of a zombie's children, ns; 0 if not known to the µs.
	ExactChildrenCPU(pid int) int64
}

// Relative is the state of a process that [Family] needs.
type Relative struct {
	Start       uint64 // clock ticks after boot (proc_pid_stat(5), field 22)
	Parent      int
	ChildrenCPU int64 // cutime + cstime, ns
	Zombie      bool
}

// NewFamily gives a family without members.
func NewFamily(kernel Relatives) *Family {
	return &Family{living: map[int]*Member{}, kernel: kernel}
}

// Join opens the account of a process. parent is its parent at discovery; 0: unknown. book attributes CPU time of its
// children: certain time while the account is open, and the rest once, with last, even if 0.
func (f *Family) Join(pid int, start uint64, parent int, fromStart bool, book func(ns, at int64, last bool)) *Member {
	m := &Member{pid: pid, start: start, attribute: book}
	f.setParent(m, parent)
	if f.read(m) && !fromStart {
		m.first = m.last
	}
	m.settledSum = m.first
	f.living[pid] = m
	return m
}

func (f *Family) read(m *Member) bool {
	r, ok := f.kernel.Relative(m.pid)
	if !ok || r.Start != m.start {
		return false
	}
	m.last = max(m.last, r.ChildrenCPU)
	if r.Zombie {
		m.last = max(m.last, f.kernel.ExactChildrenCPU(m.pid))
	}
	f.setParent(m, r.Parent)
	return true
}

func (f *Family) setParent(m *Member, ppid int) {
	if ppid == m.ppid {
		return
	}
	m.ppid = ppid
	if p := f.waiter(ppid); p != m {
		m.moveTo(p)
	}
}

// moveTo changes the parent; nil: none.
func (m *Member) moveTo(p *Member) {
	if m.parent != nil {
		m.parent.openChildren--
	}
	if m.parent = p; p != nil {
		p.openChildren++
	}
}

// waiter gives pid or its nearest ancestor in the family.
func (f *Family) waiter(pid int) *Member {
	for range mostAncestors {
		if m := f.living[pid]; m != nil || pid <= 1 {
			return m
		}
		r, ok := f.kernel.Relative(pid)
		if !ok {
			return nil
		}
		pid = r.Parent
	}
	return nil
}

// Parent gives the member that gets this member's time; nil: none.
func (m *Member) Parent() *Member { return m.parent }

// Leave ends an account. own is its CPU time, attributed or before the recording, ns.
func (f *Family) Leave(m *Member, own, now int64) {
	f.read(m) // before its parent waits for it
	m.own, m.left = own, max(now, 1)
	f.leaving = append(f.leaving, m)
}

// Tick reads cutime when due, and closes accounts that ended closeAfter ago.
func (f *Family) Tick(now int64) {
	if now < f.next {
		return
	}
	f.pause = min(max(2*f.pause, cutimeEvery), cutimeRarely)
	for _, m := range f.living {
		if before := m.last; f.read(m) && m.last > before {
			f.pause = cutimeEvery
		}
	}
	f.next = now + f.pause + cutimePause*int64(len(f.living))
	f.closeEnded(func(m *Member) bool { return now-m.left >= closeAfter && m.openChildren == 0 && !f.exists(m) })
	if now-f.settled >= settleAgain {
		f.settled = now
		f.settle(now)
	}
}

// settle attributes growth up to the previous settlement, less what children with open accounts can have added. It is
// retried if a child is gone whose end is not reported.
func (f *Family) settle(now int64) {
	open, unsure := map[*Member]int64{}, map[*Member]bool{}
	for _, m := range f.leaving {
		if p := m.parent; p != nil && m.left < p.settledAt+closeAfter {
			open[p] += m.own + m.total()
			unsure[p] = unsure[p] || m.openChildren > 0
		}
	}
	for _, m := range f.living {
		if m.left == 0 && m.parent != nil && !f.exists(m) {
			unsure[m.parent] = true
		}
	}
	for _, m := range f.living {
		if m.left != 0 || unsure[m] || now-m.settledAt < settleEvery {
			continue
		}
		if ns := m.settledSum - m.first - m.fromObserved - m.attributed - open[m]; ns > 0 {
			m.attributed += ns
			m.attribute(ns, now, false)
		}
		m.settledSum, m.settledAt = m.last, now
	}
}

func (m *Member) total() int64 { return max(m.last, m.first+m.fromObserved+m.attributed) }

// Close closes all accounts. Precondition: all members have left.
func (f *Family) Close() {
	for len(f.leaving) > 0 {
		n := len(f.leaving)
		f.closeEnded(func(m *Member) bool { return m.openChildren == 0 })
		if len(f.leaving) == n {
			return
		}
	}
}

func (f *Family) closeEnded(ready func(*Member) bool) {
	for again := true; again; {
		again = false
		left := f.leaving[:0]
		for _, m := range f.leaving {
			if !ready(m) {
				left = append(left, m)
				continue
			}
			f.closeMember(m)
			again = true
		}
		clear(f.leaving[len(left):])
		f.leaving = left
	}
}

// exists is true for a zombie.
func (f *Family) exists(m *Member) bool {
	r, ok := f.kernel.Relative(m.pid)
	return ok && r.Start == m.start
}

func (f *Family) closeMember(m *Member) {
	f.read(m)
	total := m.total()
	m.attribute(total-m.first-m.fromObserved-m.attributed, m.left, true)
	if f.living[m.pid] == m {
		delete(f.living, m.pid)
	}
	if p := m.parent; p != nil {
		orphan := p.left != 0 && m.left > p.left+closeAfter
		if !orphan && !f.exists(m) && !(p.left == 0 && f.kernel.IgnoresChildren(p.pid)) {
			p.fromObserved += m.own + total
		}
		m.moveTo(nil)
	}
}
