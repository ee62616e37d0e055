// SPDX-License-Identifier: Apache-2.0

package attribute

const (
	// cutime is read every cutimeEvery ns while it grows, then after pauses that double up to cutimeRarely. Each
	// process adds cutimePause.
	cutimeEvery  = 10e6
	cutimeRarely = 100e6
	cutimePause  = 2e6
	// closeAfter is how long an ended process's account waits for late ends of children, ns.
	closeAfter   = 200e6
	settleEvery  = 1e9  // between two settlements of an open account, ns
	settleAgain  = 50e6 // between retries, ns
	maxAncestors = 64
)

type cutimeNode struct {
	pid          int
	start        uint64 // clock ticks after boot
	ppid         int
	parent       *cutimeNode // collects this one's time; nil if there is none
	openChildren int         // with open accounts

	// Below: ns.
	cutimeAtStart int64 // cutime + cstime when the account began
	cutime        int64 // cutime + cstime as last read
	fromObserved  int64 // added by observed children
	ownCPU        int64 // of its life; 0 while the account is open
	endedAt       int64 // CLOCK_MONOTONIC; 0: it lives
	cutimeSettled int64 // at settledAt
	settledAt     int64 // CLOCK_MONOTONIC
	attributed    int64 // passed to distribute
	distribute    func(ns, at int64, when distribution)
}

// In a cutimeTree each process collects the CPU time of its ended children (cutime + cstime). An observed child counts
// with its own time, before the recording too, and that of its children: as last read or as observed children added,
// whichever is more.
type cutimeTree struct {
	byPID      map[int]*cutimeNode // also ended processes with open accounts
	ended      []*cutimeNode       // ended processes with open accounts
	nextRead   int64               // CLOCK_MONOTONIC ns
	readPause  int64               // ns
	lastSettle int64               // CLOCK_MONOTONIC ns
	kernel     ProcSource
}

// ProcSource answers questions from /proc.
type ProcSource interface {
	// State returns false if the process is gone.
	State(pid int) (ProcState, bool)
	// IgnoresChildren reports whether the process ignores SIGCHLD.
	IgnoresChildren(pid int) bool
	// ns; 0 if not known to the µs
	ExactChildrenCPU(pid int) int64
}

// ProcState is a process's state.
type ProcState struct {
	Start       uint64 // clock ticks after boot
	Parent      int
	ChildrenCPU int64 // cutime + cstime, ns
	Zombie      bool
}

func newCutimeTree(kernel ProcSource) *cutimeTree {
	return &cutimeTree{byPID: map[int]*cutimeNode{}, kernel: kernel}
}

// join opens an account. parent is 0 if unknown; childrenFromStart: all CPU time of its children lies within the
// recording. distribute takes what is certain so far, ns, and at the end the rest, even 0.
func (t *cutimeTree) join(
	pid int, start uint64, parent int, childrenFromStart bool, distribute func(ns, at int64, when distribution),
) *cutimeNode {
	n := &cutimeNode{pid: pid, start: start, distribute: distribute}
	t.setParent(n, parent)
	if t.readNode(n) && !childrenFromStart {
		n.cutimeAtStart = n.cutime
	}
	n.cutimeSettled = n.cutimeAtStart
	t.byPID[pid] = n
	return n
}

// readNode returns false if the process is gone.
func (t *cutimeTree) readNode(n *cutimeNode) bool {
	r, ok := t.kernel.State(n.pid)
	if !ok || r.Start != n.start {
		return false
	}
	n.cutime = max(n.cutime, r.ChildrenCPU)
	if r.Zombie {
		n.cutime = max(n.cutime, t.kernel.ExactChildrenCPU(n.pid))
	}
	t.setParent(n, r.Parent)
	return true
}

// setParent also finds a parent whose account began after the child's: at the start, processes are tracked in the order
// of their numbers.
func (t *cutimeTree) setParent(n *cutimeNode, ppid int) {
	direct := t.byPID[ppid]
	if ppid == n.ppid && (direct == nil || direct == n.parent || direct.start > n.start) {
		return
	}
	n.ppid = ppid
	if p := t.nearestInTree(ppid); p != n {
		n.moveTo(p)
	}
}

func (n *cutimeNode) moveTo(p *cutimeNode) {
	if n.parent != nil {
		n.parent.openChildren--
	}
	n.parent = p
	if p != nil {
		p.openChildren++
	}
}

func (t *cutimeTree) nearestInTree(pid int) *cutimeNode {
	for range maxAncestors {
		if n := t.byPID[pid]; n != nil || pid <= 1 {
			return n
		}
		r, ok := t.kernel.State(pid)
		if !ok {
			return nil
		}
		pid = r.Parent
	}
	return nil
}

// leave ends an account. own is the process's CPU time, before the recording too, ns.
func (t *cutimeTree) leave(n *cutimeNode, own, now int64) {
	if !t.readNode(n) { // before its parent waits for it
		t.setParent(n, n.ppid)
	}
	n.ownCPU, n.endedAt = own, max(now, 1)
	t.ended = append(t.ended, n)
}

func (t *cutimeTree) tick(now int64) {
	if now < t.nextRead {
		return
	}
	t.readPause = min(max(2*t.readPause, cutimeEvery), cutimeRarely)
	for _, n := range t.byPID {
		if before := n.cutime; t.readNode(n) && n.cutime > before {
			t.readPause = cutimeEvery
		}
	}
	t.nextRead = now + t.readPause + cutimePause*int64(len(t.byPID))
	t.closeEnded(func(n *cutimeNode) bool { return now-n.endedAt >= closeAfter && n.openChildren == 0 && !t.exists(n) })
	if now-t.lastSettle >= settleAgain {
		t.lastSettle = now
		t.settle(now)
	}
}

// settle attributes the growth of cutime up to the previous settlement: each child that ended before is closed, or a
// zombie.
func (t *cutimeTree) settle(now int64) {
	unsure := t.unsureParents()
	for _, n := range t.byPID {
		if n.endedAt != 0 || unsure[n] || now-n.settledAt < settleEvery {
			continue
		}
		if ns := n.unobserved(n.cutimeSettled); ns > 0 {
			n.attributed += ns
			n.distribute(ns, now, soFar)
		}
		n.cutimeSettled, n.settledAt = n.cutime, now
	}
}

// unsureParents returns the processes with a child whose children have open accounts, or that is gone without a report.
func (t *cutimeTree) unsureParents() map[*cutimeNode]bool {
	unsure := map[*cutimeNode]bool{}
	for _, n := range t.ended {
		if p := n.parent; p != nil && n.endedAt < p.settledAt+closeAfter && n.openChildren > 0 {
			unsure[p] = true
		}
	}
	for _, n := range t.byPID {
		if n.endedAt == 0 && n.parent != nil && !t.exists(n) {
			unsure[n.parent] = true
		}
	}
	return unsure
}

func (n *cutimeNode) unobserved(cutime int64) int64 {
	return cutime - n.cutimeAtStart - n.fromObserved - n.attributed
}

// close requires that all processes have left.
func (t *cutimeTree) close() {
	t.closeEnded(func(n *cutimeNode) bool { return n.openChildren == 0 })
}

// closeEnded closes children before parents.
func (t *cutimeTree) closeEnded(ready func(*cutimeNode) bool) {
	for again := true; again; {
		again = false
		left := t.ended[:0]
		for _, n := range t.ended {
			if !ready(n) {
				left = append(left, n)
				continue
			}
			t.closeNode(n)
			again = true
		}
		clear(t.ended[len(left):])
		t.ended = left
	}
}

// exists is true for zombies.
func (t *cutimeTree) exists(n *cutimeNode) bool {
	r, ok := t.kernel.State(n.pid)
	return ok && r.Start == n.start
}

func (t *cutimeTree) closeNode(n *cutimeNode) {
	t.readNode(n)
	total := max(n.cutime, n.cutimeAtStart+n.fromObserved+n.attributed)
	n.distribute(n.unobserved(total), n.endedAt, atEnd)
	if t.byPID[n.pid] == n {
		delete(t.byPID, n.pid)
	}
	if p := n.parent; p != nil {
		if t.wasWaitedFor(n) {
			p.fromObserved += n.ownCPU + total
		}
		n.moveTo(nil)
	}
}

// wasWaitedFor reports whether the parent of an ended process has waited for it, so that the parent's cutime has its
// time.
func (t *cutimeTree) wasWaitedFor(n *cutimeNode) bool {
	p := n.parent
	if orphan := p.endedAt != 0 && n.endedAt > p.endedAt+closeAfter; orphan || t.exists(n) {
		return false
	}
	return p.endedAt != 0 || !t.kernel.IgnoresChildren(p.pid)
}
