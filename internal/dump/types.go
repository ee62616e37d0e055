// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"os"
	"slices"
	"time"

	"prywalk/internal/budget"
	"prywalk/internal/code"
	"prywalk/internal/managed"
	"prywalk/internal/namehints"
	"prywalk/internal/schema"
	"prywalk/internal/waits"
)

// Origin is when, where and by what an object was made.
type Origin struct {
	schema.Head
	// Time is the start of the dump. A core has none, nor a host.
	Time time.Time `json:"time,omitzero"`
	// Host is the name of the machine, as prywalk sees it.
	Host string `json:"host,omitempty"`
	// Prywalk is the version that made the dump.
	Prywalk string `json:"prywalk,omitempty"`
}

func (o *Options) origin() Origin {
	host, _ := os.Hostname()
	return Origin{Time: time.Now(), Host: host, Prywalk: o.Prywalk}
}

// Process has the stacks of a process.
type Process struct {
	Origin
	PID     int      `json:"pid"`
	Name    string   `json:"-"`
	Threads []Thread `json:"threads"`
	// Tasks are those of interpreters. TasksChanged counts those that changed during each reading, TasksMore those
	// beyond the limit.
	Tasks        []Task `json:"tasks,omitempty"`
	TasksChanged int    `json:"tasks_changed,omitempty"`
	TasksMore    int    `json:"tasks_more,omitempty"`
	// Frozen is the directory of its control group if that was frozen, so that no thread ran; "": it was not, or that
	// is unknown.
	Frozen string `json:"frozen_cgroup,omitempty"`
	// Failed counts the threads that could not be sampled, by reason.
	Failed map[string]int64 `json:"-"`
	// Pause is the length of an atomic dump's stop.
	Pause time.Duration `json:"-"`
	// Goroutines counts those that wait without a thread, nil for programs without Go; Parked is its text.
	Goroutines *code.WaitingGoroutines `json:"goroutines_waiting,omitempty"`
	Parked     string                  `json:"-"`
	// GoroutineStacks are the goroutines of a Go program; nil if they were not read.
	GoroutineStacks []Goroutine `json:"goroutines,omitempty"`
	// Native makes texts show the native frames that run managed ones.
	Native bool `json:"-"`

	program namehints.Program // mappings
	link    string            // its file's name, if not the mapping's

	sleepers map[int]*waits.Sleeper
	memory   *budget.Account
}

// Close returns the stacks' memory to the process's budget.
func (p *Process) Close() { p.memory.Close() }

func (p *Process) sortThreads() {
	slices.SortStableFunc(p.Threads, func(a, b Thread) int {
		if first := b.TID == p.PID; first != (a.TID == p.PID) {
			if first {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.TID, b.TID)
	})
}

// Thread is the stack of one thread, innermost frame first.
type Thread struct {
	TID        int    `json:"tid"`
	Name       string `json:"name"`
	State      string `json:"state,omitempty"` // not known of a core's threads
	Wait       string `json:"wait,omitempty"`
	How        string `json:"how"`
	Complete   bool   `json:"complete"`
	StopReason string `json:"stop_reason"`
	// RunCount is how often the thread was put on a CPU before its sample. An unchanged count proves that it has not
	// run since. A core has none.
	RunCount uint64 `json:"run_count,omitempty"`
	// Goroutine is the ID of the goroutine that the thread ran, 0 if none or unknown.
	Goroutine uint64 `json:"goroutine,omitempty"`
	// GoroutineRuntime is the file with its run-time system, where the process has several.
	GoroutineRuntime string `json:"goroutine_runtime,omitempty"`
	// Signal is the signal that ended the process, of a core's first thread.
	Signal string  `json:"signal,omitempty"`
	Frames []Frame `json:"frames"`
	// WaitsFor is what a sleeper waits for; nil if unknown.
	WaitsFor *waits.Wait `json:"waits_for,omitempty"`

	holds []managed.HeldLock // by frame
}

// Frame is one function of a stack. An inlined call is a frame of its own, before the function that it was inlined
// into.
type Frame struct {
	PC schema.Hex `json:"pc,omitempty"`
	SP schema.Hex `json:"sp,omitempty"`
	// Place is never nil. Equal places are shared: a frame takes three words, also in a recursion of a million frames.
	*Place
}

// Place is what a frame shows of its code.
type Place struct {
	Function string     `json:"function,omitempty"`
	Inlined  bool       `json:"inlined"`
	File     string     `json:"file,omitempty"`
	Line     int        `json:"line,omitempty"`
	Module   string     `json:"module,omitempty"`
	BuildID  string     `json:"build_id,omitempty"`
	Offset   schema.Hex `json:"offset,omitempty"`
	Method   string     `json:"method,omitempty"`
	// Kind is the language of a managed frame, as "cpython"; Type how it runs, as "interpreted".
	Kind string `json:"kind,omitempty"`
	Type string `json:"type,omitempty"`
	// Machinery: a native frame that runs managed ones.
	Machinery bool `json:"machinery,omitempty"`
}

func (t *Thread) frame(i int) (waits.Frame, bool) {
	if i >= len(t.Frames) {
		return waits.Frame{}, false
	}
	return waits.Frame{Function: t.Frames[i].Function, Module: t.Frames[i].Module, File: t.Frames[i].File}, true
}

const maxExamined = 512 // frames of a stack

func (p *Process) thread(tid int) *Thread {
	for i := range p.Threads {
		if p.Threads[i].TID == tid {
			return &p.Threads[i]
		}
	}
	return nil
}
