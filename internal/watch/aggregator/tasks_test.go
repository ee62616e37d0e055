// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unique"

	"prywalk/frames"
	"prywalk/internal/account/attribute"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// oneTask is a runtime with one task, which changes where next has a state.
type oneTask struct {
	stacks *stackBuilder
	next   string // the wait, "runs", or "": unchanged
}

func (o *oneTask) Places() (int, error) { return 1, nil }
func (o *oneTask) Poll(_, _ int, list []int) []int {
	if o.next != "" {
		list = append(list, 0)
	}
	return list
}

func (o *oneTask) readTask(int) (taskOutcome, taskKind, frames.StopReason) {
	if o.next == "runs" {
		return taskNotParked, taskKind{}, 0
	}
	o.stacks.stack = append(o.stacks.stack[:0], o.stacks.builder.Loc(&profile.Loc{Synthetic: o.next}))
	return taskWaits, taskKind{wait: o.next}, frames.StopRoot
}

type blockedTimes map[string]int64

func (b blockedTimes) Add(i profile.Interval) { b[i.Wait] += i.Wall }

func TestObservationsOfATaskStandForTheTimeSinceTheLast(t *testing.T) {
	for name, c := range map[string]struct {
		states []string // at 1000, 2000 … ns; the recording began at 100
		gapEnd ptrace.Moment
		want   blockedTimes
	}{
		"it waits from the start on":       {[]string{"a", "", ""}, 0, blockedTimes{"a": 2900}},
		"no interval while it runs":        {[]string{"a", "", "runs", "b"}, 0, blockedTimes{"a": 1900, "b": 1000}},
		"it waits in another place":        {[]string{"a", "b", ""}, 0, blockedTimes{"a": 900, "b": 2000}},
		"it changed in a gap of the ticks": {[]string{"a", "b", ""}, 1500, blockedTimes{"a": 900, "b": 1500}},
	} {
		got := blockedTimes{}
		o, b := &target.SamplingOptions{Sinks: []profile.Sink{got}}, profile.NewBuilder(profile.Meta{})
		a := New(o, b, nil, nil, target.NewCommon())
		source, p := &oneTask{stacks: a.stacks}, ofPID(4711)
		p.process.Since = 100
		poller := newTaskPoller(a, p, taskRuntime{source: source, batchSize: 1, totals: &taskTotals{}})
		for i, state := range c.states {
			if source.next = state; i == 1 {
				poller.pauseEnd = c.gapEnd
			}
			poller.readSlice(ptrace.Moment(int64(i+1) * 1000))
		}
		poller.addLast()
		if !maps.Equal(got, c.want) || poller.totals.waiting.Unread != 0 {
			t.Errorf("%s: %v, %d unread; want %v", name, got, poller.totals.waiting.Unread, c.want)
		}
	}
}

func TestTasksOfAProcessWithoutAReportedEndKeepTheirTime(t *testing.T) {
	got := blockedTimes{}
	o, b := &target.SamplingOptions{Sinks: []profile.Sink{got}}, profile.NewBuilder(profile.Meta{})
	a := New(o, b, nil, nil, target.NewCommon())
	made := ofPID(0)
	made.process.Since = 100
	p := a.states.process(made.process)
	a.beginProcess(p, p.process.Started().What.(*attribute.ProcessStarted))
	poller := newTaskPoller(a, p, taskRuntime{
		source: &oneTask{stacks: a.stacks, next: "a"}, batchSize: 1, totals: &taskTotals{},
	})
	p.tasks.all = append(p.tasks.all, poller)
	poller.readSlice(1000)
	a.CloseAccounts(2000)
	if want := (blockedTimes{"a": 900}); !maps.Equal(got, want) {
		t.Errorf("blocked %v, want %v", got, want)
	}
}

type listedTasks struct {
	interpreter

	places    []uint64
	tasks     map[uint64]managed.Task
	unchanged map[uint64]bool
}

func (l *listedTasks) ChangedTasks(places []uint64) (changed []uint64) {
	for _, place := range places {
		if !l.unchanged[place] {
			changed = append(changed, place)
		}
	}
	return changed
}

func (*listedTasks) Waiting(*managed.WaitQuery) (w managed.WaitAnswer, ok bool) { return w, false }

func (*listedTasks) Coroutines(managed.Watch) (list managed.TaskList) { return list }

func (l *listedTasks) TaskPlaces() []uint64 { return l.places }

func (l *listedTasks) TasksAt(places []uint64, _ managed.Watch, yield func(uint64, managed.Task, bool)) {
	for _, place := range places {
		yield(place, l.tasks[place], true)
	}
}

func TestPlacesOfEndedTasksAreUsedAgain(t *testing.T) {
	l := &listedTasks{}
	c := coroutinesOf(l)
	for _, step := range []struct{ now, want []uint64 }{
		{[]uint64{0x10, 0x20, 0x30}, []uint64{0x10, 0x20, 0x30}},
		{[]uint64{0x10, 0x30}, []uint64{0x10, 0, 0x30}},
		{[]uint64{0x10, 0x30, 0x40, 0x50}, []uint64{0x10, 0x40, 0x30, 0x50}},
	} {
		l.places = step.now
		n, err := c.Places()
		var got []uint64
		for _, s := range c.slots {
			got = append(got, s.task)
		}
		if n != len(step.want) || err != nil || !slices.Equal(got, step.want) {
			t.Errorf("%d places %#x, %v; want %#x", n, got, err, step.want)
		}
	}
}

func TestTasksThatTheRuntimeCallsUnchangedAreNotRead(t *testing.T) {
	task := func(function string) managed.Task {
		return managed.Task{Frames: []managed.Frame{{Function: function}}}
	}
	l := &listedTasks{places: []uint64{0x10, 0x20}, tasks: map[uint64]managed.Task{0x10: task("a"), 0x20: task("b")}}
	c := coroutinesOf(l)
	c.virtual = true // they are not read when they are first listed
	if n, err := c.Places(); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	first := c.Poll(0, 2, nil)
	l.tasks = map[uint64]managed.Task{0x10: task("c"), 0x20: task("d")}
	l.unchanged = map[uint64]bool{0x10: true}
	second := c.Poll(0, 2, nil)
	if !slices.Equal(first, []int{0, 1}) || !slices.Equal(second, []int{1}) {
		t.Errorf("changed %v, then %v", first, second)
	}
	l.unchanged[0x20] = true
	if third := c.Poll(0, 2, nil); len(third) != 0 {
		t.Errorf("then %v", third)
	}
	for i, want := range []string{"a", "d"} {
		if s := &c.slots[i]; s.ran || len(s.stack) != 1 || s.stack[0].Function != want || s.last.Frames[0].Function != want {
			t.Errorf("%d: %+v, want %s", i, s, want)
		}
	}
}

func coroutinesOf(l *listedTasks) *coroutines {
	return &coroutines{lister: l, process: ofPID(os.Getpid()), places: map[uint64]int{}, awaiters: map[uint64]awaiters{}}
}

func TestATasksStackHasThoseThatAwaitIt(t *testing.T) {
	task := func(function string, awaits ...uint64) managed.Task {
		return managed.Task{Frames: []managed.Frame{{Function: function}}, AwaitsAt: awaits}
	}
	by := func(t managed.Task, tasks ...uint64) managed.Task { t.AwaitedBy = tasks; return t }
	l := &listedTasks{places: []uint64{0x10, 0x20, 0x30}}
	c := coroutinesOf(l)
	for _, step := range []struct {
		what   string
		tasks  map[uint64]managed.Task
		stacks []string
	}{
		{"a chain", map[uint64]managed.Task{0x10: task("a"), 0x20: task("b", 0x10), 0x30: task("c", 0x20)},
			[]string{"a b c", "b c", "c"}},
		{"two await one", map[uint64]managed.Task{0x10: task("a"), 0x20: task("b", 0x10), 0x30: task("c", 0x10)},
			[]string{"a", "b", "c"}},
		{"a circle", map[uint64]managed.Task{0x10: task("a", 0x30), 0x20: task("b", 0x10), 0x30: task("c", 0x20)},
			[]string{"a b c", "b c a", "c a b"}},
		{"by their own lists",
			map[uint64]managed.Task{0x10: by(task("a"), 0x30), 0x20: by(task("b"), 0x10, 0x30), 0x30: task("c")},
			[]string{"a c", "b", "c"}},
		{"by a task that is not listed",
			map[uint64]managed.Task{0x10: by(task("a"), 0x40), 0x20: task("b"), 0x30: task("c", 0x40)},
			[]string{"a", "b", "c"}},
	} {
		l.tasks = step.tasks
		n, err := c.Places()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // what awaits a task can be read after it
			c.Poll(0, n, nil)
		}
		changed := c.Poll(0, n, nil)
		var stacks []string
		for i := range c.slots {
			var b []string
			for _, f := range c.slots[i].stack {
				b = append(b, f.Function)
			}
			stacks = append(stacks, strings.Join(b, " "))
		}
		if len(changed) != 0 || !slices.Equal(stacks, step.stacks) {
			t.Errorf("%s: %v changed again, stacks %q, want %q", step.what, changed, stacks, step.stacks)
		}
	}
	l.places = nil
	if _, err := c.Places(); err != nil || len(c.awaiters) != 0 || c.links != 0 {
		t.Errorf("%v; after the tasks' end: %v, %d links", err, c.awaiters, c.links)
	}
}

// polledTask is a scheduler with one goroutine in IO wait.
type polledTask struct {
	managed.Scheduler

	fd   int
	same bool
}

func (p *polledTask) Polled(*managed.TaskRecord, []byte) (int, bool) { return p.fd, true }
func (p *polledTask) Reread(*managed.TaskRecord) (same bool)         { return p.same }

func TestAGoroutinesOtherEndIsNamedUnlessItRanMeanwhile(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	closed, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closed.Close()
	end.Close()
	defer w.Close()
	p, e := ofPID(os.Getpid()), &waitExplainer{}
	e.add(p, &target.Thread{Proc: p.process})
	for _, c := range []struct {
		what           string
		of             *os.File
		same           bool
		named, unnamed bool
	}{
		{"an open pipe", r, true, true, false}, {"it ran", r, false, false, false},
		{"no other end", closed, true, false, true}, {"no other end, and it ran", closed, false, false, false},
	} {
		g := &goroutines{Scheduler: &polledTask{fd: int(c.of.Fd()), same: c.same}, process: p, ends: map[string]bool{}}
		link := p.waitState.files.Link(int(c.of.Fd()))
		testtargets.Eventually(t, c.what, func() bool { // where the lists may be read again, they are, once
			end, unnamed := g.otherEnd(&managed.TaskRecord{}, nil)
			return (end != "") == c.named && (unnamed == link) == c.unnamed
		})
	}
}

func TestAWaitOfAGoroutineHasTheOtherEndThatWasFoundLater(t *testing.T) {
	a := New(&target.SamplingOptions{}, profile.NewBuilder(profile.Meta{}), nil, nil, target.NewCommon())
	poller := newTaskPoller(a, ofPID(4711), taskRuntime{})
	slot := &taskSlot{kind: unique.Make(taskKind{unnamed: "socket:[7]"})}
	before := poller.interval(slot).WaitsFor
	poller.process.named = map[string]string{"socket:[7]": "socket:[7] = [8] db (pid 9)"}
	if after := poller.interval(slot).WaitsFor; before != "" || after != "socket:[7] = [8] db (pid 9)" {
		t.Errorf("%q, then %q", before, after)
	}
}

func TestAnOpenWaitOfATaskHasItsTimeBeforeACheckpoint(t *testing.T) {
	a := New(&target.SamplingOptions{}, profile.NewBuilder(profile.Meta{}), nil, nil, target.NewCommon())
	p := a.states.process(&target.Process{ID: 1, Code: ofPID(4711).process.Code})
	poller := newTaskPoller(a, p, taskRuntime{totals: &taskTotals{}})
	kind := unique.Make(taskKind{firstFunction: "f"})
	poller.slots = []taskSlot{{began: 100, from: 100, seen: 400, parked: true, kind: kind}}
	p.tasks.all = append(p.tasks.all, poller)
	poller.addIntervals()
	poller.slots[0].seen = 900
	for iv := range a.openIntervals {
		if iv.Wall != 500 || iv.Before != 300 {
			t.Errorf("%d ns, %d before a checkpoint; want 500, 300", iv.Wall, iv.Before)
		}
		return
	}
	t.Error("no open interval")
}
