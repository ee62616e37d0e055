// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"unicode/utf8"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

func tableIn(h managed.Host, m *frames.Module) *Table {
	files, ok := h.(managed.FileHost)
	if !ok {
		return nil
	}
	t, _ := files.Table(m).(*Table)
	return t
}

// Runtime is the Go runtime of a program or a library in a process. It implements [managed.Scheduler].
type Runtime struct {
	managed.Base
	program     program
	taskOffsets *managed.TaskOffsets

	allgs           allgs // Goroutines
	goroutinePoller       // Places, Poll, Task
	waitQueues            // WaitsAt
	lockFinder            // HeldLocks
	labels                // Labels, LabelsAt
}

var _ managed.Scheduler = (*Runtime)(nil)

// Detect implements [managed.Detector]: the first module with a runtime. With unknown offsets of g it says so where
// goroutines are counted ([allgs.slice]).
func Detect(h managed.Host) (managed.Runtime, error) {
	waits := false
	for _, m := range h.Modules() {
		t := tableIn(h, m)
		if t == nil || isPlugin(h, m) {
			continue
		}
		p := program{table: t, bias: m.Bias, module: m, host: h}
		c, ok := t.GOffsets()
		if !ok && (t.h.nfunc == 0 || len(t.funcByName("runtime.systemstack")) > 0) {
			return newRuntime(p, GOffsets{}), nil
		}
		if !ok {
			continue
		}
		r := newRuntime(p, c)
		if r.locate() {
			r.allgs.findFields()
			return r, nil
		}
		if c.TLSSlot != 0 { // the library is not relocated yet
			waits = true
		}
	}
	if waits {
		return nil, managed.ErrNotYet
	}
	return nil, nil
}

// isPlugin reports whether a module is a plugin: the dynamic linker binds its exported symbols (cmd/link,
// -buildmode=plugin) to the program's.
func isPlugin(h managed.Host, m *frames.Module) bool {
	plugin := false
	for _, s := range h.OwnSymbols(m, "runtime.allgs", "main.main") {
		if s.Name == "main.main" {
			return false
		}
		plugin = plugin || s.Exported
	}
	return plugin
}

func newRuntime(p program, c GOffsets) *Runtime {
	r := &Runtime{program: p}
	r.allgs = allgs{program: &r.program, offsets: c, startFuncs: startFuncs{program: &r.program}}
	r.labels = labels{allgs: &r.allgs}
	r.goroutinePoller.allgs, r.waitQueues.allgs = &r.allgs, &r.allgs
	r.lockFinder.program = &r.program
	return r
}

func (r *Runtime) locate() bool {
	c, t := &r.allgs.offsets, &managed.TaskOffsets{}
	r.taskOffsets = t
	t.TaskSize, t.WorkerSize, t.Labels = goroutineBytes, int(max(c.MCurg, c.MGsignal, c.MG0)+8), &r.allgs.labelsAt
	t.StackLo, t.StackHi, t.Worker, t.SavedSP = c.GStackLo, c.GStackHi, c.GM, c.SchedSP
	t.SchedulerTask, t.SignalTask, t.CurrentTask = c.MG0, c.MGsignal, c.MCurg
	t.InRegister, t.Register, t.TLS = r.program.host.Arch() == frames.ARM64, c.GReg, c.TLS
	if c.TLSSlot == 0 {
		return c.HasTLS || t.InRegister
	}
	tls, ok := r.program.word(c.TLSSlot + r.program.bias)
	t.TLS = int64(tls)
	return ok && tls != 0
}

// Name implements [managed.Runtime].
func (*Runtime) Name() string { return "Go" }

// Module implements [managed.Runtime].
func (r *Runtime) Module() *frames.Module { return r.program.module }

// TaskOffsets implements [managed.Scheduler].
func (r *Runtime) TaskOffsets() *managed.TaskOffsets { return r.taskOffsets }

// Attach implements [managed.Runtime].
func (r *Runtime) Attach(h managed.Host) bool {
	p := &r.program
	for _, m := range h.Modules() {
		if m.Bias == p.bias && tableIn(h, m) == p.table {
			p.host, p.module = h, m
			r.allgs.startFuncs.byStart = nil // plugins may change
			return true
		}
	}
	return false
}

type program struct {
	table  *Table
	module *frames.Module
	bias   frames.Addr
	host   managed.Host // of the last Attach
}

func (p *program) word(at uint64) (uint64, bool) {
	return managed.ReadWord(p.host, at)
}

// stringOf returns the text of a string header, or false if it has more than most bytes, is unreadable, or not UTF-8.
func (p *program) stringOf(header []byte, most uint64) (string, bool) {
	n := word64(header, 8)
	if n > most {
		return "", false
	}
	b := make([]byte, n)
	if n > 0 && p.host.Read(word64(header, 0), b) != len(b) {
		return "", false
	}
	return string(b), utf8.Valid(b)
}

// tableAt returns the table for pc, which may be a plugin's, or nil if there is none.
func (p *program) tableAt(pc uint64) (t *Table, bias uint64) {
	if _, ok := p.table.find(pc - p.bias); ok {
		return p.table, p.bias
	}
	for _, m := range p.host.Modules() {
		if pc >= m.Start && pc < m.End {
			return tableIn(p.host, m), m.Bias
		}
	}
	return nil, 0
}
