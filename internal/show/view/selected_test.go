// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	"prywalk/internal/host/filememory"
	rec "prywalk/internal/store/profile"
	"prywalk/internal/walk/waits"
)

// shop has a running thread, and others that wait for a lock, a socket and an idle worker's condition.
func shop() *recording {
	r := newTimedRecording(2 * time.Second)
	labels(r.add("serve", 1, 1e9, 2e8, 8e8), 7, 8, rec.LabelComm, "shop", rec.LabelThread, "main", rec.LabelState,
		"running")
	lock := r.addStack([]*profile.Location{r.location("__lll_lock_wait", "/lib/libc.so.6"), r.location("buy",
		"/srv/app")},
		1, 2e9, 0, 0)
	labels(lock, 7, 9, rec.LabelComm, "shop", rec.LabelThread, "worker", rec.LabelState, "sleeping", rec.LabelWait,
		"futex",
		rec.LabelWaitsFor, "mutex 0x10")
	read := r.addStack([]*profile.Location{r.location("read", "/lib/libc.so.6"), r.location("fetch", "/srv/app")}, 1,
		3e9, 0, 0)
	labels(read, 17, 18, rec.LabelComm, "proxy", rec.LabelThread, "net", rec.LabelState, "sleeping", rec.LabelWait,
		"read")
	return r
}

func TestFiltersKeepWhatMatches(t *testing.T) {
	for _, c := range []struct {
		o       Options
		value   string
		leaves  []string
		filters []string
	}{
		{Options{}, rec.TypeCPU, []string{"serve", "__lll_lock_wait", "read"}, nil},
		{Options{Thread: "^worker"}, rec.TypeCPU, []string{"__lll_lock_wait"}, []string{"--thread"}},
		{Options{Thread: "tid 18"}, rec.TypeCPU, []string{"read"}, []string{"--thread"}},
		{Options{Process: "shop"}, rec.TypeCPU, []string{"serve", "__lll_lock_wait"}, []string{"--process"}},
		{Options{State: "running"}, rec.TypeCPU, []string{"serve"}, []string{"--state"}},
		{Options{State: "sleep"}, rec.TypeWall, []string{"__lll_lock_wait", "read"}, []string{"--state"}},
		{Options{Wait: "mutex"}, rec.TypeWall, []string{"__lll_lock_wait"}, []string{"--wait"}},
		{Options{Process: "shop", Focus: "buy"}, rec.TypeCPU, []string{"__lll_lock_wait"}, []string{"--process",
			"--focus"}},
		{Options{Ignore: "libc"}, rec.TypeCPU, []string{"serve"}, []string{"--ignore"}},
	} {
		r := shop()
		r.DefaultSampleType = rec.TypeCPU
		d := r.data(t, c.o)
		var leaves []string
		for _, s := range d.Profile.Sample {
			leaves = append(leaves, d.Table.Frames[d.Table.Stack(s)[0]].Name)
		}
		if !reflect.DeepEqual(leaves, c.leaves) || !reflect.DeepEqual(d.Filters, c.filters) || d.Clock() != c.value ||
			d.Dropped != 3-len(leaves) || d.Unit != "nanoseconds" {
			t.Errorf("%+v: %q, flags %q, %s in %s, %d dropped; want %q, %q, %s", c.o, leaves, d.Filters, d.Clock(), d.Unit,
				d.Dropped, c.leaves, c.filters, c.value)
		}
	}
}

func TestOptionsThatCannotBeMetAreRefused(t *testing.T) {
	for _, c := range []struct {
		o    Options
		is   error
		want string
	}{
		{Options{Thread: "nobody", Ignore: "x"}, nil,
			`no samples left by --thread "nobody" and --ignore "x"; leave that out to see all`},
		{Options{State: "disk", To: time.Hour}, nil,
			`no samples left by --from and --to and --state "disk"; leave that out to see all`},
		{Options{From: 3 * time.Second}, nil, "no samples left: the recording is 2.00s long, and --from is 3s"},
		{Options{Thread: "a("}, ErrExpr, `--thread "a(" is not a regular expression: missing closing )`},
		{Options{Focus: "a("}, ErrExpr, `--focus "a(" is not a regular expression: missing closing )`},
		{Options{Value: "heap"}, ErrValue,
			`the profile has no values of type "heap"; it has samples, wall, runqueue, cpu, blocked`},
		{Options{By: "colour"}, nil,
			`cannot group by "colour"; choose one of thread, process, command, role, state, wait, lock, ` +
				`module, trace, label or label:NAME`},
		{Options{By: "label:"}, nil,
			`cannot group by "label:"; choose one of thread, process, command, role, state, wait, lock, ` +
				`module, trace, label or label:NAME`},
		{Options{Sort: "name"}, nil, `cannot sort by "name"; choose one of self, total`},
	} {
		r := shop()
		for _, s := range r.Sample {
			s.NumLabel[rec.LabelEnd] = []int64{start + 1}
		}
		if _, err := New(&r.Profile, c.o); err == nil || err.Error() != c.want || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%+v: %v, want %v", c.o, err, c.want)
		}
	}
	other := newRecording(rec.TypeCPU)
	other.add("work", 1)
	if _, err := New(&other.Profile, Options{Intervals: true}); err != ErrIntervals {
		t.Errorf("%v, want %v", err, ErrIntervals)
	}
	if _, err := New(&other.Profile, Options{Value: TypeBlocked}); !errors.Is(err, ErrValue) ||
		!strings.HasSuffix(err.Error(), "it has cpu") {
		t.Errorf("%v", err)
	}
	if _, err := New(&profile.Profile{}, Options{}); err == nil {
		t.Error("a profile without values is accepted")
	}
}

func TestValuesWithoutOptionAreTheFilesDefaultElseTheLast(t *testing.T) {
	for standard, want := range map[string]string{"": rec.TypeCPU, rec.TypeWall: rec.TypeWall, "other": rec.TypeCPU} {
		r := shop()
		r.DefaultSampleType = standard
		if got := r.data(t, Options{}).Clock(); got != want {
			t.Errorf("default %q: %q, want %q", standard, got, want)
		}
	}
	if got := shop().data(t, Options{By: "lock"}).Clock(); got != rec.TypeWall {
		t.Errorf("of locks: %q", got)
	}
}

func TestBlockedTimeIsWhatIsLeftOfWallTime(t *testing.T) {
	r := shop()
	r.Sample[0].Value[1] = 9e8 // less than the others, by rounding
	p := WithBlocked(&r.Profile)
	var got []int64
	for _, s := range p.Sample {
		got = append(got, s.Value[len(p.SampleType)-1])
	}
	if want := []int64{0, 2e9, 3e9}; !reflect.DeepEqual(got, want) || len(r.SampleType) != 4 ||
		len(r.Sample[0].Value) != 4 {
		t.Errorf("%v, want %v; of the original: %v", got, want, r.Sample[0].Value)
	}
	if again := WithBlocked(p); len(again.SampleType) != 5 {
		t.Errorf("%d types, want 5", len(again.SampleType))
	}
	if other := WithBlocked(&newRecording(rec.TypeCPU).Profile); len(other.SampleType) != 1 {
		t.Errorf("of another profiler: %d types, want 1", len(other.SampleType))
	}
}

func TestOneProfileIsReadByEachTypeOfValues(t *testing.T) {
	r := shop()
	all := Of(&r.Profile, NewFrameTable())
	all.conclusion, all.onlyWaits = "old", true
	wall, cpu := all.By(rec.TypeWall), all.By(rec.TypeCPU)
	if wall.Clock() != rec.TypeWall || cpu.Clock() != rec.TypeCPU || wall.Unit != "nanoseconds" ||
		wall.Precision.Total != 6e9 ||
		cpu.Precision.Total != 8e8 || wall.conclusion != "" || wall.onlyWaits {
		t.Errorf("%s of %v %s, %s of %v", wall.Clock(), wall.Precision.Total, wall.Unit, cpu.Clock(), cpu.Precision.Total)
	}
	if got := wall.groupName(r.Sample[1], "thread"); got != "worker (tid 9) of pid 7" {
		t.Errorf("%q", got)
	}
}

func TestWriteReturnsTheFirstError(t *testing.T) {
	var out bytes.Buffer
	broken := errors.New("form")
	hello := func(_ *Data, to io.Writer) error { _, err := io.WriteString(to, "hello"); return err }
	r := shop()
	if err := Write(&out, &r.Profile, Options{}, hello); err != nil || out.String() != "hello" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := Write(&out, &r.Profile, Options{}, func(*Data, io.Writer) error { return broken }); err != broken {
		t.Errorf("of the form: %v", err)
	}
	if err := Write(&out, &r.Profile, Options{Value: "heap"}, hello); !errors.Is(err, ErrValue) {
		t.Errorf("of the options: %v", err)
	}
	reader, writer := io.Pipe()
	_ = reader.CloseWithError(broken)
	if err := Write(writer, &r.Profile, Options{}, hello); err != broken {
		t.Errorf("of the writer: %v", err)
	}
	tooLarge := &filememory.Error{}
	refused := func(d *Data, to io.Writer) error {
		d.Memory.err = tooLarge
		_, err := to.Write(make([]byte, 1<<20))
		return errors.Join(errors.New("later"), err)
	}
	if err := Write(&out, &r.Profile, Options{}, refused); err != tooLarge {
		t.Errorf("of memory: %v", err)
	}
}

func TestAReportIsTruncatedAtTwiceTheMemory(t *testing.T) {
	m := &Memory{}
	var out bytes.Buffer
	w := m.writer(&out).(*limitedWriter)
	if w.remaining != 2*filememory.Process().Total() {
		t.Errorf("%d bytes, want %d", w.remaining, 2*filememory.Process().Total())
	}
	w.remaining = 5
	if n, err := w.Write([]byte("hello")); n != 5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	_, err := w.Write([]byte("!"))
	if err == nil || !strings.HasPrefix(err.Error(), "report truncated at ") || out.String() != "hello" ||
		m.Err() != err {
		t.Errorf("%q, %v", out.String(), err)
	}
	w.remaining = 5
	if _, again := w.Write([]byte("!")); again != err {
		t.Errorf("after that: %v", again)
	}
}

func TestWaitersAreThreadsAndTheMeanNumberOfTasks(t *testing.T) {
	thread := func(r *recording, tid int64) { labels(r.add("f", 1, 1e9, 0, 0), 7, tid) }
	task := func(r *recording, wall int64) {
		labels(r.add("f", 1, wall, 0, 0), 7, 0, rec.LabelTask, languages.GoroutineTask)
	}
	for _, c := range []struct {
		what     string
		add      func(r *recording)
		duration int64
		want     string
		tasks    int64
	}{
		{"threads", func(r *recording) { thread(r, 1); thread(r, 2); thread(r, 1); thread(r, 0) }, 2e9, "2 threads", 0},
		{"a thread", func(r *recording) { thread(r, 1) }, 2e9, "1 thread", 0},
		{"tasks", func(r *recording) { task(r, 2e9); task(r, 5e9) }, 2e9, "about 4 goroutines at a time", 4},
		{"a short task", func(r *recording) { task(r, 1) }, 2e9, "about 1 goroutine at a time", 1},
		{"both", func(r *recording) { thread(r, 1); task(r, 4e9) }, 2e9, "1 thread, about 2 goroutines at a time", 2},
		{"no duration", func(r *recording) { task(r, 4e9) }, 0, "goroutines", 0},
	} {
		r := newTimedRecording(time.Duration(c.duration))
		c.add(r)
		if got := r.selection().Waiters(r.Sample); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
		d := &Data{Selection: *r.selection()}
		if n, kind := d.Tasks(); n != c.tasks || (kind != "") != (strings.Contains(c.want, languages.GoroutineTask)) {
			t.Errorf("%s: %d tasks, %q; want %d", c.what, n, kind, c.tasks)
		}
	}
	r := newTimedRecording(time.Second)
	task(r, 1e9)
	labels(r.add("f", 1, 1e9, 0, 0), 7, 0, rec.LabelTask, languages.CoroutineTask)
	if n, kind := (&Data{Selection: *r.selection()}).Tasks(); n != 2 || kind != "task" {
		t.Errorf("of two kinds: %d, %q", n, kind)
	}
}

func TestOwnersOfLocks(t *testing.T) {
	for want, s := range map[int64]*profile.Sample{
		rec.NoOwner:     {Label: map[string][]string{rec.LabelOwner: {rec.OwnerNoneText}}},
		rec.ParentOwner: {Label: map[string][]string{rec.LabelOwner: {rec.OwnerParentText}}},
		9:               {NumLabel: map[string][]int64{rec.LabelOwner: {9}}},
		0:               {NumLabel: map[string][]int64{rec.LabelOwner: {-9}}},
	} {
		if got := LockOwner(s); got != want {
			t.Errorf("%v: %d, want %d", s, got, want)
		}
	}
}

func TestGroupsOfLocks(t *testing.T) {
	r := newTimedRecording(time.Second)
	for want, text := range map[string][]string{
		NoLock:                     {rec.LabelWait, "read"},
		"mutex 0x10":               {rec.LabelWait, "futex", rec.LabelWaitsFor, "mutex 0x10"},
		"sync.Mutex.Lock":          {rec.LabelWait, "sync.Mutex.Lock", rec.LabelTask, languages.GoroutineTask},
		NoLock + " of no task":     {rec.LabelWait, "sync.Mutex.Lock"},
		NoLock + " of a goroutine": {rec.LabelWait, "select", rec.LabelTask, languages.GoroutineTask},
	} {
		s := r.add("f", 1, 1, 0, 0)
		labels(s, 7, 8, text...)
		want, _, _ = strings.Cut(want, " of ")
		if got := NewWaiting(&r.Profile, true).lockGroup(s); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTheMostFrequentStackBeginsAtTheFunctionThatWaits(t *testing.T) {
	r := newTimedRecording(time.Second)
	stack := func(names ...string) (out []*profile.Location) {
		for _, name := range names {
			file := "/srv/app"
			if strings.HasPrefix(name, "_") {
				file = "/lib/libc.so.6"
			}
			out = append(out, r.location(name, file))
		}
		return out
	}
	poll := stack("__poll", "serve", "main")
	for _, s := range []*profile.Sample{r.addStack(poll, 1, 3, 0, 0), r.addStack(stack("read", "main"), 1, 5, 0, 0),
		r.addStack(stack("__poll", "serve", "main"), 1, 4, 0, 0)} {
		labels(s, 7, 8, rec.LabelState, "sleeping", rec.LabelWait, "poll")
	}
	d := r.data(t, Options{Value: rec.TypeWall, NoIdle: true})
	frames, value, n := d.MostFrequentStack(d.Profile.Sample)
	var names []string
	for _, f := range frames {
		names = append(names, d.Table.Frames[f].Name)
	}
	if want := []string{"serve", "main"}; !reflect.DeepEqual(names, want) || value != 7 || n != 2 {
		t.Errorf("%q, %d of %d stacks; want %q, 7 of 2", names, value, n, want)
	}
	if frames, value, n = d.MostFrequentStack(nil); frames != nil || value != 0 || n != 0 {
		t.Errorf("of no samples: %v, %d, %d", frames, value, n)
	}
	if list := d.ByStack(d.Profile.Sample); len(list) != 2 || list[0].Value != 7 || len(list[0].Samples) != 2 ||
		list[1].Value != 5 {
		t.Errorf("by stack: %+v", list)
	}
}

func TestTheBlockedTimeOfWaitsHasItsIdlePart(t *testing.T) {
	r := shop()
	idle := r.addStack([]*profile.Location{r.location("Monitor::wait", "/jvm/libjvm.so")}, 1, 4e9, 0, 0)
	labels(idle, 7, 11, rec.LabelState, "sleeping", rec.LabelWait, "futex", rec.LabelRole, languages.RoleCompiler)
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{By: "wait"}, []string{"blocked 9.00s (idle: 4.00s)"}},
		{Options{By: "wait", NoIdle: true}, []string{"blocked 9.00s"}},
		{Options{By: "wait", Value: TypeBlocked}, nil},
		{Options{By: "thread"}, nil},
	} {
		d := r.data(t, c.o)
		if got := d.BlockedTotals(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
	d := r.data(t, Options{By: "wait"})
	if got := d.Idleness([]*profile.Sample{idle, idle}); got.Idle != waits.IdleRuntime {
		t.Errorf("of idle samples: %+v", got)
	}
	if got := d.Idleness([]*profile.Sample{idle, r.Sample[1]}); got != (waits.Idleness{}) {
		t.Errorf("of idle and other samples: %+v", got)
	}
	groups := d.Groups("wait")
	if last := groups[len(groups)-1]; !last.IsIdle() || groups[0].IsIdle() || last.Value != 4e9 ||
		last.Name != runtimeWaits {
		t.Errorf("the last group is %+v", last)
	}
	w := NewWaiting(&r.Profile, true)
	if !w.IsApart(idle) || w.IsApart(r.Sample[0]) {
		t.Error("a compiler's thread serves requests, or main does not")
	}
}

func TestFunctionsHaveTheirFirstPlaceInTheSource(t *testing.T) {
	r := newRecording(rec.TypeCPU)
	inlined := &profile.Location{ID: 1, Line: []profile.Line{
		{Function: &profile.Function{Name: "inner", Filename: "/src/a.c", StartLine: 10}, Line: 12},
		{}, {Function: &profile.Function{Name: "outer", Filename: "/src/b.c"}, Line: 22}}}
	unused := &profile.Location{ID: 2, Line: inlined.Line[:1]}
	r.Location = []*profile.Location{unused, inlined}
	r.addStack(r.Location[1:], 1)
	d := r.data(t, Options{})
	stack := d.Table.Stack(d.Profile.Sample[0])
	want := map[int32]Place{stack[0]: {"/src/a.c", 10}, stack[1]: {"/src/b.c", 22}}
	if got := d.Places(); len(stack) != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	table := d.Table.WithLines()
	stack = table.Stack(d.Profile.Sample[0])
	if got := table.Frames[stack[1]]; got.File != "/src/b.c" || got.Line != 22 {
		t.Errorf("by line: %+v", got)
	}
}

func TestNamelessCodeHasItsOffsetInTheFile(t *testing.T) {
	m := &profile.Mapping{Start: 0x1000, Limit: 0x2000, Offset: 0x300, File: "/lib/libz.so"}
	for address, want := range map[uint64]string{0xfff: "0xfff [libz.so]", 0x1000: "0x300 [libz.so]",
		0x1fff: "0x12ff [libz.so]",
		0x2000: "0x2000 [libz.so]"} {
		table := NewFrameTable().WithLines()
		stack := table.Stack(&profile.Sample{Location: []*profile.Location{{Address: address, Mapping: m}}})
		if got := table.Frames[stack[0]].Name; got != want {
			t.Errorf("%#x: %q, want %q", address, got, want)
		}
	}
}
