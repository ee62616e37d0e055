// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/tabular"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/show/conclusion"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

const runtimeWaits = "threads of the run-time system [idle: " + waits.IdleRuntime + "]"

// Waiting tells what the samples of a profile do that wait.
type Waiting struct {
	idleRules   bool
	samples     []*profile.Sample // of the recording
	parts       []*profile.Sample // those that are selected, cut at the window
	wall        int               // the index of its wall time
	least       int64             // in nanoseconds, that two waits coincide
	recorded    map[int64]bool    // processes; these three are made by indexed
	inWork      map[awaited]bool  // conditions that a thread that is not idle awaits
	forOwner    map[*profile.Sample]bool
	idleCache   map[idleKey]waits.StackRule
	waiterCache map[**profile.Location]int // index of [waits.WaitingFunction]'s frame
	schedulers  schedulerTasks
	processes   map[string]string         // by [endOf]; nil until used
	responding  map[int64]map[string]bool // other ends of net/http's connections, by process; nil until used
}

// NewWaiting is for the samples of a recording.
func NewWaiting(p *profile.Profile, idleRules bool) *Waiting {
	wall, _ := TypeIndex(p, rec.TypeWall)
	return &Waiting{idleRules: idleRules, samples: p.Sample, parts: p.Sample, wall: wall,
		idleCache:   map[idleKey]waits.StackRule{},
		waiterCache: map[**profile.Location]int{}, schedulers: schedulerTasks{}, least: max(1, 2*p.Period)}
}

// Unnamed conditions, semaphores and the like are named by the function that represents the wait
// ([waits.WaitingFunction]).
func (w *Waiting) waitGroup(s *profile.Sample) string {
	wait := Label(s, rec.LabelWait)
	if wait == "" {
		return unnamedcode.Bracketed(cmp.Or(Label(s, rec.LabelState), "no state"))
	}
	idle := w.idleness(s)
	if idle.Idle == waits.IdleRuntime {
		return runtimeWaits
	}
	name := wait
	object, within := w.waitObject(s)
	if object != "" {
		name += ": " + object
	}
	if within != "" {
		name += " in " + within
	}
	if mark := idle.Mark(); mark != "" {
		name += " " + mark
	}
	return name
}

// A lock with an owner is named by its address, if that is known, other objects by kind and within, the function that
// represents the wait, a socket by its peer, a file that is looked up by its path. It is "" if that is not known.
func (w *Waiting) waitObject(s *profile.Sample) (name, within string) {
	what, database := Label(s, rec.LabelWaitsFor), LockedDatabase(s)
	switch {
	case database == waits.SQLite:
		return sqliteLock, ""
	case database != "":
		return databaseLock, ""
	case isAtFutex(s, languages.IsSafepoint):
		return safepoint, ""
	case isAtFutex(s, languages.AwaitsOperation):
		return operation, ""
	case what == string(waits.ObjectWait)+" [I" && isIn(s, languages.InitializesClass):
		return conclusion.AClass, ""
	case what == "":
		return w.response(s), ""
	case IsSynchronization(s) && w.ruleOf(s).AwaitsConnection:
		return freeConnection, ""
	case w.IsSleep(s):
		return string(waits.Sleep), ""
	}
	l := waits.ParseLabel(what)
	anonymous := l.Object == "" && (l.Kind == waits.Mutex || l.Kind == waits.RWLock || l.Kind == waits.Condition)
	switch {
	case l.Peer != "" || l.Processes != "":
		return w.otherEnd(&l), ""
	case l.File == "file" && waits.LooksUp(Label(s, rec.LabelWait)):
		return what, ""
	case anonymous, l.Kind == waits.Join: // each waiter has a word, or joins a thread, of its own
	case l.Kind.HasOwner() || !strings.HasPrefix(l.Object, "0x"):
		return l.String(), ""
	}
	name = string(l.Kind)
	if l.Type != "" {
		name = w.lockWithin(s, l.Type)
	}
	return name, w.Function(s)
}

const (
	databaseLock = "PostgreSQL's lock (see pg_blocking_pids)"
	sqliteLock   = waits.SQLite + "'s lock"
	safepoint    = "a safepoint of the JVM"
	operation    = "an operation of the JVM's VM Thread"

	freeConnection = "a free connection of the pool"
)

// LockedDatabase names the database for whose lock a sample waits ([waits.LockedDatabase]), or is "".
func LockedDatabase(s *profile.Sample) (database string) {
	call := Label(s, rec.LabelWait)
	if !strings.HasPrefix(call, "epoll_") && !strings.HasSuffix(call, "nanosleep") {
		return ""
	}
	isIn(s, func(function, mapping string) bool {
		database = waits.LockedDatabase(call, function, mapping)
		return database != ""
	})
	return database
}

func isAtFutex(s *profile.Sample, in func(function, mapping string) bool) bool {
	return Label(s, rec.LabelWait) == "futex" && isIn(s, in)
}

// isIn reports whether a function of a sample's stack is one by its name and its mapping.
func isIn(s *profile.Sample, is func(function, mapping string) bool) bool {
	return slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
		return l.Mapping != nil && slices.ContainsFunc(l.Line, func(line profile.Line) bool {
			return is(functionName(&line), l.Mapping.File)
		})
	})
}

// lockWithin names a lock by its type and the innermost function of the language, which the recorder does not know when
// it sets the label.
func (w *Waiting) lockWithin(s *profile.Sample, lockType string) string {
	return cmp.Or(w.languageWithin(s, func(l *languages.Language, function string) (string, bool) {
		if l.Waits.LockWithin == nil {
			return "", false
		}
		return l.Waits.LockWithin(lockType, function), true
	}), lockType)
}

// IsSleep reports whether a wait for a condition is a sleep in the language's terms.
func (w *Waiting) IsSleep(s *profile.Sample) bool {
	return WaitKind(s) == waits.Condition &&
		w.languageWithin(s, func(l *languages.Language, function string) (string, bool) {
			return string(waits.Sleep), l.Waits.Sleeps != nil && l.Waits.Sleeps(function)
		}) != ""
}

// languageWithin asks, from the innermost one, the language of each function that the function that represents the wait
// calls, and returns the first answer or "". answer's second result is false without an answer.
func (w *Waiting) languageWithin(
	s *profile.Sample, answer func(l *languages.Language, function string) (string, bool),
) string {
	if len(s.Location) == 0 {
		return ""
	}
	callees := w.waiterIndex(s)
	for _, f := range waitStack(s, callees)[:callees] {
		if l := languages.OfMapping(filepath.Base(f.Module)); l != nil {
			if text, ok := answer(l, f.Function); ok {
				return text
			}
		}
	}
	return ""
}

// Function returns the function that represents the wait ([waits.WaitingFunction]), or "".
func (w *Waiting) Function(s *profile.Sample) string {
	if i := w.waiterIndex(s); i >= 0 {
		return waitStack(s, i+1)[i].Function
	}
	return ""
}

func (w *Waiting) waiterIndex(s *profile.Sample) int {
	if len(s.Location) == 0 {
		return -1
	}
	i, known := w.waiterCache[&s.Location[0]]
	if !known {
		i = waits.WaitingFunction(waitStack(s, wholeStack))
		w.waiterCache[&s.Location[0]] = i
	}
	return i
}

// MostFrequentStack returns the stack with the largest value, from the function that represents the wait on
// ([waits.WaitingFunction]), its value, and the number of stacks.
func (d *Data) MostFrequentStack(samples []*profile.Sample) (stack []int32, value int64, stacks int) {
	list := byStack(samples, d.fromWaitingFunction, d.ValueIndex)
	if len(list) == 0 {
		return nil, 0, 0
	}
	best := slices.MaxFunc(list, func(a, b *Group) int { return cmp.Compare(a.Value, b.Value) })
	return slices.Clone(d.fromWaitingFunction(best.Samples[0])), best.Value, len(list)
}

// ByStack divides samples by stack.
func (d *Data) ByStack(samples []*profile.Sample) []*Group {
	return byStack(samples, d.Table.Stack, d.ValueIndex)
}

func byStack(samples []*profile.Sample, stack func(*profile.Sample) []int32, value int) (list []*Group) {
	known := map[string]*Group{}
	var key []byte
	for _, s := range samples {
		key = key[:0]
		for _, f := range stack(s) {
			key = binary.LittleEndian.AppendUint32(key, uint32(f))
		}
		g := known[string(key)]
		if g == nil {
			g = &Group{}
			known[string(key)], list = g, append(list, g)
		}
		g.Value += s.Value[value]
		g.Samples = append(g.Samples, s)
	}
	return list
}

func (d *Data) fromWaitingFunction(s *profile.Sample) []int32 {
	stack := d.Table.Stack(s)
	if i := d.waiting.waiterIndex(s); i > 0 && i < len(stack) {
		return stack[i:]
	}
	return stack
}

func (w *Waiting) lockGroup(s *profile.Sample) string {
	if what := Label(s, rec.LabelWaitsFor); what != "" && IsSynchronization(s) && !w.IsSleep(s) {
		l := waits.ParseLabel(what)
		l.Type = w.lockWithin(s, l.Type)
		return l.String()
	}
	if wait := Label(s, rec.LabelWait); IsTask(s) && strings.HasPrefix(wait, "sync.") { // a lock of Go
		return wait
	}
	return NoLock
}

// NoLock is the group of samples that wait for no lock.
const NoLock = "[no lock]"

// Waiters returns the number of threads, and the mean number of tasks at a time, as tasks have no numbers.
func (sel *Selection) Waiters(samples []*profile.Sample) string {
	threads, tasks := sel.CountWaiters(samples)
	i := slices.IndexFunc(samples, IsTask)
	if i < 0 {
		return tabular.Plural(threads, "thread")
	}
	text := Label(samples[i], rec.LabelTask) + "s"
	if tasks > 0 {
		text = "about " + tabular.Plural(tasks, Label(samples[i], rec.LabelTask)) + " at a time"
	}
	if slices.ContainsFunc(samples, func(s *profile.Sample) bool { return !IsTask(s) }) {
		text = tabular.Plural(threads, "thread") + ", " + text
	}
	return text
}

// CountWaiters returns the number of threads, and the mean number of tasks, at least 1; no tasks without samples of
// some, or if the profile has no wall time or duration.
func (sel *Selection) CountWaiters(samples []*profile.Sample) (threads, tasks int64) {
	wall, timed := sel.TypeIndex(rec.TypeWall)
	seen, sum, hasTasks := map[int64]bool{}, int64(0), false
	for _, s := range samples {
		if IsTask(s) {
			hasTasks = true
			sum += s.Value[wall]
		} else if tid := NumLabel(s, rec.LabelTID); tid != 0 {
			seen[tid] = true
		}
	}
	if hasTasks && timed && sel.Profile.DurationNanos > 0 {
		tasks = max(1, int64(math.Round(float64(sum)/float64(sel.Profile.DurationNanos))))
	}
	return int64(len(seen)), tasks
}

// IsSynchronization reports whether a sample waits for other threads.
func IsSynchronization(s *profile.Sample) bool { return WaitKind(s).IsSynchronization() }

// WaitKind returns the kind of synchronization that a sample waits for, or [waits.NoWait].
func WaitKind(s *profile.Sample) waits.Kind {
	return waits.ParseLabel(Label(s, rec.LabelWaitsFor)).Kind
}

// LockOwner returns the lock's owner, 0 if it is unknown, rec.NoOwner or rec.ParentOwner.
func LockOwner(s *profile.Sample) int64 {
	switch Label(s, rec.LabelOwner) {
	case rec.OwnerNoneText:
		return rec.NoOwner
	case rec.OwnerParentText:
		return rec.ParentOwner
	}
	return max(0, NumLabel(s, rec.LabelOwner))
}

// IdleRule returns the rule by which a sample's wait is idle, or "".
func (w *Waiting) IdleRule(s *profile.Sample) string { return w.idleness(s).Idle }

// idleness is zero also for a thread that waits for others, while one that is not idle waits for it; and a guess, where
// others wait for the same object within work.
func (w *Waiting) idleness(s *profile.Sample) waits.Idleness {
	idle := w.ruleOf(s).Idleness
	switch {
	case idle.Idle == "" && w.idleRules && isOfRuntime(s):
		return waits.Idleness{Idle: waits.IdleRuntime}
	case idle == (waits.Idleness{}):
	case !IsSynchronization(s):
	case w.indexed().forOwner[s], idle.Idle == "" && w.inWork[awaitedBy(s)]:
		return waits.Idleness{}
	}
	return idle
}

type awaited struct {
	pid    int64
	object string
}

func awaitedBy(s *profile.Sample) awaited {
	return awaited{NumLabel(s, rec.LabelPID), Label(s, rec.LabelWaitsFor)}
}

// indexed makes the maps of all samples.
func (w *Waiting) indexed() *Waiting {
	if w.recorded != nil {
		return w
	}
	w.recorded, w.inWork = map[int64]bool{}, map[awaited]bool{}
	var busy []*profile.Sample
	idle := map[int64][]*profile.Sample{} // by thread
	for _, s := range w.samples {
		w.recorded[NumLabel(s, rec.LabelPID)] = true
		l := waits.ParseLabel(Label(s, rec.LabelWaitsFor))
		if l.Kind == waits.Condition && l.Object != "" && w.ruleOf(s).Idleness == (waits.Idleness{}) {
			w.inWork[awaitedBy(s)] = true
		}
	}
	for _, s := range w.parts {
		switch tid := NumLabel(s, rec.LabelTID); {
		case !IsSynchronization(s):
		case w.ruleOf(s).Idleness != (waits.Idleness{}):
			if tid != 0 { // 0 is that of tasks, or of exited threads together
				idle[tid] = append(idle[tid], s)
			}
		case LockOwner(s) > 0 && WaitKind(s) != waits.GIL: // a thread that waits for work has released that
			busy = append(busy, s)
		}
	}
	w.clearAwaited(busy, idle)
	return w
}

// maxCoinciding bounds the idle waits that one wait is compared with.
const maxCoinciding = 1 << 12

// clearAwaited marks waits that are not idle because a busy thread depends on them: the thread is joined, or it owns a
// lock that is awaited at the same time. A marked wait for a lock is busy, too, so that its owner's waits follow.
func (w *Waiting) clearAwaited(busy []*profile.Sample, idle map[int64][]*profile.Sample) {
	w.forOwner = map[*profile.Sample]bool{}
	for _, list := range idle {
		SortByTime(list)
	}
	end := func(s *profile.Sample) int64 { return NumLabel(s, rec.LabelEnd) } // 0 means unknown
	for ; len(busy) > 0; busy = busy[1:] {
		owner, to, joins := LockOwner(busy[0]), end(busy[0]), WaitKind(busy[0]) == waits.Join
		from, of := to-busy[0].Value[w.wall], idle[owner]
		if joins {
			delete(idle, owner)
		} else {
			at := sort.Search(len(of), func(i int) bool { return end(of[i]) > from })
			of = of[at:min(at+maxCoinciding, len(of))]
		}
		for _, s := range of {
			begin := end(s) - s.Value[w.wall]
			if !joins && (to == 0 || begin >= to) {
				break
			}
			if !w.forOwner[s] && (joins || min(end(s), to)-max(begin, from) >= w.least) {
				w.forOwner[s] = true
				if LockOwner(s) > 0 {
					busy = append(busy, s)
				}
			}
		}
	}
}

func (w *Waiting) ruleOf(s *profile.Sample) waits.StackRule {
	wait := Label(s, rec.LabelWait)
	if !w.idleRules || wait == "" {
		return waits.StackRule{}
	}
	k := idleKey{wait, WaitKind(s), nil}
	if len(s.Location) > 0 {
		k.stack = &s.Location[0]
	}
	rule, known := w.idleCache[k]
	if !known {
		rule = waits.StackRuleOf(wait, k.kind, waitStack(s, wholeStack))
		w.idleCache[k] = rule
	}
	return rule
}

type idleKey struct {
	wait  string
	kind  waits.Kind
	stack **profile.Location
}

const wholeStack = math.MaxInt

// waitStack returns the functions of a stack, at least so many of the innermost as are needed, if it has them.
func waitStack(s *profile.Sample, needed int) (out []waits.Frame) {
	for _, l := range s.Location {
		if len(out) >= needed {
			break
		}
		module := ""
		if l.Mapping != nil {
			module = l.Mapping.File
		}
		before := len(out)
		for i := range l.Line {
			if name := functionName(&l.Line[i]); name != "" {
				out = append(out, waits.Frame{Function: name, Module: module, File: l.Line[i].Function.Filename})
			}
		}
		if len(out) == before {
			out = append(out, waits.Frame{Module: module})
		}
	}
	return out
}

// BlockedTotals returns the blocked time, and the idle part, if waits are shown.
func (d *Data) BlockedTotals() []string {
	if _, ok := d.TypeIndex(TypeBlocked); ok || !d.groupsWaits() {
		return nil
	}
	all, ok := d.Clocks(d.Profile.Sample)
	if !ok {
		return nil
	}
	text := "blocked " + tabular.Nanos(all.Blocked)
	idle := slices.DeleteFunc(slices.Clone(d.Profile.Sample), func(s *profile.Sample) bool {
		return d.waiting.idleness(s).Idle == ""
	})
	if c, _ := d.Clocks(idle); len(idle) > 0 {
		text += fmt.Sprintf(" (idle: %s)", tabular.Nanos(c.Blocked))
	}
	return []string{text}
}

// WaitName returns the name of a sample's group by wait.
func (d *Data) WaitName(s *profile.Sample) string { return d.groupName(s, "wait") }
