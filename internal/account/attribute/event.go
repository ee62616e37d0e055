// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"encoding/json"
	"io"
	"reflect"

	"prywalk/internal/base/sample"
)

// Event is an input of an [Attribution]. Moments are CLOCK_MONOTONIC, ns. Recorded streams have the names of types and
// fields, or those in the tags.
type Event interface{ apply(*Attribution) }

// ProcessStarted reports that sampling of a process begins, at Since.
type ProcessStarted struct {
	Process sample.ProcessID
	PID     int
	Start   uint64 // clock ticks after boot
	Parent  int    // process id at discovery, 0 if it is unknown
	Since   int64
	// FromStart means that all its CPU time, ChildrenFromStart that all of its children's, lies within the recording.
	FromStart         bool
	ChildrenFromStart bool `json:"Childless"`
}

// Sampled reports a sample of a thread.
type Sampled struct {
	Process    sample.ProcessID
	Thread     sample.ThreadID
	CreatedAt  int64 // first listing or an earlier sample, 0 if its creation was not observed
	NotStopped sample.NotStopped
	Sample
}

// ThreadStarted precedes a thread's first sample.
type ThreadStarted struct {
	Process   sample.ProcessID
	Thread    sample.ThreadID
	CreatedAt int64
	Now       sample.Reading
}

// FoundUnchanged reports an unchanged thread.
type FoundUnchanged struct {
	Thread          sample.ThreadID
	UnchangedBefore sample.Unchanged
}

// ThreadEnded reports the end of a thread or of the recording.
type ThreadEnded struct {
	Process         sample.ProcessID
	Thread          sample.ThreadID
	CreatedAt       int64
	UnchangedBefore sample.Unchanged
	NotStopped      sample.NotStopped
	End             End
}

// Execed reports that a process runs another program. Thread, its first one, goes on with the clocks of Caller, which
// called exec. If Caller is another thread, its end is not reported.
type Execed struct {
	Process        sample.ProcessID
	Thread, Caller sample.ThreadID
}

// ProcessEnded follows the ends of all threads of a process.
type ProcessEnded struct {
	Process sample.ProcessID
	Program string
	At      int64
	ProcessEnd
}

// ProcessEnd holds the kernel's counts of a process's CPU time, ns.
type ProcessEnd struct {
	Charged   int64 // while it was sampled; used only if threads are filtered
	CPUBefore int64 // before that
	// EndedThreads is the time of threads that ended during sampling; it is below 0 only while the process lives.
	EndedThreads int64
}

// EndedSoFar reports [ProcessEnd.EndedThreads] of a living process.
type EndedSoFar struct {
	Process sample.ProcessID
	CPU     int64 `json:"Length"` // ns
	At      int64
}

// UnassignedSample is of a thread that ended before its clocks were read again, of one whose clocks were never read, or
// of an unobserved child (OfChild).
type UnassignedSample struct {
	Process   sample.ProcessID
	Place     Place
	StandsFor int64 `json:"Length"` // ns, T in the package comment
	At        int64
	OfChild   bool
}

// NotObservedFor reports a gap from At on, of Length ns of wall time.
type NotObservedFor struct{ At, Length int64 }

// Cut requests the attribution of open time of a thread, or of all if Thread is 0.
type Cut struct {
	Thread sample.ThreadID
}

// Tick reports the current time.
type Tick struct{ At int64 }

func (e *ProcessStarted) apply(a *Attribution) { a.beginProcess(e) }
func (e *Sampled) apply(a *Attribution)        { a.attributeSampled(e) }
func (e *ThreadEnded) apply(a *Attribution)    { a.endThread(e) }
func (e *Execed) apply(a *Attribution)         { a.moveAccount(e) }
func (e *ProcessEnded) apply(a *Attribution)   { a.endProcess(e) }
func (e *NotObservedFor) apply(a *Attribution) { a.gaps.Add(e.At, e.Length) }
func (e *Cut) apply(a *Attribution)            { a.cutOpen(e.Thread) }

func (e *ThreadStarted) apply(a *Attribution) {
	if t := a.thread(e.Thread, e.Process, e.CreatedAt); !t.begun {
		t.beginWithoutSample(e.Now)
	}
}

func (e *FoundUnchanged) apply(a *Attribution) {
	if t := a.threads[e.Thread]; t != nil {
		t.extend(e.UnchangedBefore)
	}
}

func (e *EndedSoFar) apply(a *Attribution) {
	a.process(e.Process).distributeExitedSoFar(e.CPU, e.At)
}

func (e *UnassignedSample) apply(a *Attribution) {
	switch p := a.procs[e.Process]; {
	case p == nil: // closed
	case e.OfChild:
		p.addUnassignedOfChild(e.Place, e.At, e.StandsFor)
	default:
		p.addUnassigned(e.Place, e.At, e.StandsFor)
	}
}

func (e *Tick) apply(a *Attribution) {
	if a.tree != nil {
		a.tree.tick(e.At)
	}
}

// Recorder writes JSON lines: the options, then events under their names, each followed by the kernel's answers
// ([ProcSource]) under their methods' names.
type Recorder struct {
	out    *json.Encoder
	kernel ProcSource
}

type answer struct {
	PID   int
	State ProcState
	Found bool
	NS    int64
}

// NewRecorder writes the options. It passes on kernel's answers. w keeps its first error, as a bufio.Writer does.
func NewRecorder(w io.Writer, o Scope, kernel ProcSource) *Recorder {
	r := &Recorder{out: json.NewEncoder(w), kernel: kernel}
	r.write(o)
	return r
}

func (r *Recorder) write(line any) { _ = r.out.Encode(line) }

// Event records an event. Precondition: it is not handled yet.
func (r *Recorder) Event(e Event) {
	r.write(map[string]any{eventName(e): e})
}

func eventName(e Event) string { return reflect.TypeOf(e).Elem().Name() }

// State implements [ProcSource].
func (r *Recorder) State(pid int) (ProcState, bool) {
	s, ok := r.kernel.State(pid)
	r.write(map[string]any{state: answer{PID: pid, State: s, Found: ok}})
	return s, ok
}

// IgnoresChildren implements [ProcSource].
func (r *Recorder) IgnoresChildren(pid int) bool {
	yes := r.kernel.IgnoresChildren(pid)
	r.write(map[string]any{ignoresChildren: answer{PID: pid, Found: yes}})
	return yes
}

// ExactChildrenCPU implements [ProcSource].
func (r *Recorder) ExactChildrenCPU(pid int) int64 {
	ns := r.kernel.ExactChildrenCPU(pid)
	r.write(map[string]any{exactChildrenCPU: answer{PID: pid, NS: ns}})
	return ns
}

// WriteStack adds a stack's functions, innermost first, for readers.
func WriteStack(w io.Writer, id sample.StackID, functions []string) error {
	return json.NewEncoder(w).Encode(map[string]any{stack: map[string]any{"ID": id, "Functions": functions}})
}

const (
	stack            = "Stack"
	state            = "State"
	ignoresChildren  = "IgnoresChildren"
	exactChildrenCPU = "ExactChildrenCPU"
)
