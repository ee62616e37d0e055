// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/languages"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/schema"
	"prywalk/internal/base/tabular"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/host/filememory"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// Origin is when, where and by what a dump was made.
type Origin struct {
	schema.Head
	// Time is the start of the dump. A core has none, nor a host.
	Time time.Time `json:"time,omitzero"`
	// Host is the name of the machine, as prywalk sees it.
	Host string `json:"host,omitempty"`
	// Prywalk is the version that made the dump.
	Prywalk string `json:"prywalk,omitempty"`
}

// Process has the stacks of a process.
type Process struct {
	Origin
	PID int `json:"pid"`
	// Start is when the process started, in clock ticks after boot: with the PID it names the process. It is 0 for a core.
	Start   uint64   `json:"start_ticks,omitempty"`
	Name    string   `json:"-"`
	Threads []Thread `json:"threads"`
	// Tasks are those of interpreters. TasksChanged counts those that changed during each reading, TasksMore those
	// beyond the limit.
	Tasks        []Task `json:"tasks,omitempty"`
	TasksChanged int    `json:"tasks_changed,omitempty"`
	TasksMore    int    `json:"tasks_more,omitempty"`
	// TasksUnproven counts greenlets and fibers without a valid stack, TasksUnlisted the runtimes whose lists of these
	// changed in each reading, so that some can be missing.
	TasksUnproven int `json:"tasks_unproven,omitempty"`
	TasksUnlisted int `json:"tasks_unlisted,omitempty"`
	// VirtualThreads is what is known of Java's; nil means that they are not examined.
	VirtualThreads *VirtualThreads `json:"virtual_threads,omitempty"`
	// Awaits is what is known of suspended functions of JavaScript; nil means that they are not examined.
	Awaits *managed.AwaitCounts `json:"awaits,omitempty"`
	// Frozen is the directory of its control group if that was frozen, so that no thread ran; "" means that it was not, or
	// that is unknown.
	Frozen string `json:"frozen_cgroup,omitempty"`
	// Failed counts the threads that could not be sampled, by reason ([errs.Reason.Word]): also zombies, but no
	// thread that is gone.
	Failed map[string]int64 `json:"-"`
	// Pause is the length of an atomic dump's stop.
	Pause time.Duration `json:"-"`
	// WaitingText is why goroutines could not be read, and how to see them.
	WaitingText string `json:"-"`
	// GoroutineStacks are the goroutines of a Go program; nil if they were not read.
	GoroutineStacks []Goroutine `json:"goroutines,omitempty"`
	// Clients is the number of open connections to the process's listening sockets, if it has tasks that are not
	// examined, or pending awaits.
	Clients int `json:"client_connections,omitempty"`
	// Unanswered are connections without an answer, if nothing runs and a thread is idle in an event loop.
	Unanswered []waits.Unanswered `json:"unanswered,omitempty"`
	// Native makes texts show the native frames that run managed ones.
	Native bool `json:"-"`

	// Program is for notes on code without names.
	Program unnamedcode.Program `json:"-"`
	// Sleepers are the waiting threads by ID.
	Sleepers map[int]*waits.Sleeper `json:"-"`
	// Budget is the stacks' part of the process's budget.
	Budget *filememory.Account `json:"-"`
}

// Close returns the stacks' memory to the process's budget.
func (p *Process) Close() { p.Budget.Close() }

// SortThreads sorts by ID, the first thread before all others.
func (p *Process) SortThreads() {
	slices.SortStableFunc(p.Threads, func(a, b Thread) int {
		switch p.PID {
		case a.TID:
			return -1
		case b.TID:
			return 1
		}
		return cmp.Compare(a.TID, b.TID)
	})
}

// Schedules reports whether the process has a language's tasks, by tasks that were read or by what its threads show
// ([languages.Language].Schedules), such as asyncio's where no Python function of its event loop could be read.
func (p *Process) Schedules(l *languages.Language) bool {
	if l.Task == languages.CoroutineTask && p.HasTasks(languages.AsyncioFamily) {
		return true
	}
	return l.Schedules != nil && slices.ContainsFunc(p.Threads, func(t Thread) bool {
		return l.Schedules(t.Name, "", "", "") || slices.ContainsFunc(t.Frames, func(f Frame) bool {
			return l.Schedules(t.Name, f.Function, f.File, f.Module)
		})
	})
}

// Unexamined returns the languages of tasks that a dump does not show.
func (p *Process) Unexamined() (out []*languages.Language) {
	for _, l := range languages.All {
		shown := l.Task != "" && l.Unthreaded != languages.VirtualThreads || p.Examines(l)
		if l.Unthreaded != "" && !shown && p.Schedules(l) {
			out = append(out, l)
		}
	}
	return out
}

// HasTasks reports whether tasks of a kind wait.
func (p *Process) HasTasks(kind string) bool {
	return slices.ContainsFunc(p.Tasks, func(t Task) bool { return t.Kind == kind })
}

// Examines reports whether a language's tasks, or their locks, were read.
func (p *Process) Examines(l *languages.Language) bool {
	return l.Unthreaded == languages.VirtualThreads && p.VirtualThreads != nil ||
		l.Unthreaded == languages.Promises && p.Awaits != nil
}

// PendingTasks says that tasks of asyncio, greenlets or fibers wait though nothing runs, with the next command, or
// which call holds the event loop of asyncio or Node, or returns "".
func (p *Process) PendingTasks() string {
	n := map[string]int64{}
	for t := range Each(p.Tasks) {
		if t.State == "waiting" {
			n[t.Kind] += int64(t.Count)
		}
	}
	pending := func(kind, noun, shows string) string {
		tasks := tabular.Plural(n[kind], noun)
		return fmt.Sprintf("nothing runs, %s pending; prywalk dump -p %d %s", tasks, p.PID, shows)
	}
	held := p.heldByJavaScript()
	switch {
	case held != nil:
		return fmt.Sprintf("thread %d runs JavaScript and waits in %s; until that returns, nothing else of its event loop "+
			"runs", held.TID, cmp.Or(held.managedPlace(), "a call"))
	case !p.NothingRuns():
		return ""
	case n[languages.AsyncioFamily] > 0:
		return cmp.Or(p.heldLoop(n[languages.AsyncioFamily]),
			pending(languages.AsyncioFamily, languages.CoroutineTask, "lists what each awaits"))
	case n[languages.GreenletTask] > 0:
		return pending(languages.GreenletTask, languages.GreenletTask, "shows their stacks")
	case n[languages.FiberTask] > 0:
		return pending(languages.FiberTask, languages.FiberTask, "shows their stacks")
	}
	return ""
}

// heldLoop names the thread that waits in a task of an event loop.
func (p *Process) heldLoop(tasks int64) string {
	for t := range Each(p.Threads) {
		if languages.HoldsEventLoop(t.Functions()) {
			return fmt.Sprintf("thread %d runs a task of asyncio's event loop and waits in %s; until that returns, no "+
				"other task of its loop runs (%s)", t.TID, cmp.Or(t.managedPlace(), "a call"),
				tabular.Plural(tasks, "waiting "+languages.CoroutineTask)+" in the process")
		}
	}
	return ""
}

// OpenClients says that clients of a program with tasks that no thread shows are connected though nothing runs, with
// the next command, or returns "".
func (p *Process) OpenClients() string {
	if p.Clients == 0 || !p.NothingRuns() {
		return ""
	}
	next := "prywalk dump -p PID lists the pending awaits"
	for _, l := range slices.Backward(p.Unexamined()) {
		next = cmp.Or(l.UnthreadedNext, next)
	}
	return fmt.Sprintf("process %d has %s open and nothing runs, so tasks or promises may hang; %s", p.PID,
		tabular.Plural(int64(p.Clients), "client connection"), strings.ReplaceAll(next, "PID", strconv.Itoa(p.PID)))
}

// IsIdleLoop reports that nothing runs, and a thread is idle in an event loop.
func (p *Process) IsIdleLoop() bool {
	return p.NothingRuns() && slices.ContainsFunc(p.Threads, func(t Thread) bool {
		return t.WaitsFor != nil && t.WaitsFor.Idle == waits.IdleEventLoop
	})
}

// NothingRuns reports that no thread runs or waits for a CPU, and no call holds Node's event loop.
func (p *Process) NothingRuns() bool {
	return !slices.ContainsFunc(p.Threads, func(t Thread) bool { return t.State == "R" }) && p.CountFailed() == 0 &&
		p.heldByJavaScript() == nil
}

// heldByJavaScript returns the main thread if it waits below JavaScript, or nil. Workers wait so for work.
func (p *Process) heldByJavaScript() *Thread {
	ofJavaScript := func(f Frame) bool { return languages.IsJavaScript(f.Module) }
	return Find(p.Threads, func(t *Thread) bool {
		return t.TID == p.PID && t.State == "S" && slices.ContainsFunc(t.Frames, ofJavaScript)
	})
}

// ClearAwaitedIdleness makes threads not idle if a thread that is not idle waits for them. Waits for other than threads
// stay idle, as for a connection.
func ClearAwaitedIdleness(processes ...*Process) {
	byTID := map[int]*waits.Wait{}
	var busy []*waits.Wait
	for _, t := range ThreadsOf(processes) {
		if w := t.WaitsFor; w != nil {
			byTID[t.TID] = w
			if w.Idleness == (waits.Idleness{}) {
				busy = append(busy, w)
			}
		}
	}
	for len(busy) > 0 {
		owner := byTID[busy[0].Owner]
		busy = busy[1:]
		if owner != nil && owner.Kind.IsSynchronization() && owner.Idleness != (waits.Idleness{}) {
			owner.Idleness = waits.Idleness{}
			busy = append(busy, owner)
		}
	}
}

// Each yields the elements of a list, which are not copied.
func Each[T any](list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// Find returns the first element of a list that fits, which is not copied, or nil.
func Find[T any](list []T, fits func(*T) bool) *T {
	for x := range Each(list) {
		if fits(x) {
			return x
		}
	}
	return nil
}

// ThreadsOf yields the threads of processes.
func ThreadsOf(processes []*Process) iter.Seq2[*Process, *Thread] {
	return func(yield func(*Process, *Thread) bool) {
		for _, p := range processes {
			for t := range Each(p.Threads) {
				if !yield(p, t) {
					return
				}
			}
		}
	}
}

// Thread returns a thread by its ID, or nil if it was not sampled.
func (p *Process) Thread(tid int) *Thread {
	return Find(p.Threads, func(t *Thread) bool { return t.TID == tid })
}

// CountFailed counts the threads that could not be sampled, except for these reasons.
func (p *Process) CountFailed(except ...errs.Reason) (n int) {
	for word, threads := range p.Failed {
		if !slices.ContainsFunc(except, func(r errs.Reason) bool { return r.Word() == word }) {
			n += int(threads)
		}
	}
	return n
}

// Goroutine returns a goroutine by its runtime's file and its ID, or nil.
func (p *Process) Goroutine(runtime string, id uint64) *Goroutine {
	return Find(p.GoroutineStacks, func(g *Goroutine) bool { return g.ID == id && g.Runtime == runtime })
}

// Task is a task, as of asyncio, whether a thread runs it or not.
type Task struct {
	// Kind is what the library is called ("asyncio"), or virtual-thread, greenlet, fiber or await.
	Kind string `json:"kind"`
	// ID is the program's number of a virtual thread, or the address of a greenlet or fiber. Name is its name, or its
	// class. Of several they are the first's.
	ID   uint64 `json:"id,omitempty"`
	Name string `json:"name"`
	// Count is the number of tasks with this state, wait and stack; 1 for asyncio. Names are some of them.
	Count int      `json:"count"`
	Names []string `json:"-"`
	// State is waiting, ready or running.
	State string `json:"state"`
	// Awaits is the class of what it waits for, AwaitsTasks are the names of the tasks in that.
	Awaits      string   `json:"awaits,omitempty"`
	AwaitsTasks []string `json:"awaits_tasks,omitempty"`
	// WaitsFor is what a virtual thread or a waiting asyncio task waits for.
	WaitsFor *waits.Wait `json:"waits_for,omitempty"`
	// How is passive if no thread of the interpreter ran during the read, twice if two readings agree, or core.
	How string `json:"how"`
	// Frames are its coroutines, innermost first; of a running one only the outermost.
	Frames []Frame `json:"frames"`
}

// OwnPlace returns the program's function in which it waits, with line, and one of an installed package only if there
// is no other, or "" if that is unknown.
func (t *Task) OwnPlace() string {
	th := Thread{Frames: t.Frames, WaitsFor: t.WaitsFor}
	for i, f := range th.WaitsFrames() {
		if !waits.IsLibrary(f) && !languages.IsInstalled(f.Function, f.Module, f.File) {
			return t.Frames[i].Location()
		}
	}
	return th.OwnPlace()
}

// VirtualThreads counts a program's virtual threads.
type VirtualThreads struct {
	// Total are those that were found, Mounted of them are on a thread's stack. Unproven have an invalid stack, Changed
	// changed during each reading. Unlisted are the parts of the lists that could not be read. Untracked: the program
	// runs with -Djdk.trackAllThreads=false, and lists only those of executors.
	Total     int  `json:"total"`
	Mounted   int  `json:"mounted"`
	Changed   int  `json:"changed"`
	Unproven  int  `json:"unproven"`
	Unlisted  int  `json:"unlisted"`
	Untracked bool `json:"untracked,omitempty"`

	Waiting []VirtualWait `json:"-"`
}

// LeftOut counts what was not read.
func (v *VirtualThreads) LeftOut() int { return v.Changed + v.Unproven + v.Unlisted }

// VirtualWait is a virtual thread that waits for others.
type VirtualWait struct {
	ID   uint64
	Name string
	In   string // the program's function, with line
	waits.Wait
}

// VirtualThreadKind is [Task].Kind of a virtual thread.
const VirtualThreadKind = "virtual-thread"

// ReadTwice is [Task].How if two readings agree.
const ReadTwice = "twice"

// WriteJSON writes a process as one line of JSON.
func WriteJSON(w io.Writer, p *Process) error {
	buf := bufio.NewWriter(w)
	out := &jsonWriter{printable.NewJSONWriter(buf)}
	rest := *p
	rest.Threads, rest.GoroutineStacks = nil, nil
	before, after := out.around(&rest, "threads")
	out.Bytes(before)
	out.list("threads", len(p.Threads), func(i int) { out.thread(&p.Threads[i]) })
	if n := len(p.GoroutineStacks); n > 0 { // the last field
		out.Bytes(bytes.TrimSuffix(after, []byte("}")))
		out.Text(",")
		out.list("goroutines", n, func(i int) { out.Value(&p.GoroutineStacks[i]) })
		after = []byte("}")
	}
	out.Bytes(after)
	out.Text("\n")
	return cmp.Or(out.Err(), buf.Flush())
}

type jsonWriter struct{ *printable.JSONWriter }

func (j *jsonWriter) thread(t *Thread) {
	rest := *t
	rest.Frames = nil
	before, after := j.around(&rest, "frames")
	j.Bytes(before)
	j.list("frames", len(t.Frames), func(i int) { j.Value(&t.Frames[i]) })
	j.Bytes(after)
}

// around returns an object's text before and after a field with a nil list.
func (j *jsonWriter) around(object any, list string) (before, after []byte) {
	before, after, _ = bytes.Cut(j.Encode(object), []byte(`"`+list+`":null`)) // quotes in strings are escaped
	return before, after
}

func (j *jsonWriter) list(name string, n int, write func(i int)) {
	j.Text(`"` + name + `":[`)
	for i := 0; i < n && j.Err() == nil; i++ {
		j.Comma(i)
		write(i)
	}
	j.Text("]")
}
