// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/printable"
	"prywalk/internal/waits"
)

// waitsLine is empty if the call's name suffices.
func (t *Thread) waitsLine() string {
	if t.WaitsFor == nil {
		return ""
	}
	switch t.WaitsFor.Kind {
	case waits.None, waits.Other, waits.Stopped, waits.Signal:
		return ""
	case waits.Sleep:
		return t.WaitsFor.Sleeping()
	}
	return "waits for " + t.WaitsFor.String()
}

func (t *Thread) sayWaits(b *strings.Builder) {
	if line := t.waitsLine(); line != "" {
		printable.Fprintf(b, "      %s\n", line)
	}
}

// LocksText writes problems, then each lock with waiters and owner, then idle threads.
func LocksText(w io.Writer, l *Locks) error {
	var b strings.Builder
	for _, p := range l.Processes {
		printable.Fprintf(&b, "%s, %s\n", p.heading(), count(len(p.Threads), "thread"))
		if p.Parked != "" {
			printable.Fprintf(&b, "%s\n", p.Parked)
		}
	}
	blocked, idle := l.split()
	printable.Fprintf(&b, "%s; %s\n", l.waitersText(blocked), l.verdict())
	for _, c := range l.Deadlocks {
		l.deadlock(&b, c)
	}
	for _, c := range l.Possible {
		l.possibleDeadlock(&b, c)
	}
	l.goroutineLocksText(&b)
	for i := range l.Starved {
		l.starvedPool(&b, &l.Starved[i])
	}
	for _, m := range blocked {
		l.lock(&b, m)
	}
	l.idle(&b, idle)
	_, err := io.WriteString(w, b.String())
	return err
}

// waitersText says how many threads and goroutines wait for how many locks.
func (l *Locks) waitersText(blocked []*Lock) string {
	threads := 0
	for _, m := range blocked {
		threads += len(m.Waiters)
	}
	var parts []string
	if threads > 0 {
		parts = append(parts, fmt.Sprintf("%s for %s", waiting(threads, "thread"), count(len(blocked), "lock")))
	}
	goroutines, locks := 0, 0
	for i := range l.GoroutineLocks {
		if m := &l.GoroutineLocks[i]; m.isLock() {
			goroutines, locks = goroutines+len(m.Waiters), locks+1
		}
	}
	if goroutines > 0 {
		parts = append(parts, fmt.Sprintf("%s for %s", waiting(goroutines, "goroutine"), count(locks, "lock")))
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case len(l.Go) > 0 && l.examinesGoroutines():
		return "no thread or goroutine waits for a lock"
	}
	return "no thread waits for a lock"
}

// verdict begins with what the field of the same name in JSON says.
func (l *Locks) verdict() string {
	var parts []string
	for _, n := range []struct {
		n          int
		one, other string
	}{
		{len(l.Deadlocks), "DEADLOCK", "DEADLOCKS"},
		{len(l.Possible) + len(l.PossibleGoroutines), "POSSIBLE DEADLOCK", "POSSIBLE DEADLOCKS"},
		{len(l.Starved), "POSSIBLY STARVED POOL", "POSSIBLY STARVED POOLS"},
	} {
		switch {
		case n.n == 1:
			parts = append(parts, "1 "+n.one)
		case n.n > 1:
			parts = append(parts, strconv.Itoa(n.n)+" "+n.other)
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	if l.Verdict == VerdictNone {
		return "no deadlock"
	}
	var why []string
	if text := l.ownerless(); text != "" {
		why = append(why, text)
	}
	for _, c := range l.GIL {
		why = append(why, fmt.Sprintf("%d threads wait for each other through the GIL, which is not proven", len(c)))
	}
	if l.Unread > 0 {
		why = append(why, fmt.Sprintf("what %s for is not known (not readable, or stopped by a signal)",
			waiting(l.Unread, "thread")))
	}
	if len(l.Go) > 0 {
		why = append(why, l.goroutinesVerdict())
	}
	owned := 0
	for i := range l.Locks {
		if l.Locks[i].Owner != 0 {
			owned++
		}
	}
	if owned > 0 {
		why = append(why, "no cycle among "+count(owned, "lock")+" with a known owner")
	}
	if len(why) == 0 {
		return "deadlock unknown"
	}
	return "deadlock unknown: " + strings.Join(why, "; ")
}

// ownerless says of how many locks the owner is not known, and for how many of these a likely one is.
func (l *Locks) ownerless() string {
	left := map[int]bool{}
	for _, tid := range l.OwnerUnknown {
		left[tid] = true
	}
	likely, none := 0, 0
	for i := range l.Locks {
		m := &l.Locks[i]
		if !slices.ContainsFunc(m.Waiters, func(tid int) bool { return left[tid] }) {
			continue
		}
		for _, tid := range m.Waiters {
			delete(left, tid)
		}
		if len(m.Likely) > 0 {
			likely++
		} else {
			none++
		}
	}
	var parts []string
	if text := ofOwners(likely, none); text != "" {
		parts = append(parts, text)
	}
	if len(left) > 0 { // at no address
		parts = append(parts, "what "+waiting(len(left), "thread")+" for has no known owner")
	}
	return strings.Join(parts, "; ")
}

// ofOwners gives "1 lock has no known owner", "2 locks have a likely owner only", "1 of 3 locks has …, 2 have …"; ""
// for no locks.
func ofOwners(likely, none int) string {
	have := func(n int) string { return map[bool]string{true: "has", false: "have"}[n == 1] }
	switch {
	case likely+none == 0:
		return ""
	case likely == 0:
		return count(none, "lock") + " " + have(none) + " no known owner"
	case none == 0:
		return count(likely, "lock") + " " + have(likely) + " a likely owner only"
	}
	return fmt.Sprintf("%d of %d locks %s a likely owner only, %d %s none", likely, likely+none, have(likely), none,
		have(none))
}

// waiting gives "1 thread waits", "2 threads wait".
func waiting(n int, what string) string {
	if n == 1 {
		return count(n, what) + " waits"
	}
	return count(n, what) + " wait"
}

func (l *Locks) goroutinesVerdict() string {
	if !l.examinesGoroutines() {
		return "locks that goroutines wait for are not examined"
	}
	likely, none := 0, 0
	for i := range l.GoroutineLocks {
		switch m := &l.GoroutineLocks[i]; {
		case !m.isLock():
		case len(m.Likely) > 0:
			likely++
		default:
			none++
		}
	}
	text := "Go's locks and channels store no owner"
	if owners := ofOwners(likely, none); owners != "" {
		text += " (" + owners + ")"
	}
	return text
}

// examinesGoroutines reports whether the goroutines of all processes of Go were read.
func (l *Locks) examinesGoroutines() bool {
	return !slices.ContainsFunc(l.Processes, func(p *Process) bool {
		return slices.Contains(l.Go, p.PID) && p.GoroutineStacks == nil
	})
}

// possibleDeadlock writes a cycle with likely owners.
func (l *Locks) possibleDeadlock(b *strings.Builder, cycle []int) {
	what := count(len(cycle), "thread") + " wait for each other"
	if len(cycle) == 1 {
		what = "a thread waits for a lock that it probably holds itself"
	}
	printable.Fprintf(b, "\nPOSSIBLE DEADLOCK: %s, if the inferred owners are right\n", what)
	for i, tid := range cycle {
		t, _ := l.find(tid)
		if t == nil || t.WaitsFor == nil {
			continue
		}
		printable.Fprintf(b, "  %s\n      %s%s\n", l.name(tid), t.waitsLine(),
			printable.Raw(withSeparator(", in ", t.place())))
		for _, m := range l.Locks {
			if len(m.Likely) == 1 && slices.Contains(m.Waiters, tid) && m.Likely[0].TID == cycle[(i+1)%len(cycle)] {
				printable.Fprintf(b, "      likely held by %s: %s\n", l.name(m.Likely[0].TID), m.Likely[0].Evidence)
			}
		}
	}
}

func (l *Locks) starvedPool(b *strings.Builder, s *Starved) {
	who, wait := "all "+count(len(s.Threads), "thread"), "wait"
	if len(s.Threads) == 1 {
		who, wait = "the only thread", "waits"
	}
	printable.Fprintf(b, "\nPOSSIBLY STARVED POOL: %s of %s (%s) %s for results of tasks in %s\n", who, s.Pool, s.Loop,
		wait,
		s.WaitsIn)
	others := "no thread of another pool runs a task"
	if s.OthersWork > 0 {
		others = "running tasks of other pools, which may make these results: " + count(s.OthersWork, "thread")
	}
	printable.Fprintf(b, "  proven: no thread of this pool is free to run a task\n"+
		"  not proven: that the tasks are queued in this pool; if they are, the pool is stuck\n  %s\n", others)
	l.waiters(b, s.Threads)
}

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

// idle lists the threads that wait for work, by rule.
func (l *Locks) idle(b *strings.Builder, locks []*Lock) {
	var others []string
	rules := map[string][]int{}
	for _, p := range l.Processes {
		for i := range p.Threads {
			w := p.Threads[i].WaitsFor
			if w == nil || w.Idle == "" || w.Idle == waits.IdlePool && w.Kind.IsSynchronization() {
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
		if m.Idle == waits.IdlePool {
			printable.Fprintf(b, "  [idle: %s] %s: %s\n", m.Idle, m.label(), printable.Raw(l.names(m.Waiters)))
		}
	}
	slices.Sort(others)
	for _, rule := range others {
		printable.Fprintf(b, "  [idle: %s] %s: %s\n", rule, count(len(rules[rule]), "thread"),
			printable.Raw(l.names(rules[rule])))
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func (l *Locks) deadlock(b *strings.Builder, cycle []int) {
	what, since := count(len(cycle), "thread")+" wait for each other", ""
	if len(cycle) == 1 {
		what = "a thread waits for a lock that it holds itself"
	}
	if l.Watched > 0 {
		since = fmt.Sprintf("; none of them ran in %v", l.Watched)
	}
	printable.Fprintf(b, "\nDEADLOCK: %s%s\n", what, since)
	for _, tid := range cycle {
		t, _ := l.find(tid)
		if t == nil || t.WaitsFor == nil {
			continue
		}
		printable.Fprintf(b, "  %s\n      %s\n", l.name(tid), t.waitsLine())
		if f := innermostOwn(t); f != nil {
			printable.Fprintf(b, "      in %s\n", f.location())
		}
	}
}

func (l *Locks) lock(b *strings.Builder, m *Lock) {
	printable.Fprintf(b, "\n%s%s\n", m.label(), m.details())
	printable.Fprintf(b, "  waiting: %s\n", printable.Raw(l.names(m.Waiters)))
	l.waiters(b, m.Waiters)
	for i := range m.Likely {
		l.likelyHolder(b, m, &m.Likely[i])
	}
	switch {
	case m.Owner == 0:
		return
	case m.OwnerThread == nil:
		printable.Fprintf(b, "  held by %s\n", l.name(m.Owner))
		return
	}
	held := map[bool]string{true: "awaited:", false: "held by"}[m.Kind == waits.Join]
	printable.Fprintf(b, "  %s %s,%s\n", held, l.name(m.Owner), m.OwnerThread.doing())
	if line := m.OwnerThread.waitsLine(); line != "" {
		printable.Fprintf(b, "      %s\n", line)
	}
	if l.inCycle(m.Owner) {
		return
	}
	stack(b, m.OwnerThread, false)
}

// likelyHolder writes what a likely owner does, and its stack if it is the only one.
func (l *Locks) likelyHolder(b *strings.Builder, m *Lock, o *LikelyOwner) {
	t, _ := l.find(o.TID)
	if t == nil {
		printable.Fprintf(b, "  likely held by %s\n      %s\n", l.name(o.TID), o.Evidence)
		return
	}
	printable.Fprintf(b, "  likely held by %s,%s\n      %s\n", l.name(o.TID), t.doing(), o.Evidence)
	t.sayWaits(b)
	if len(m.Likely) == 1 && !l.inCycle(o.TID) {
		stack(b, t, false)
	}
}

// inCycle reports whether a thread is in a cycle, whose text has its place.
func (l *Locks) inCycle(tid int) bool {
	in := func(cycle []int) bool { return slices.Contains(cycle, tid) }
	return slices.ContainsFunc(l.Deadlocks, in) || slices.ContainsFunc(l.Possible, in)
}

func (m *Lock) label() string {
	if m.Symbol != "" {
		return fmt.Sprintf("%s %s (%#x)", m.Kind, m.Symbol, uint64(m.Address))
	}
	if m.Kind == waits.Join {
		return fmt.Sprintf("join of thread %d", m.Owner)
	}
	if m.Kind == waits.Semaphore {
		return m.Thing()
	}
	return fmt.Sprintf("%s %#x", m.Kind, uint64(m.Address))
}

func (m *Lock) details() string {
	text := withSeparator(", ", m.Type)
	if m.Kind == waits.Semaphore { // [waits.Wait.Thing] has it
		text = ""
	}
	switch {
	case m.Owner != 0:
	case m.OwnerGone != 0:
		text += fmt.Sprintf(", taken by thread %d, which has ended", m.OwnerGone)
	case m.Readers > 0:
		text += ", held by " + count(m.Readers, "reader")
	default:
		text += withSeparator(": ", m.Why)
	}
	return text
}

const mostNames = 8

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

// name gives a thread's number and name.
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

func (l *Locks) find(tid int) (*Thread, *Process) {
	for _, p := range l.Processes {
		if t := p.thread(tid); t != nil {
			return t, p
		}
	}
	return nil, nil
}

const mostPlaces = 5

// waiters writes the most frequent places first.
func (l *Locks) waiters(b *strings.Builder, tids []int) {
	at := map[string]int{}
	var places []string
	for _, tid := range tids {
		t, _ := l.find(tid)
		if t == nil {
			continue
		}
		place := t.place()
		if place == "" {
			continue
		}
		if at[place] == 0 {
			places = append(places, place)
		}
		at[place]++
	}
	slices.SortStableFunc(places, func(a, b string) int { return at[b] - at[a] })
	for _, place := range places[:min(len(places), mostPlaces)] {
		threads := ""
		if len(tids) > 1 {
			threads = " (" + count(at[place], "thread") + ")"
		}
		printable.Fprintf(b, "      in %s%s\n", place, threads)
	}
	if n := len(places) - mostPlaces; n > 0 {
		printable.Fprintf(b, "      and at %s\n", count(n, "more place"))
	}
}

// place gives the program's own function in which a thread waits, with line.
func (t *Thread) place() string {
	if f := innermostOwn(t); f != nil {
		return f.location()
	}
	return ""
}

// innermostOwn gives the program's innermost own function; nil for none.
func innermostOwn(t *Thread) *Frame {
	if i := waits.ApplicationFunction(t.frame); i >= 0 {
		return &t.Frames[i]
	}
	return ownManaged(t)
}

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
