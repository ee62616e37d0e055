// SPDX-License-Identifier: Apache-2.0

package sleepers

import (
	"strings"

	"prywalk/frames"
	"prywalk/internal/dump/stacks"
	"prywalk/internal/schema"
	"prywalk/internal/symbols"
	"prywalk/internal/waits"
)

// Explainer says what the sleeping threads of one process wait for. It is for one goroutine at a time.
type Explainer struct {
	// Threads are those that may own a lock. Name gives a thread's name; nil, as for a core: owners get no names.
	Threads waits.Threads
	Name    func(tid int) string
	// Read reads memory of the process, and gives the number of bytes.
	Read func(addr uint64, buf []byte) int
	// Sleepers are the threads explained so far, by ID.
	Sleepers map[int]*waits.Sleeper
	// Retryable: a run-time system may say more of the last thread if that is sampled again.
	Retryable bool

	pid      int
	names    *symbols.Namer
	space    func() *frames.Space
	files    *waits.Files // a core's is nil
	managed  managedWaits
	clock    bool // CLOCK_MONOTONIC is this process's
	symbols  map[schema.Hex]waits.Variable
	idleness map[idleKey]string
}

// describe sets what a thread waits for.
func (x *Explainer) describe(d *stacks.Thread, sl *waits.Sleeper) {
	sl.Stack = innermostFunctions(d)
	w := waits.Describe(sl)
	if w.Kind == waits.None {
		return
	}
	x.Sleepers[d.TID] = sl
	x.nameOwner(&w)
	w.ReadCallMemory(sl, x.Read)
	if x.files != nil {
		x.files.AddFileDetails(&w)
	}
	w.SetVariable(x.variable(w.Address))
	w.Idle = x.idle(sl.Wait, w.Kind, d)
	d.WaitsFor = &w
}

// innermostFunctions gives the innermost functions, and the innermost managed one if farther out.
func innermostFunctions(d *stacks.Thread) (out []waits.FunctionName) {
	managed := false
	for i := range d.Frames[:min(len(d.Frames), stacks.MaxExamined)] {
		f := &d.Frames[i]
		if i >= waits.MaxFunctions && (managed || f.Kind == "") {
			continue
		}
		managed = managed || f.Kind != ""
		out = append(out, waits.FunctionName{Function: f.Function, Module: f.Module})
	}
	return out
}

func (x *Explainer) variable(addr schema.Hex) waits.Variable {
	v, known := x.symbols[addr]
	if known || addr == 0 || x.space() == nil {
		return v
	}
	v = x.names.VariableAt(x.space(), x.pid, uint64(addr))
	x.symbols[addr] = v
	return v
}

// WaitWith gives what a sleeper waits for if its lock's memory is mem.
func (x *Explainer) WaitWith(sleeper *waits.Sleeper, mem waits.WordCopy) waits.Wait {
	now := *sleeper
	now.Memory = mem
	w := waits.Describe(&now)
	x.nameOwner(&w)
	return w
}

// nameOwner sets the owner, as [waits.Threads] know it, and its name.
func (x *Explainer) nameOwner(w *waits.Wait) {
	if w.Resolve(x.Threads); w.Owner != 0 && x.Name != nil {
		w.OwnerName = x.Name(w.Owner)
	}
}

type idleKey struct {
	wait  string
	kind  waits.Kind
	stack string
}

func (x *Explainer) idle(wait string, kind waits.Kind, d *stacks.Thread) string {
	var names strings.Builder
	for i := range d.Frames[:min(len(d.Frames), stacks.MaxExamined)] {
		f := &d.Frames[i]
		names.WriteString(f.Function + "\x00" + f.Module + "\x00" + f.File + "\x00")
	}
	k := idleKey{wait, kind, names.String()}
	rule, known := x.idleness[k]
	if !known {
		rule = waits.Idle(wait, kind, d.WaitsFrame)
		x.idleness[k] = rule
	}
	return rule
}
