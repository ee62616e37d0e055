// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"prywalk/internal/budget"
	"prywalk/internal/code"
	"prywalk/internal/managed"
	"prywalk/internal/namehints"
	"prywalk/internal/schema"
	"prywalk/internal/waits"
)

// Origin is what each object begins with: when, where and by what it was made.
type Origin struct {
	schema.Head
	// Time is the moment at which the looks began. A core does not have it, nor the host.
	Time time.Time `json:"time,omitzero"`
	// Host is the name of the machine, as prywalk sees it.
	Host string `json:"host,omitempty"`
	// Prywalk is the version that looked.
	Prywalk string `json:"prywalk,omitempty"`
}

// origin gives that of a look at a live process, now.
func (o *Options) origin() Origin {
	host, _ := os.Hostname() // without a name there is none
	return Origin{Time: time.Now(), Host: host, Prywalk: o.Prywalk}
}

// Process is the stacks of a process's threads.
type Process struct {
	Origin
	PID     int      `json:"pid"`
	Name    string   `json:"-"`
	Threads []Thread `json:"threads"`
	// Tasks have no thread but while they run. TasksChanged counts those that were another one each time that they were
	// read, TasksMore those that were too many.
	Tasks        []Task `json:"tasks,omitempty"`
	TasksChanged int    `json:"tasks_changed,omitempty"`
	TasksMore    int    `json:"tasks_more,omitempty"`
	// Failed counts the threads that could not be looked at, by reason.
	Failed map[string]int64 `json:"-"`
	// Pause is how long the threads were stopped by a look that stops all.
	Pause time.Duration `json:"-"`
	// Goroutines counts those that wait without a thread, nil for other programs than Go's; Parked says it in a line for
	// people.
	Goroutines *code.WaitingGoroutines `json:"goroutines_waiting,omitempty"`
	Parked     string                  `json:"-"`
	// Native: texts show the native frames that run managed ones, too.
	Native bool `json:"-"`

	program namehints.Program // what it maps
	link    string            // the program's file, if people know it by another name

	slept  map[int]*waits.Sleeper // by thread, for a further look at what they wait for
	memory *budget.Account        // of the stacks
}

// Close gives the memory back that the stacks have of the process's budget.
func (p *Process) Close() { p.memory.Close() }

// sort puts the first thread first, whose number is the process's, and the others in the order of their numbers. Of
// those that were started after the numbers began anew it is the lowest.
func (p *Process) sort() {
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
	// RunCount is how often the thread was put on a processor, when it was looked at. A thread whose count is the same
	// later has not run in between. A core does not have it.
	RunCount uint64 `json:"run_count,omitempty"`
	// Signal is the signal that ended the process, in a core the first thread's.
	Signal string  `json:"signal,omitempty"`
	Frames []Frame `json:"frames"`
	// WaitsFor is what a sleeper waits for; nil where nothing is known.
	WaitsFor *waits.For `json:"waits_for,omitempty"`

	holds []managed.Held // by its frames
}

// Frame is one function of a stack; an inlined call is a frame of its own, before
// the function that it was inlined into.
type Frame struct {
	PC Hex `json:"pc,omitempty"`
	SP Hex `json:"sp,omitempty"`
	// Place is never nil. Frames share it: of a recursion's million frames each takes three words.
	*Place
}

// Place is what a frame shows of its code.
type Place struct {
	Function string `json:"function,omitempty"`
	Inlined  bool   `json:"inlined"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Module   string `json:"module,omitempty"`
	BuildID  string `json:"build_id,omitempty"`
	Offset   Hex    `json:"offset,omitempty"`
	Method   string `json:"method,omitempty"`
	// Kind is the language of a managed frame, as "cpython"; Type is how it runs, as "interpreted".
	Kind string `json:"kind,omitempty"`
	Type string `json:"type,omitempty"`
	// Machinery: a native frame that runs managed ones.
	Machinery bool `json:"machinery,omitempty"`
}

// Hex is a number that JSON shows as a string in hexadecimal.
type Hex uint64

// MarshalText implements encoding.TextMarshaler.
func (h Hex) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(h)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hex) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 0, 64)
	*h = Hex(v)
	return err
}
