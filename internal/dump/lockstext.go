package dump

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/printable"
	"prywalk/internal/waits"
)

// waitsLine says in a line what a thread waits for, "" where the name of its call says as much.
func (t *Thread) waitsLine() string {
	if t.WaitsFor == nil {
		return ""
	}
	switch t.WaitsFor.Kind {
	case waits.None, waits.Other, waits.Stopped, waits.Signal:
		return ""
	case waits.Sleep:
		return "sleeps " + cmp.Or(t.WaitsFor.Until, "for a time that is not known")
	}
	return "waits for " + t.WaitsFor.String()
}

// sayWaits writes that line.
func (t *Thread) sayWaits(b *strings.Builder) {
	if line := t.waitsLine(); line != "" {
		printable.Fprintf(b, "      %s\n", line)
	}
}

// LocksText writes the locks for people: first what is wrong, then each lock with who waits and who holds it.
func LocksText(w io.Writer, l *Locks) error {
	var b strings.Builder
	threads := 0
	for _, p := range l.Processes {
		printable.Fprintf(&b, "process %d %s, %s\n", p.PID, p.Name, count(len(p.Threads), "thread"))
	}
	for i := range l.Locks {
		if l.Locks[i].Idle == "" {
			threads += len(l.Locks[i].Waiters)
		}
	}
	blocked, idle := l.split()
	wait := map[bool]string{true: "waits", false: "wait"}[threads == 1]
	printable.Fprintf(&b, "%s %s for %s; %s\n", count(threads, "thread"), wait, count(len(blocked), "lock"), l.verdict())
	for _, c := range l.Deadlocks {
		l.deadlock(&b, c)
	}
	for _, m := range blocked {
		l.lock(&b, m)
	}
	if len(idle) > 0 {
		printable.Fprintf(&b, "\nidle, by the rule %s:\n", waits.IdlePool)
	}
	for _, m := range idle {
		printable.Fprintf(&b, "  %s: %s\n", m.thing(), printable.Raw(l.names(m.Waiters)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// verdict is what the reader wants to know first.
func (l *Locks) verdict() string {
	switch n := len(l.Deadlocks); n {
	case 0:
		return "no deadlock"
	case 1:
		return "1 DEADLOCK"
	default:
		return fmt.Sprintf("%d DEADLOCKS", n)
	}
}

// split tells locks whose waiters are blocked from those where they wait for work.
func (l *Locks) split() (blocked, idle []*Lock) {
	for i := range l.Locks {
		if m := &l.Locks[i]; m.Idle == "" {
			blocked = append(blocked, m)
		} else {
			idle = append(idle, m)
		}
	}
	return blocked, idle
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// deadlock writes one cycle, a line for each thread in the order in which they wait.
func (l *Locks) deadlock(b *strings.Builder, cycle []int) {
	what, since := count(len(cycle), "thread")+" wait for each other", ""
	if len(cycle) == 1 {
		what = "a thread waits for a lock that it holds itself"
	}
	if l.Watched > 0 {
		since = fmt.Sprintf("; nobody of them ran in %v", l.Watched)
	}
	printable.Fprintf(b, "\nDEADLOCK: %s%s\n", what, since)
	for _, tid := range cycle {
		t, _ := l.find(tid)
		if t == nil || t.WaitsFor == nil {
			continue
		}
		printable.Fprintf(b, "  %s\n      %s\n", l.name(tid), t.waitsLine())
		if f := own(t); f != nil {
			printable.Fprintf(b, "      in %s\n", f.location())
		}
	}
}

// lock writes one lock: what it is, who waits, who holds it and where.
func (l *Locks) lock(b *strings.Builder, m *Lock) {
	printable.Fprintf(b, "\n%s%s\n", m.thing(), m.details())
	printable.Fprintf(b, "  waiting: %s\n", printable.Raw(l.names(m.Waiters)))
	switch {
	case m.Owner == 0:
		return
	case m.OwnerThread == nil:
		printable.Fprintf(b, "  held by %s\n", l.name(m.Owner))
		return
	}
	held := map[bool]string{true: "which is", false: "held by"}[m.Kind == waits.Join]
	printable.Fprintf(b, "  %s %s,%s\n", held, l.name(m.Owner), m.OwnerThread.doing())
	if line := m.OwnerThread.waitsLine(); line != "" {
		printable.Fprintf(b, "      %s\n", line)
	}
	stack(b, m.OwnerThread, false)
}

// thing names the lock, with its address where it has another name.
func (m *Lock) thing() string {
	if m.Symbol != "" {
		return fmt.Sprintf("%s %s (%#x)", m.Kind, m.Symbol, uint64(m.Address))
	}
	if m.Kind == waits.Join {
		return fmt.Sprintf("the end of thread %d", m.Owner)
	}
	return fmt.Sprintf("%s %#x", m.Kind, uint64(m.Address))
}

// details say what kind of lock it is, and why nobody is said to hold it.
func (m *Lock) details() string {
	text := before(", ", m.Type)
	switch {
	case m.Owner != 0:
	case m.OwnerGone != 0:
		text += fmt.Sprintf(", taken by a thread %d that is not there any more", m.OwnerGone)
	case m.Readers > 0:
		text += ", held by " + count(m.Readers, "reader")
	default:
		text += before(", ", m.Why)
	}
	return text
}

// mostNames is how many waiters a line names.
const mostNames = 8

// names lists threads.
func (l *Locks) names(tids []int) string {
	var list []string
	for _, tid := range tids[:min(len(tids), mostNames)] {
		list = append(list, l.name(tid))
	}
	text := strings.Join(list, ", ")
	if n := len(tids) - mostNames; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// name is a thread's number and name.
func (l *Locks) name(tid int) string {
	t, p := l.find(tid)
	if t == nil {
		return fmt.Sprintf("thread %d", tid)
	}
	name := printable.Sprintf("%d %s", tid, t.shownName())
	if len(l.Processes) > 1 {
		name += fmt.Sprintf(" of process %d", p.PID)
	}
	return name
}

// find gives a thread and its process.
func (l *Locks) find(tid int) (*Thread, *Process) {
	for _, p := range l.Processes {
		if t := p.thread(tid); t != nil {
			return t, p
		}
	}
	return nil, nil
}

// libraries are parts of the names of files whose functions are not the program's.
var libraries = []string{"/libc.so", "/libc-", "/libpthread", "/libstdc++", "/libc++", "/ld-", "musl", "[vdso]"}

// own gives the innermost function that is the program's own; nil if there is none.
func own(t *Thread) *Frame {
	if f := ownManaged(t); f != nil {
		return f
	}
	for i := range t.Frames {
		f := &t.Frames[i]
		library := slices.ContainsFunc(libraries, func(part string) bool { return strings.Contains(f.Module, part) })
		if !library && f.Function != "" && f.Method != "" && !strings.HasPrefix(f.Function, "std::") {
			return f
		}
	}
	return nil
}

// location is a function, and the line if it is known.
func (f *Frame) location() string {
	text := f.Function
	if f.File != "" {
		text += " at " + f.File[strings.LastIndexByte(f.File, '/')+1:]
		if f.Line > 0 {
			text += ":" + strconv.Itoa(f.Line)
		}
	}
	return text
}
