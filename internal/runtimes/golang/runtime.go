// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// Host is a [managed.Host] that has the tables of Go programs.
type Host interface {
	managed.Host
	// GoTable gives the table of a module's file, nil if it has none. Only a file that has one is read.
	GoTable(m *frames.Module) *Table
}

// Runtime is Go's run-time system in a process, as far as its threads run goroutines on other stacks than their own. It
// implements [managed.Tasker] and [managed.Parker]. Rules and names of Go's functions come from the file's table, as of
// any file.
type Runtime struct {
	table  *Table
	bias   frames.Addr
	tasks  managed.Tasks
	chase  Chase
	module *frames.Module
	host   managed.Host // as of the last Adopt
}

// Detect implements [managed.Detector]: it gives nil, too, if the program's code does not show where goroutines are.
func Detect(h managed.Host) (managed.Runtime, error) {
	of, ok := h.(Host)
	if !ok {
		return nil, nil
	}
	for _, m := range of.Modules() {
		t := of.GoTable(m)
		if t == nil {
			continue
		}
		r := &Runtime{table: t, bias: m.Bias, module: m, host: h}
		if c, ok := t.Chase(); ok && r.layout(h, &c) {
			r.chase = c
			return r, nil
		}
		break
	}
	return nil, nil
}

// layout turns what the code shows into what the tracer carries out; false if g cannot be found.
func (r *Runtime) layout(h managed.Host, c *Chase) bool {
	t := &r.tasks
	t.TaskSize, t.WorkerSize = c.Size()
	t.StackLo, t.StackHi, t.Worker, t.SavedSP = c.GStackLo, c.GStackHi, c.GM, c.SchedSP
	t.Scheduler, t.Signals, t.Current = c.MG0, c.MGsignal, c.MCurg
	t.InRegister, t.Register, t.TLS = h.Arch() == frames.AArch64, c.GReg, c.TLS
	switch {
	case c.TLSSlot != 0:
		var b [8]byte
		if h.Read(c.TLSSlot+r.bias, b[:]) != len(b) {
			return false
		}
		t.TLS = int64(binary.LittleEndian.Uint64(b[:]))
		return true
	default:
		return c.HasTLS || t.InRegister
	}
}

// Name implements [managed.Runtime].
func (*Runtime) Name() string { return "Go" }

// Tasks implements [managed.Tasker].
func (r *Runtime) Tasks() *managed.Tasks { return &r.tasks }

// Adopt implements [managed.Runtime]: it gives nothing, and looks whether the program is still that one.
func (r *Runtime) Adopt(h managed.Host) bool {
	of, ok := h.(Host)
	if !ok {
		return false
	}
	for _, m := range of.Modules() {
		if t := of.GoTable(m); t != nil {
			r.host, r.module = h, m
			return t == r.table && m.Bias == r.bias
		}
	}
	return false
}

// Changed implements [managed.Runtime].
func (*Runtime) Changed() bool { return false }

// Forget implements [managed.Runtime].
func (*Runtime) Forget() {}
