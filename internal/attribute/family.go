// SPDX-License-Identifier: Apache-2.0

package attribute

// # Children that nobody met
//
// Most children of a shell script end before the next search for children. What they used is known all the same.
// When a parent waits for a child, the kernel adds the child's time to the parent's cutime and cstime. With it goes
// what the child has got from its own children (kernel/exit.c, wait_task_zombie; fields 16 and 17 of
// /proc/PID/stat). So what these have grown by, less what flowed there from children that were met, is of children
// that nobody met, and of the last moments of those that were. It is booked under [ShortLivedChildren], of the
// process that waited.
//
// What flows from a child that was met is its own time, as it was booked, its time before the recording, and what
// it has got itself. As much as was last read, or as has flowed to it from children that were met, if that is more.
// The rest of it is in the parent's growth, and is booked there. So the sums are the kernel's, and nothing counts
// twice.
//
// No time flows from a child that its parent has not waited for: from a zombie, from one whose parent ignores SIGCHLD,
// and to a parent that had ended before.

const (
	// The processes' cutime is read each cutimeEvery while it grows, each cutimeRarely while it does not, in nanoseconds.
	// Each process adds cutimePause to that: reading takes some 10 µs. What grows after the last time is lost, if a
	// process's own parent waits for it at once.
	cutimeEvery  = 10e6
	cutimeRarely = 100e6
	cutimePause  = 2e6
	// closeAfter is for how long a process that has ended waits until its growth is booked: its children's ends may be
	// told later than its own, in nanoseconds. A child whose end is told later by more than that is an orphan.
	closeAfter = 200e6
	// settleEvery is how often accounts that go on are settled, settleAgain how soon it is tried again, in nanoseconds.
	settleEvery = 1e9
	settleAgain = 50e6
	// mostAncestors bounds the search for the process that gets a child's time.
	mostAncestors = 64
)

// Member is one process in its [Family].
type Member struct {
	pid    int
	start  uint64  // when it was started, in clock ticks after boot
	ppid   int     // whose child it is
	parent *Member // that, or the nearest of its ancestors that is a member
	kids   int     // whose parent it is and which are not closed

	first int64 // cutime and cstime when its account began, ns
	last  int64 // and as they were last read
	met   int64 // what children that were met have added to that, ns
	own   int64 // its own time: booked, and before the recording
	left  int64 // when its account ended, CLOCK_MONOTONIC ns; 0: it goes on
	then  int64 // last as of when it was settled before, ns
	// thenAt is when that was, CLOCK_MONOTONIC ns.
	thenAt int64
	so     int64 // what was booked so far, ns
	book   func(ns, at int64, last bool)
}

// Family keeps account of what processes' children used that nobody met. Not safe for concurrent use.
type Family struct {
	living  map[int]*Member
	leaving []*Member // in the order in which their accounts ended
	next    int64
	pause   int64 // what lies between two readings, ns
	settled int64 // when it was tried to settle accounts, CLOCK_MONOTONIC ns
	kernel  Relatives
}

// Relatives answers what the kernel says of processes, their parents and their children. Its answers are input of the
// attribution, as events are.
type Relatives interface {
	// Relative gives what there is to know of a process; false if it is gone.
	Relative(pid int) (Relative, bool)
	// IgnoresChildren reports whether the process ignores SIGCHLD: the kernel then adds its children's time to no
	// process.
	IgnoresChildren(pid int) bool
	// ExactChildrenCPU gives the processor time of the children that a zombie has waited for, in nanoseconds; 0 if it is
	// not known to the microsecond.
	ExactChildrenCPU(pid int) int64
}

// Relative is a process as its family sees it.
type Relative struct {
	Start       uint64 // when it was started, in clock ticks after boot (proc_pid_stat(5), field 22)
	Parent      int    // the number of its parent
	ChildrenCPU int64  // cutime + cstime, ns
	Zombie      bool
}

// NewFamily gives one without members.
func NewFamily(kernel Relatives) *Family {
	return &Family{living: map[int]*Member{}, kernel: kernel}
}

// Join begins a process's account. parent is who had it when it was found, 0 if that is not known: it may have ended
// since, and been waited for. fromStart: all of its time counts. book books processor time of its children: what is
// sure while its account goes on, and the rest when it and theirs are over, also if there is none.
func (f *Family) Join(pid int, start uint64, parent int, fromStart bool, book func(ns, at int64, last bool)) *Member {
	m := &Member{pid: pid, start: start, book: book}
	f.comesFrom(m, parent)
	if f.read(m) && !fromStart {
		m.first = m.last
	}
	m.then = m.first
	f.living[pid] = m
	return m
}

// read reads what a process has got from its children, and whose child it is; false if it is gone.
func (f *Family) read(m *Member) bool {
	r, ok := f.kernel.Relative(m.pid)
	if !ok || r.Start != m.start {
		return false
	}
	m.last = max(m.last, r.ChildrenCPU)
	if r.Zombie {
		m.last = max(m.last, f.kernel.ExactChildrenCPU(m.pid))
	}
	f.comesFrom(m, r.Parent)
	return true
}

// comesFrom takes note of whose child a member is.
func (f *Family) comesFrom(m *Member, ppid int) {
	if ppid == m.ppid {
		return
	}
	m.ppid = ppid
	if p := f.waiter(ppid); p != m {
		m.moveTo(p)
	}
}

// moveTo makes a member the child of another one, nil for none.
func (m *Member) moveTo(p *Member) {
	if m.parent != nil {
		m.parent.kids--
	}
	if m.parent = p; p != nil {
		p.kids++
	}
}

// waiter gives the member that gets the time of the children of a process: itself, or the nearest of its ancestors
// that is one.
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

// Parent gives the member that gets this one's time; nil: none does.
func (m *Member) Parent() *Member { return m.parent }

// Leave takes note of the end of a member's account: so much was booked of its own or was not the recording's.
func (f *Family) Leave(m *Member, own, now int64) {
	f.read(m) // its parent may not have waited for it yet
	m.own, m.left = own, max(now, 1)
	f.leaving = append(f.leaving, m)
}

// Tick reads what has grown, from time to time, and closes those that have ended a while ago.
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
	f.closeEnded(func(m *Member) bool { return now-m.left >= closeAfter && m.kids == 0 && !f.there(m) })
	if now-f.settled >= settleAgain {
		f.settled = now
		f.settle(now)
	}
}

// settle books what members have got so far whose accounts go on, as far as it is sure that it is not of children that
// were met. The ends of those that had ended when a member was last settled are told by now. So what it had got by then
// is taken, less what children can have added whose accounts are open. Where a child is gone and its end is not told,
// it is tried again soon.
func (f *Family) settle(now int64) {
	open, unsure := map[*Member]int64{}, map[*Member]bool{}
	for _, m := range f.leaving {
		if p := m.parent; p != nil && m.left < p.thenAt+closeAfter { // others went on when that was read
			open[p] += m.own + m.total()
			unsure[p] = unsure[p] || m.kids > 0
		}
	}
	for _, m := range f.living {
		if m.left == 0 && m.parent != nil && !f.there(m) {
			unsure[m.parent] = true
		}
	}
	for _, m := range f.living {
		if m.left != 0 || unsure[m] || now-m.thenAt < settleEvery {
			continue
		}
		if ns := m.then - m.first - m.met - m.so - open[m]; ns > 0 {
			m.so += ns
			m.book(ns, now, false)
		}
		m.then, m.thenAt = m.last, now
	}
}

// total gives what a member has got from its children in all its life, as far as it is known.
func (m *Member) total() int64 { return max(m.last, m.first+m.met+m.so) }

// Close closes all members. Precondition: all have left.
func (f *Family) Close() {
	for len(f.leaving) > 0 {
		n := len(f.leaving)
		f.closeEnded(func(m *Member) bool { return m.kids == 0 })
		if len(f.leaving) == n { // it cannot be: a circle of parents
			return
		}
	}
}

// closeEnded closes the members that are ready: children before their parents.
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

// there reports whether a member's number is still its own: the process goes on, or nobody has waited for it.
func (f *Family) there(m *Member) bool {
	r, ok := f.kernel.Relative(m.pid)
	return ok && r.Start == m.start
}

// closeMember books what a member has got that nobody was seen to use, and passes its time on to who has waited for it.
func (f *Family) closeMember(m *Member) {
	f.read(m)
	total := m.total()
	m.book(total-m.first-m.met-m.so, m.left, true)
	if f.living[m.pid] == m {
		delete(f.living, m.pid)
	}
	if p := m.parent; p != nil {
		orphan := p.left != 0 && m.left > p.left+closeAfter
		if !orphan && !f.there(m) && !(p.left == 0 && f.kernel.IgnoresChildren(p.pid)) {
			p.met += m.own + total
		}
		m.moveTo(nil)
	}
}
