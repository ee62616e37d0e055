// SPDX-License-Identifier: Apache-2.0

// Package stacks has the stacks of a process's threads, goroutines and tasks, as data and as JSON.
//
// # Algorithm
//
// Equal frames share one [Place]: 900,000 calls of one function are one place and 900,000 frames of three words.
// [WriteJSON] writes frame by frame. Of a stack as
//
//	#0 __futex_wait   libc.so.6
//	#1 lll_lock_wait  libc.so.6
//	#2 lookup         cached, cached.c:6
//
// the program's own place ([Thread.OwnPlace]) is "lookup at cached.c:6", the innermost function of the application
// (waits.ApplicationFunction).
package stacks

import (
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/schema"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// MaxExamined bounds the frames that a search of a stack examines.
const MaxExamined = 512

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
	// GoroutineRuntime is the file with its runtime, where the process has several.
	GoroutineRuntime string `json:"goroutine_runtime,omitempty"`
	// Signal is the signal that ended the process, of a core's first thread.
	Signal string  `json:"signal,omitempty"`
	Frames []Frame `json:"frames"`
	// WaitsFor is what a sleeper waits for; nil if unknown.
	WaitsFor *waits.Wait `json:"waits_for,omitempty"`

	// Holds are the locks of the blocks that its managed frames are in.
	Holds []managed.HeldLock `json:"-"`
}

// Frame is one function of a stack. An inlined call is a frame of its own, before the one that it was inlined into.
type Frame struct {
	PC schema.Hex `json:"pc,omitempty"`
	SP schema.Hex `json:"sp,omitempty"`
	// Place is never nil.
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
	// Machinery is a native frame that runs managed ones.
	Machinery bool `json:"machinery,omitempty"`
}

// WaitsFrames converts the frames for package waits.
func (t *Thread) WaitsFrames() []waits.Frame {
	out := make([]waits.Frame, len(t.Frames))
	for i := range t.Frames {
		f := &t.Frames[i]
		out[i] = waits.Frame{Function: f.Function, Module: f.Module, File: f.File}
	}
	return out
}

// Functions are the names of the thread's functions, innermost first, without those that run managed ones.
func (t *Thread) Functions() (names []string) {
	for i := range t.Frames {
		if !t.Frames[i].Machinery { // before Python 3.11 it is between a function and its caller
			names = append(names, t.Frames[i].Function)
		}
	}
	return names
}

// managedPlace is the innermost function of the program that is no native one, with line, or "".
func (t *Thread) managedPlace() string {
	for i, f := range t.WaitsFrames() {
		if t.Frames[i].Kind != "" && !waits.IsLibrary(f) {
			return t.Frames[i].Location()
		}
	}
	return ""
}

// OwnPlace returns the program's function in which a thread waits, with line, or "" if it is unknown.
func (t *Thread) OwnPlace() string {
	if f := innermostOwn(t); f != nil {
		return f.Location()
	}
	return ""
}

// OwnFunction returns the program's innermost function, else the stack's, or "" if it is unknown.
func (t *Thread) OwnFunction() string {
	if f := innermostOwn(t); f != nil {
		return f.Function
	}
	if len(t.Frames) == 0 {
		return ""
	}
	return t.Frames[waits.WaitingFunction(t.WaitsFrames())].Function
}

func innermostOwn(t *Thread) *Frame {
	stack := t.WaitsFrames()
	for i := range stack {
		if t.Frames[i].Type == "stub" { // the JVM's, such as _complete_monitor_locking_Java
			stack[i].Function = ""
		}
	}
	if i := waits.ApplicationFunction(stack); i >= 0 {
		return &t.Frames[i]
	}
	return ownManaged(t)
}

// Location returns "function at file:line", as far as known.
func (p *Place) Location() string { return p.Function + p.AtLine() }

// AtLine returns " at file:line", as far as known.
func (p *Place) AtLine() string {
	switch {
	case p.File == "":
		return ""
	case p.Line <= 0:
		return " at " + languages.SourceFile(p.File)
	}
	return " at " + languages.SourceFile(p.File) + ":" + strconv.Itoa(p.Line)
}

func ownManaged(t *Thread) *Frame {
	if t.WaitsFor == nil || !t.WaitsFor.IsManaged() {
		return nil
	}
	return Find(t.Frames, func(f *Frame) bool {
		return f.Kind != "" && f.Type != "native" && f.Type != "stub" && !unnamedcode.IsPlaceholder(f.Function)
	})
}

// OwnPlace returns the program's function in which a goroutine waits, with line.
func (g *Goroutine) OwnPlace() string { return g.Stack().OwnPlace() }

// Goroutine is a goroutine of a Go program, with or without a thread.
type Goroutine struct {
	ID uint64 `json:"id"`
	// Runtime is the file with its runtime, where the process has several. Each has IDs of its own.
	Runtime string `json:"runtime,omitempty"`
	// Status is a word of Go's runtime: runnable, running, syscall, waiting, preempted, leaked, copystack; or
	// unknown.
	Status string `json:"status"`
	// Wait is the reason of its wait, in the words of Go's runtime.
	Wait string `json:"wait,omitempty"`
	// Since is for how long it has waited, in nanoseconds, by Go's runtime: since the garbage collection before the first
	// one that found the wait. It is 0 if that is not known.
	Since int64 `json:"since_ns,omitempty"`
	// Parent is the goroutine that created it, 0 if not known; CreatedBy is the function.
	Parent    uint64            `json:"parent,omitempty"`
	CreatedBy string            `json:"created_by,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Thread is the thread that it ran on, 0 for none.
	Thread int `json:"thread,omitempty"`
	// System: it belongs to Go's runtime.
	System     bool    `json:"system,omitempty"`
	Complete   bool    `json:"complete"`
	StopReason string  `json:"stop_reason"`
	Frames     []Frame `json:"frames"`

	// WaitsFor is the descriptor of an IO wait; nil if it is not proven.
	WaitsFor *waits.Wait `json:"waits_for,omitempty"`

	// Created is the place in CreatedBy.
	Created *Place `json:"-"`
	// Awaits and Holds are set only if locks are examined.
	Awaits []GoroutineWait `json:"-"`
	Holds  []HeldGoLock    `json:"-"`
	// Unchanged reads the goroutine again and reports whether it has not run; nil unless locks are examined.
	Unchanged func() bool `json:"-"`
	StackLow  uint64      `json:"-"`
	StackHigh uint64      `json:"-"`
}

// Stack returns the goroutine's frames as those of a thread.
func (g *Goroutine) Stack() *Thread {
	return &Thread{Frames: g.Frames, Complete: g.Complete, StopReason: g.StopReason}
}

// Calls reports whether a function is in a goroutine's stack.
func (g *Goroutine) Calls(function string) bool {
	return slices.ContainsFunc(g.Frames[:min(len(g.Frames), MaxExamined)], func(f Frame) bool {
		return f.Function == function
	})
}

// Responding returns the waits of goroutines for responses of HTTP's servers, and how many more these are than the
// requests. It returns none if a connection is not known.
func (p *Process) Responding() (list []*waits.Wait, free int) {
	for g := range Each(p.GoroutineStacks) {
		switch {
		case g.Calls(waits.HTTPRequest):
			free--
		case !g.Calls(waits.HTTPReader):
		case g.WaitsFor != nil:
			free++
			list = append(list, g.WaitsFor)
		case g.Wait != "select": // of a connection that is not known; in a select, its caller reads the body
			return nil, 0
		}
	}
	if free < 0 { // a reader was not seen
		return nil, 0
	}
	return list, free
}

// Kinds of what goroutines wait for.
const (
	KindMutex     = "sync.Mutex"
	KindRWMutex   = "sync.RWMutex"
	KindWaitGroup = "sync.WaitGroup"
	KindCond      = "sync.Cond"
	KindSemaphore = "semaphore"
	KindChannel   = "chan"
)

// Leaked is the status of a goroutine that nothing can wake, by Go's garbage collector.
const Leaked = "leaked"

// GoroutineWait is what a goroutine waits for.
type GoroutineWait struct {
	managed.TaskWait
	Kind   string
	Symbol string
	Reads  bool
}

// HeldGoLock is a lock that a goroutine likely holds.
type HeldGoLock struct {
	managed.TaskLock
	// Frame is the index of the locking frame, TakenAt the place.
	Frame   int
	TakenAt string
}

// PinnedBy returns the function that keeps a virtual thread on this thread, its carrier, although it waits, or "". That
// is a class initializer, a method whose native code has called Java, or one that waits in native code. Otherwise,
// until JDK 23, the virtual thread holds or enters a monitor.
func (t *Thread) PinnedBy() string {
	if t.WaitsFor == nil || t.State == "R" {
		return ""
	}
	var inner *Frame
	by, native := "", false // native: since the last Java frame
	for f := range Each(t.Frames) {
		switch {
		case f.Kind == "" || f.Type == "stub":
			native = native || f.Kind == "" && inner != nil
			continue
		case strings.HasPrefix(f.Function, "jdk.internal.vm.Continuation.enter"):
			return by
		case native && strings.HasSuffix(inner.Function, ".<clinit>"):
			by = inner.Location()
		case native, inner == nil && f.Type == "native" && f.Function != "jdk.internal.misc.Unsafe.park":
			by = f.Location()
		case by == "" && (f.Function == "java.lang.VirtualThread.parkOnCarrierThread" || t.WaitsFor.Kind == waits.Monitor):
			by = "a monitor"
		}
		inner, native = f, false
	}
	return ""
}
