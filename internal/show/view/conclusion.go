// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/languages"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/conclusion"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// Conclusion says in one line where the selection's time is, of all clocks of a recording; "" without time.
func (d *Data) Conclusion() string {
	if d.conclusion == "" {
		s := d.conclude()
		d.conclusion, d.onlyWaits = s.Sentence(), s.OnlyWaits
	}
	return d.conclusion
}

// OnlyWaits reports whether the conclusion is about waits within work, and hardly any CPU time.
func (d *Data) OnlyWaits() bool { return d.Conclusion() != "" && d.onlyWaits }

func (d *Data) conclude() *conclusion.Summary {
	s := conclusion.New(d.Profile.DurationNanos, d.Profile.Comments)
	s.Part = len(d.Filters) > 0
	clocks, recorded := ClocksOf(d.Profile)
	if !recorded {
		s.OnlyValues = d.Clock()
	}
	count, counted := d.sampleCountIndex()
	names := &ownNames{s, d.Table, d.programModule(), map[int32]int32{}, map[int32]string{}}
	if recorded {
		s.Bursts = d.burstsOf
	}
	ofTokio := func(n int32) bool { return languages.Rust.Schedules("", d.Table.Frames[n].Name, "", "") }
	serves := func(n int32) bool { return languages.ServesRequest(d.Table.Frames[n].Name) }
	var x conclusion.Sample
	for _, p := range d.Profile.Sample {
		x = conclusion.Sample{
			Stack:  x.Stack[:0],
			Thread: conclusion.Thread{PID: NumLabel(p, rec.LabelPID), TID: NumLabel(p, rec.LabelTID)},
			Name:   cmp.Or(Label(p, rec.LabelThread), Label(p, rec.LabelComm)), Task: Label(p, rec.LabelTask),
			CPU: p.Value[d.ValueIndex], Stopped: Label(p, rec.LabelState) == "stopped",
		}
		if recorded {
			x.CPU, x.Queue, x.Blocked = p.Value[clocks.CPU], p.Value[clocks.RunQueue], max(0, clocks.Blocked(p))
		}
		if counted {
			x.Ticks = p.Value[count]
		}
		if x.Thread.TID == 0 {
			x.Program, x.ShortLived = programOfChildren(x.Name)
		}
		waiter := 0
		if x.Blocked > 0 {
			rule := d.waiting.ruleOf(p)
			x.Wait, x.Pooled, x.AwaitsResult = d.concludedWait(p), rule.Pooled, rule.AwaitsResult
			x.HoldsLoop, waiter = d.holdsLoop(p), d.waiting.waiterIndex(p)
		}
		stack := d.Table.Stack(p)
		x.Serves = x.Task == languages.GoroutineTask && slices.ContainsFunc(stack, serves)
		if x.CPU > 0 {
			x.Collector = names.collectorOf(p, stack)
			if leaf := &d.Table.Frames[stack[0]]; d.OnlyBlocked() && len(stack) == 1 && leaf.Synthetic() {
				x.Collector = leaf.Name // in place of a lock's owner
			}
		}
		if s.Unseen == "" && x.CPU+x.Queue+x.Blocked > 0 && slices.ContainsFunc(stack, ofTokio) {
			s.Unseen = languages.Rust.Unthreaded
		}
		names.set(&x, stack, waiter)
		s.Add(&x)
	}
	return s
}

// programOfChildren parses a name by [attribute.ChildrenOf]; of [attribute.ChildrenThread], the program is "".
func programOfChildren(thread string) (program string, ok bool) {
	program, ok = strings.CutPrefix(thread, strings.TrimSuffix(attribute.ChildrenThread, "]"))
	return strings.TrimPrefix(strings.TrimSuffix(program, "]"), ": "), ok
}

func (d *Data) holdsLoop(p *profile.Sample) bool {
	javaScript := func(l *profile.Location) bool { return l.Mapping != nil && languages.IsJavaScript(l.Mapping.File) }
	if NumLabel(p, rec.LabelPID) == NumLabel(p, rec.LabelTID) && slices.ContainsFunc(p.Location, javaScript) {
		return true
	}
	ofNetty := func(n int32) bool { return languages.IsNettyTurn(d.Table.Frames[n].Name) }
	if slices.ContainsFunc(d.Table.Stack(p), ofNetty) {
		call := Label(p, rec.LabelWait)
		return !strings.HasPrefix(call, "epoll_") && call != "io_uring_enter" // what the loop itself waits in
	}
	turns := func(n int32) bool {
		f := &d.Table.Frames[n]
		return (f.Library || f.Installed) && languages.IsLoopTurn(f.Name)
	}
	return slices.ContainsFunc(d.Table.Stack(p), turns) && languages.HoldsEventLoop(functionsOf(p))
}

// burstsOf describes the bursts of a wait.
func (d *Data) burstsOf(call, object string) string {
	var samples []*profile.Sample
	for _, s := range d.Profile.Sample {
		if Label(s, rec.LabelWait) == call {
			if w := d.concludedWait(s); w.Object == object && w.Idle == "" {
				samples = append(samples, s)
			}
		}
	}
	x := d.AtOnce(samples)
	if x == nil || len(x.Bursts) == 0 {
		return ""
	}
	return fmt.Sprintf("up to %d at once, in %s", x.Most, tabular.Plural(int64(len(x.Bursts)), "burst"))
}

func (d *Data) concludedWait(s *profile.Sample) conclusion.Wait {
	owner := LockOwner(s)
	w := conclusion.Wait{Call: Label(s, rec.LabelWait), Kind: WaitKind(s), Owner: owner,
		Inherited: owner == rec.ParentOwner, Idleness: d.waiting.idleness(s)}
	w.Object, _ = d.waiting.waitObject(s)
	switch {
	case w.Object == databaseLock, w.Object == sqliteLock:
		w.Kind = waits.DatabaseLock
	case w.Object == safepoint, w.Object == operation:
		w.Kind, w.Owner = "", 0
	case w.Kind == waits.Child && d.waiting.indexed().recorded[w.Owner]: // its own time says more
		w.Kind = waits.NoWait
	}
	return w
}

// ownNames finds the program's own functions of stacks for a conclusion.
type ownNames struct {
	summary *conclusion.Summary
	stacks  *FrameTable
	program string           // the module whose functions are named without it
	numbers map[int32]int32  // by frame
	collect map[int32]string // collectors by frame
}

// collectorOf names the garbage collector or compiler that runs in a sample, or is "".
func (o *ownNames) collectorOf(s *profile.Sample, stack []int32) string {
	if name := languages.CollectorOfRole[Label(s, rec.LabelRole)]; name != "" {
		if isIn(s, languages.IsFailedAllocation) && isIn(s, languages.IsFullCollection) {
			name = languages.FullCollections
		}
		return name
	}
	for _, n := range slices.Backward(stack) {
		name, known := o.collect[n]
		if !known {
			name = languages.Collector(o.stacks.Frames[n].Name, o.stacks.Frames[n].Module)
			o.collect[n] = name
		}
		if name != "" {
			return name
		}
	}
	return ""
}

// set sets what a sample's stack says. waiter is the index of the function that represents its wait, or 0.
func (o *ownNames) set(x *conclusion.Sample, stack []int32, waiter int) {
	frame := func(n int32) *Frame { return &o.stacks.Frames[n] }
	first, rank := o.stacks.OwnFrame(stack)
	x.Own = rank
	if rank == 0 && waiter > 0 && waiter < len(stack) {
		first = waiter
	}
	if x.CPU > 0 {
		x.Inner = o.inner(stack[:first])
	}
	if first > 0 && rank == ownScript {
		if called := o.stacks.calledAs(stack[:first], o.program); called != o.program {
			x.Library = called
		}
	}
	x.Wait.In = o.waitIn(x, stack[:first], waiter)
	switch leaf := frame(stack[0]); leaf.Name {
	case attribute.RanBetweenTicks, attribute.NotObserved, attribute.ExitedUnseen, attribute.ShortLivedChildren:
		x.Unexplained = leaf.Synthetic()
	}
	x.Incomplete = frame(stack[len(stack)-1]).incomplete()
	for i, n := range stack[first:] {
		if f := frame(n); i == 0 && !f.Synthetic() || rank > 1 && f.ownRank() == rank {
			x.Stack = append(x.Stack, o.number(n, f))
		}
	}
}

// waitIn names the function of a library in which the program waits; called are the functions inward of the program's.
func (o *ownNames) waitIn(x *conclusion.Sample, called []int32, waiter int) string {
	frame := func(i int) *Frame { return &o.stacks.Frames[called[i]] }
	switch last := len(called) - 1; {
	case x.Wait.IsSleep():
		if waiter < 0 || waiter > last || !frame(waiter).isFunction() || frame(waiter).LibC {
			return "" // the language's own sleep says nothing
		}
		return frame(waiter).qualified()
	case last < 0:
		return ""
	case x.Own == ownScript:
		isLambda := func(n int32) bool { return languages.IsLambda(o.stacks.Frames[n].Name) }
		if lambda := slices.IndexFunc(called, isLambda); lambda > 0 { // it calls what waits
			last = lambda - 1
		}
		return frame(last).waitedIn(x)
	case x.Wait.Object == "" || x.Wait.Object == string(x.Wait.Kind):
		return frame(last).calledLibrary(x)
	}
	return ""
}

// inner names what a function of the program spends its time in: the function of libc that it or a library called, or
// page faults; else it is "".
func (o *ownNames) inner(within []int32) (name string) {
	for _, n := range within {
		switch f := &o.stacks.Frames[n]; {
		case f.Module == KernelModule && (f.Name == "handle_mm_fault" || f.Name == "exc_page_fault"):
			return "page faults"
		case f.Name == "_Unwind_RaiseException":
			return "exceptions"
		case f.LibC && f.isFunction():
			name = f.Name
		}
	}
	return name
}

// waitedIn names the function of a language's library whose own objects threads wait for, such as a queue's conditions.
func (f *Frame) waitedIn(x *conclusion.Sample) string {
	w := &x.Wait
	anonymous := w.Kind == waits.Park || w.Kind == waits.Condition || strings.HasSuffix(w.Object, ".Condition") ||
		x.Task == languages.VirtualThreadTask && w.Object == ""
	if !anonymous || !f.Script || !f.Library && !f.Installed || f.IsBuiltIn() || !f.isFunction() {
		return ""
	}
	return f.qualified()
}

// qualified has a language's module, but not Java's package.
func (f *Frame) qualified() string {
	name, ofJava := strings.CutPrefix(f.Name, f.Module+".")
	if ofJava || !f.Script {
		return name
	}
	return f.Module + "." + name
}

// calledLibrary names a compiled library's function that the program called and that waits for what has no name,
// "net/http.Get". It returns "" if there is none, or one of the language's own for waiting.
func (f *Frame) calledLibrary(x *conclusion.Sample) string {
	standard := x.Task == languages.GoroutineTask && f.Library && !strings.HasPrefix(f.Name, "runtime.")
	if f.Script || !f.isFunction() || strings.HasPrefix(x.Wait.Call, "sync.") || !standard && f.ownRank() != ownInstalled {
		return ""
	}
	return f.Name
}

func (o *ownNames) number(n int32, f *Frame) int32 {
	known, ok := o.numbers[n]
	if !ok {
		name := conclusion.Function{Name: f.Name, Module: f.Module}
		if f.Module == o.program && !f.Nameless {
			name.Module = ""
		}
		known = o.summary.Number(name)
		o.numbers[n] = known
	}
	return known
}
