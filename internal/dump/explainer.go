// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/observe"
	"prywalk/internal/sample"
	"prywalk/internal/schema"
	"prywalk/internal/symbols"
	"prywalk/internal/waits"
)

type explainer struct {
	pid       int
	names     *symbols.Namer
	space     func() *frames.Space
	read      func(addr uint64, buf []byte) int
	files     *waits.Files         // a core's is nil
	name      func(tid int) string // a core's is nil
	threads   waits.Threads
	managed   managedWaits
	clock     bool // CLOCK_MONOTONIC is this process's
	retryable bool // a retry may give more
	retries   int
	sleepers  map[int]*waits.Sleeper
	symbols   map[schema.Hex]waits.Variable
	idleness  map[idleKey]string
}

func newExplainer(t *code.Process, names *symbols.Namer, threads waits.Threads) *explainer {
	return &explainer{
		pid: t.PID, names: names, space: t.Space, files: waits.NewFiles(t.PID), threads: threads, managed: managedWaitsOf(t),
		name: func(tid int) string { return threadName(t, tid) },
		read: func(addr uint64, buf []byte) int {
			n, _ := t.Memory().Read(t.MemoryTID(), addr, buf)
			return n
		},
		sleepers: map[int]*waits.Sleeper{}, symbols: map[schema.Hex]waits.Variable{}, idleness: map[idleKey]string{},
		clock: sameClock(t.PID),
	}
}

// sameClock reports whether a process is in prywalk's time namespace (time_namespaces(7)).
func sameClock(pid int) bool {
	own, err := os.Readlink("/proc/self/ns/time")
	if errors.Is(err, fs.ErrNotExist) {
		return true // before Linux 5.6
	}
	its, err2 := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/time")
	return err == nil && err2 == nil && own == its
}

func (x *explainer) explain(d *Thread, s *observe.RawSample) {
	x.retryable = false
	if s == nil || s.State == sample.Running {
		return
	}
	sl := &waits.Sleeper{
		State: s.State.Letter()[0], Wait: s.WaitReason(), Args: s.Call.Args, InCall: s.Call.Nr >= 0,
		Memory: cloneWordCopy(s.FutexWord()),
	}
	if x.clock {
		sl.At = s.At
	}
	sl.Managed = x.managedAsker(d.TID, sl, s.Sched.Runs, &s.Mem)
	x.describe(d, sl)
}

func cloneWordCopy(c waits.WordCopy) waits.WordCopy {
	c.Bytes = append([]byte(nil), c.Bytes...)
	return c
}

func (x *explainer) describe(d *Thread, sl *waits.Sleeper) {
	sl.Stack = innermostFunctions(d)
	w := waits.Describe(sl)
	if w.Kind == waits.None {
		return
	}
	x.sleepers[d.TID] = sl
	w.Resolve(x.threads)
	if w.Owner != 0 && x.name != nil {
		w.OwnerName = x.name(w.Owner)
	}
	w.ReadCallMemory(sl, x.read)
	if x.files != nil {
		x.files.AddFileDetails(&w)
	}
	w.SetVariable(x.variable(w.Address))
	w.Idle = x.idle(sl.Wait, w.Kind, d)
	d.WaitsFor = &w
}

type idleKey struct {
	wait  string
	kind  waits.Kind
	stack string
}

func (x *explainer) idle(wait string, kind waits.Kind, d *Thread) string {
	var names strings.Builder
	for i := range d.Frames[:min(len(d.Frames), maxExamined)] {
		f := &d.Frames[i]
		names.WriteString(f.Function + "\x00" + f.Module + "\x00" + f.File + "\x00")
	}
	k := idleKey{wait, kind, names.String()}
	rule, known := x.idleness[k]
	if !known {
		rule = waits.Idle(wait, kind, d.frame)
		x.idleness[k] = rule
	}
	return rule
}

// innermostFunctions gives the innermost functions, and the innermost managed one if farther out.
func innermostFunctions(d *Thread) (out []waits.FunctionName) {
	managed := false
	for i := range d.Frames[:min(len(d.Frames), maxExamined)] {
		f := &d.Frames[i]
		if i >= waits.MaxFunctions && (managed || f.Kind == "") {
			continue
		}
		managed = managed || f.Kind != ""
		out = append(out, waits.FunctionName{Function: f.Function, Module: f.Module})
	}
	return out
}

func (x *explainer) variable(addr schema.Hex) waits.Variable {
	v, known := x.symbols[addr]
	if known || addr == 0 || x.space() == nil {
		return v
	}
	if img, at := code.ImageAt(x.space(), uint64(addr)); img != nil {
		if name, offset, ok := x.names.Object(img, x.pid, at); ok {
			v = waits.Variable{Name: name, Offset: offset}
		}
	}
	x.symbols[addr] = v
	return v
}
