// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"prywalk/internal/languages"
	"prywalk/internal/printable"
	"prywalk/internal/refusal"
	"prywalk/internal/waits"
)

// LocksText writes problems, locks with waiters and owner, idle threads.
func LocksText(w io.Writer, l *Locks) error {
	var b strings.Builder
	for _, p := range l.Processes {
		p.writeHeading(&b, count(len(p.Threads), "thread"))
		if p.Parked != "" {
			printable.Fprintf(&b, "%s\n", p.Parked)
		}
	}
	blocked, idle := l.byIdleness()
	printable.Fprintf(&b, "%s; %s\n", l.waitersText(blocked), l.verdictText())
	for _, c := range l.Deadlocks {
		l.writeDeadlock(&b, c)
	}
	for _, c := range l.Possible {
		l.writePossibleDeadlock(&b, c)
	}
	l.writeGoroutineLocks(&b)
	for i := range l.Starved {
		l.writeStarvedPool(&b, &l.Starved[i])
	}
	for _, m := range blocked {
		l.writeLock(&b, m)
	}
	l.writeIdle(&b, idle)
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *Locks) writePossibleDeadlock(b *strings.Builder, cycle []int) {
	what := count(len(cycle), "thread") + " wait for each other"
	if len(cycle) == 1 {
		what = "a thread waits for a lock that it probably holds itself"
	}
	printable.Fprintf(b, "\nPOSSIBLE DEADLOCK: %s, if the inferred owners are right\n", what)
	for i, tid := range cycle {
		t, _ := l.thread(tid)
		if t == nil || t.WaitsFor == nil {
			continue
		}
		printable.Fprintf(b, "  %s\n      %s%s\n", l.name(tid), t.waitsLine(),
			printable.Raw(withSeparator(", in ", t.ownPlace())))
		for _, m := range l.Locks {
			if len(m.Likely) == 1 && slices.Contains(m.Waiters, tid) && m.Likely[0].TID == cycle[(i+1)%len(cycle)] {
				printable.Fprintf(b, "      likely held by %s: %s\n", l.name(m.Likely[0].TID), m.Likely[0].Evidence)
			}
		}
	}
}

func (l *Locks) writeStarvedPool(b *strings.Builder, s *Starved) {
	who, wait := "all "+count(len(s.Threads), "thread"), "wait"
	if len(s.Threads) == 1 {
		who, wait = "the only thread", "waits"
	}
	unsampled := l.unsampledOf(s.PID)
	if unsampled > 0 {
		who = count(len(s.Threads), "thread")
	}
	printable.Fprintf(b, "\nPOSSIBLY STARVED POOL: %s of %s (%s) %s for results of tasks in %s\n", who, s.Pool, s.Loop,
		wait, s.WaitsIn)
	l.writePlaces(b, s.Threads)
	others := "no thread of another pool runs a task"
	if s.OthersWork > 0 {
		others = "running tasks of other pools, which may make these results: " + count(s.OthersWork, "thread")
	}
	printable.Fprintf(b, "  proven: none of these threads is free to run a task\n"+
		"  not proven: that the tasks are queued in this pool; if they are, the pool is stuck\n  %s\n", others)
	if unsampled > 0 {
		printable.Fprintf(b, "  not known: whether %s that could not be sampled %s to it\n", count(unsampled, "thread"),
			pluralForm(unsampled, "belongs", "belong"))
	}
}

// unsampledOf counts a process's live threads that were not sampled.
func (l *Locks) unsampledOf(pid int) (n int) {
	for _, p := range l.Processes {
		for reason, failed := range p.Failed {
			if p.PID == pid && reason != refusal.Exited.Word() && reason != refusal.Zombie.Word() {
				n += int(failed)
			}
		}
	}
	return n
}

func (l *Locks) byIdleness() (blocked, idle []*Lock) {
	for i := range l.Locks {
		if m := &l.Locks[i]; len(m.blocked()) > 0 {
			blocked = append(blocked, m)
		} else {
			idle = append(idle, m)
		}
	}
	return blocked, idle
}

func (l *Locks) writeIdle(b *strings.Builder, locks []*Lock) {
	locks = slices.DeleteFunc(locks, func(m *Lock) bool { return m.Idle != waits.IdlePool })
	atLock := map[int]bool{}
	for _, m := range locks {
		for _, tid := range m.Waiters {
			atLock[tid] = true
		}
	}
	var others []string
	rules := map[string][]int{}
	for _, p := range l.Processes {
		for i := range p.Threads {
			w := p.Threads[i].WaitsFor
			if w == nil || w.Idle == "" || atLock[p.Threads[i].TID] {
				continue
			}
			if rules[w.Idle] == nil {
				others = append(others, w.Idle)
			}
			rules[w.Idle] = append(rules[w.Idle], p.Threads[i].TID)
		}
	}
	if len(locks) == 0 && len(others) == 0 {
		return
	}
	printable.Fprintf(b, "\nidle, by rule:\n")
	for _, m := range locks {
		printable.Fprintf(b, "  [idle: %s] %s: %s\n", m.Idle, m.label(), printable.Raw(l.names(m.Waiters)))
	}
	slices.Sort(others)
	for _, rule := range others {
		printable.Fprintf(b, "  [idle: %s] %s: %s\n", rule, count(len(rules[rule]), "thread"),
			printable.Raw(l.names(rules[rule])))
	}
}

func (l *Locks) writeDeadlock(b *strings.Builder, cycle []int) {
	what, since := count(len(cycle), "thread")+" wait for each other", ""
	if len(cycle) == 1 {
		what = "a thread waits for a lock that it holds itself"
	}
	if l.Watched > 0 {
		since = fmt.Sprintf("; none of them ran in %v", l.Watched)
	}
	printable.Fprintf(b, "\nDEADLOCK: %s%s\n", what, since)
	for _, tid := range cycle {
		t, _ := l.thread(tid)
		if t == nil || t.WaitsFor == nil {
			continue
		}
		printable.Fprintf(b, "  %s\n      %s\n", l.name(tid), t.waitsLine())
		if f := innermostOwn(t); f != nil {
			printable.Fprintf(b, "      in %s\n", f.location())
		}
	}
}

func (l *Locks) writeLock(b *strings.Builder, m *Lock) {
	printable.Fprintf(b, "\n%s%s\n", m.label(), m.details())
	waiters := m.blocked()
	printable.Fprintf(b, "  waiting: %s\n", printable.Raw(l.names(waiters)))
	l.writePlaces(b, waiters)
	for i := range m.Likely {
		l.writeLikelyOwner(b, m, &m.Likely[i])
	}
	if m.Type == languages.PythonLock && m.Owner == 0 && len(m.Likely) == 0 {
		b.WriteString("  owner not known: no stack shows a \"with\" of it (acquire() leaves no trace, nor does a " +
			"thread that ran while it was read: dump again; nor CPython before 3.11 or after 3.13)\n")
	}
	switch {
	case m.Owner == 0:
		return
	case m.OwnerThread == nil:
		printable.Fprintf(b, "  held by %s, whose stack is not known\n", l.name(m.Owner))
		return
	}
	held := map[bool]string{true: "awaited:", false: "held by"}[m.Kind == waits.Join]
	printable.Fprintf(b, "  %s %s,%s\n", held, l.name(m.Owner), m.OwnerThread.stateText())
	if line := m.OwnerThread.waitsLine(); line != "" {
		printable.Fprintf(b, "      %s\n", line)
	}
	if l.inCycle(m.Owner) {
		return
	}
	writeStack(b, m.OwnerThread, false)
}

// writeLikelyOwner writes the stack of an only likely owner that is in no cycle.
func (l *Locks) writeLikelyOwner(b *strings.Builder, m *Lock, o *LikelyOwner) {
	t, _ := l.thread(o.TID)
	if t == nil {
		printable.Fprintf(b, "  likely held by %s\n      %s\n", l.name(o.TID), o.Evidence)
		return
	}
	printable.Fprintf(b, "  likely held by %s,%s\n      %s\n", l.name(o.TID), t.stateText(), o.Evidence)
	t.writeWait(b)
	if len(m.Likely) == 1 && !l.inCycle(o.TID) {
		writeStack(b, t, false)
	}
}

func (l *Locks) inCycle(tid int) bool {
	in := func(cycle []int) bool { return slices.Contains(cycle, tid) }
	return slices.ContainsFunc(l.Deadlocks, in) || slices.ContainsFunc(l.Possible, in)
}

func (lock *Lock) label() string {
	if lock.Symbol != "" {
		return fmt.Sprintf("%s %s (%#x)", lock.Kind, lock.Symbol, uint64(lock.Address))
	}
	if lock.Kind == waits.Join && lock.Owner != 0 {
		return fmt.Sprintf("join of thread %d", lock.Owner)
	}
	if lock.Kind == waits.Semaphore || lock.Address == 0 {
		return lock.Object()
	}
	return fmt.Sprintf("%s %#x", lock.Kind, uint64(lock.Address))
}

func (lock *Lock) details() string {
	text := withSeparator(", ", lock.Type)
	if lock.Kind == waits.Semaphore {
		text = ""
	}
	switch {
	case lock.Owner != 0:
	case lock.OwnerProcess != 0:
		text += ", " + lock.OwnerProcessText()
	case lock.OwnerGone != 0:
		text += ", " + lock.EndedOwnerText()
	case lock.Readers > 0:
		text += ", held by " + count(lock.Readers, "reader")
	case lock.Why == "" && lock.Free:
		text += ": free when it was read"
	default:
		text += withSeparator(": ", lock.Why)
	}
	return text
}

func (l *Locks) names(tids []int) string {
	var list []string
	for _, tid := range tids[:min(len(tids), maxShown)] {
		list = append(list, l.name(tid))
	}
	text := strings.Join(list, ", ")
	if n := len(tids) - maxShown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func (l *Locks) name(tid int) string {
	t, p := l.thread(tid)
	if t == nil {
		return fmt.Sprintf("thread %d", tid)
	}
	name := printable.Sprintf("%d %s", tid, t.shownName())
	if len(l.Processes) > 1 {
		name += fmt.Sprintf(" of process %d", p.PID)
	}
	return name
}

func (l *Locks) thread(tid int) (*Thread, *Process) {
	for _, p := range l.Processes {
		if t := p.thread(tid); t != nil {
			return t, p
		}
	}
	return nil, nil
}
