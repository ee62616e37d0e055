// SPDX-License-Identifier: Apache-2.0

package sleepers

import (
	"path"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/base/languages"
	"prywalk/internal/code/symbols"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// Explainer finds what the sleeping threads of one process wait for. Not safe for concurrent use.
type Explainer struct {
	// Owners may own a lock. Name gives a thread's name; nil for a core.
	Owners waits.ThreadFinder
	Name   func(tid int) string
	// Read reads the process's memory and returns the number of bytes.
	Read func(addr uint64, buf []byte) int
	// Sleepers are the threads explained so far, by ID.
	Sleepers map[int]*waits.Sleeper
	// Retryable means that a further sample of the last thread may explain its wait.
	Retryable bool

	pid               int
	names             *symbols.Namer
	space             func() *frames.Space
	files             *waits.OpenFiles // a core's is nil
	renewals          int              // of files
	wakeWaits         int
	managed           managedWaits
	sameTimeNamespace bool // of prywalk and the process
	idleness          map[idleKey]waits.Idleness
}

func (e *Explainer) describe(d *stacks.Thread, sl *waits.Sleeper) {
	sl.Stack = innermostFunctions(d)
	w := waits.Describe(sl)
	if w.Kind == waits.NoWait {
		return
	}
	if awaitsClass(d, &w) {
		w.Symbol = waits.ClassInitialization
	}
	e.Sleepers[d.TID] = sl
	e.nameOwner(&w)
	if sl.At != 0 {
		sl.At = procmem.Now() // a later sleep's end may be in memory by now
	}
	w.ReadCallMemory(sl, e.Read)
	if e.files != nil {
		e.files.AddFileDetails(&w)
	}
	var v waits.Variable
	if w.Address != 0 && e.space() != nil {
		v = e.names.VariableAt(e.space(), e.pid, uint64(w.Address))
	}
	w.SetVariable(v)
	w.Idleness = e.idle(sl.Reason, w.Kind, d)
	if e.files != nil {
		e.files.FindTransaction(&w)
	}
	d.WaitsFor = &w
}

// awaitsClass reports whether HotSpot waits for a class, at an array of int that no program sees.
func awaitsClass(d *stacks.Thread, w *waits.Wait) bool {
	at := slices.IndexFunc(d.Frames, func(f stacks.Frame) bool {
		return f.Kind != "" || languages.InitializesClass(f.Function, "")
	})
	return at >= 0 && d.Frames[at].Kind == "" && w.Kind == waits.ObjectWait && w.Symbol == "[I"
}

func innermostFunctions(d *stacks.Thread) (out []waits.StackFunction) {
	managed := false
	for i := range d.Frames[:min(len(d.Frames), stacks.MaxExamined)] {
		f := &d.Frames[i]
		if i >= waits.MaxFunctions && (managed || f.Kind == "") {
			continue
		}
		managed = managed || f.Kind != ""
		name := f.Function
		if unnamedcode.IsAddressName(name, path.Base(f.Module)) {
			name = ""
		}
		out = append(out, waits.StackFunction{Function: name, Module: f.Module})
	}
	return out
}

// WaitWith returns what a sleeper waits for if its lock's memory is mem.
func (e *Explainer) WaitWith(sleeper *waits.Sleeper, mem waits.FutexCopy) waits.Wait {
	later := *sleeper
	later.Memory = mem
	w := waits.Describe(&later)
	e.nameOwner(&w)
	return w
}

func (e *Explainer) nameOwner(w *waits.Wait) {
	w.ResolveOwner(e.Owners)
	w.NameOwnerOutside()
	if w.Owner != 0 && e.Name != nil {
		w.OwnerName = e.Name(w.Owner)
	}
}

type idleKey struct {
	wait  string
	kind  waits.Kind
	stack string
}

// idle finds the rule of equal stacks once, as it takes regular expressions for each function.
func (e *Explainer) idle(wait string, kind waits.Kind, d *stacks.Thread) waits.Idleness {
	var names strings.Builder
	for i := range d.Frames[:min(len(d.Frames), stacks.MaxExamined)] {
		f := &d.Frames[i]
		names.WriteString(f.Function + "\x00" + f.Module + "\x00" + f.File + "\x00")
	}
	k := idleKey{wait, kind, names.String()}
	idle, known := e.idleness[k]
	if !known {
		idle = waits.Idle(wait, kind, d.WaitsFrames())
		e.idleness[k] = idle
	}
	return idle
}
