// SPDX-License-Identifier: Apache-2.0

package php

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

// Kinds of refs.
const (
	kindFunction = iota
	kindFreed
)

// Native implements [managed.Namer]. With PHP calls all of the engine's code is machinery.
func (r *Runtime) Native(f *frames.Frame, cfa frames.Addr, out []managed.Ref) (refs []managed.Ref, instead bool) {
	w := &r.walk
	if len(w.runs) == 0 {
		return out, false
	}
	w.unfinished = cfa == 0
	leaf := w.frames == 0
	w.frames++
	lost := w.cut && w.next == len(w.runs) // of outer machinery
	if w.broken || f.SP == 0 {
		return out, false
	}
	if f.SP < w.lastSP || f.SP-w.lastSP > farApart { // another stack, as behind a signal's, or a call back into Go
		w.from = f.SP
	}
	w.lastSP = f.SP
	if r.isLoop(f.Lookup(r.host.Arch())) && cfa != 0 && cfa != managed.Outermost {
		if lost {
			return out, false
		}
		return r.runsHere(f, leaf, out), true
	}
	if cfa == managed.Outermost && !w.cut && (w.next == w.own || w.loops == 0) {
		for w.next < len(w.runs) { // of what resumes or starts a fiber
			out = r.appendRun(&w.runs[w.next], out)
			w.next++
			instead = true
		}
	}
	return out, instead || (r.owns(f.Module) || r.isExpression(f)) && !lost
}

// farApart is more than frames of one stack are apart, in bytes.
const farApart = 1 << 20

// isExpression reports PCRE's code of a regular expression that the innermost call matches.
func (r *Runtime) isExpression(f *frames.Frame) bool {
	return f.Module != nil && f.Module.Generated && r.next == 0 && isPrivate(f.Module)
}

func (r *Runtime) owns(m *frames.Module) bool {
	return m != nil && (m == r.module || m.Bias == r.module.Bias && m.Name == r.name)
}

// runsHere appends the calls of a native frame of execute_ex.
func (r *Runtime) runsHere(f *frames.Frame, leaf bool, out []managed.Ref) []managed.Ref {
	w := &r.walk
	from := w.from
	w.loops++
	w.from = f.SP
	if w.next >= w.own {
		w.spend()
		return out
	}
	this := &w.runs[w.next]
	if leaf {
		if data, ok := w.sample.Regs.Get(r.fp); ok {
			begins := f.PC-r.loop.start < mostPrologue && w.inRegs(this.user)
			if !begins && !r.isIn(data, this) {
				w.spend()
				return out
			}
			w.next++
			return r.appendRun(this, out)
		}
	}
	kept := w.keeps(this.user, from, f.SP, w.loops == 1)
	if w.next == 0 && kept && r.isEntering(this) {
		outer := &w.runs[1]
		if w.keeps(outer.user, from, f.SP, w.loops == 1) {
			w.next = 2
			return r.appendRun(outer, r.appendRun(this, out))
		}
	}
	switch {
	case kept, w.loops == 1 && r.keepsInner(this, from, f.SP):
	case w.sample.Regs.Known>>r.fp&1 == 0: // not stopped, and saved by no function
		w.guessed = true
	default:
		w.spend()
		return out
	}
	w.next++
	return r.appendRun(this, out)
}

// spend notes a frame of execute_ex that runs nothing, which only the innermost can be.
func (w *walk) spend() {
	w.broken = w.broken || w.spare || w.next > 0
	w.spare = true
}

// isEntering reports whether the innermost run can be one call being entered from C, without a frame of execute_ex yet:
// it is behind the opcodes that take its arguments (i_init_func_execute_data, Zend/zend_execute.c).
func (r *Runtime) isEntering(this *run) bool {
	w := &r.walk
	if this.to != 1 || w.own < 2 || w.calls[0].f == nil {
		return false
	}
	c := &w.calls[0]
	arguments := w.word(c.at+callInfo) >> 32
	at := c.f.position(c.opline)
	if ip, ok := w.sample.Regs.Get(r.ip); ok && c.f.position(ip) > arguments+1 {
		return false
	}
	return at > 0 && at <= arguments+1
}

// isIn reports whether the innermost native frame, with data in its register, runs the innermost calls. A call that
// begins or ends, or was inlined by the JIT compiler, is in the register or the globals only.
func (r *Runtime) isIn(data uint64, this *run) bool {
	w := &r.walk
	switch {
	case this.user == 0:
		return false
	case data == this.user, w.leadsTo(data, this.user):
		return true
	}
	prev, ok := w.sample.Mem.Word(this.user + callPrev)
	return ok && prev == data && w.top(this.user) == 0
}

// mostInner bounds the calls that the globals lack.
const mostInner = 16

// leadsTo reports whether execute data is of a call further in, of the same run.
func (w *walk) leadsTo(data, user uint64) bool {
	for range mostInner {
		if data%8 != 0 || w.top(data) != 0 {
			return false
		}
		prev, ok := w.sample.Mem.Word(data + callPrev)
		if !ok {
			return false
		}
		if data = prev; data == user {
			return true
		}
	}
	return false
}

// mostAbove bounds the distance to execute data further in, in bytes.
const mostAbove = 16 << 10

// keepsInner reports whether the innermost native frames keep execute data further in than the globals'.
func (r *Runtime) keepsInner(this *run, from, to uint64) bool {
	w := &r.walk
	if this.user == 0 {
		return false
	}
	inner := func(v uint64) bool {
		return v-this.user < mostAbove && v != this.user && w.leadsTo(v, this.user)
	}
	for i := range frames.NumRegs {
		if v, ok := w.sample.Regs.Get(uint8(i)); ok && inner(v) {
			return true
		}
	}
	for at := from &^ 7; at < to; at += 8 {
		if v, ok := w.sample.Mem.Word(at); ok && inner(v) {
			return true
		}
	}
	return false
}

// top gives ZEND_CALL_TOP of a call; set if unreadable.
func (w *walk) top(data uint64) uint64 {
	info, ok := w.sample.Mem.Word(data + callInfo)
	if !ok {
		return infoTop
	}
	return info & infoTop
}

// keeps reports whether execute data's address lies between two stack pointers, or, for the first frame, in a register.
func (w *walk) keeps(data, from, to uint64, first bool) bool {
	if data == 0 {
		return false
	}
	if first && w.inRegs(data) {
		return true
	}
	for at := from &^ 7; at < to; at += 8 {
		if v, ok := w.sample.Mem.Word(at); ok && v == data {
			return true
		}
	}
	return false
}

func (r *Runtime) appendRun(this *run, out []managed.Ref) []managed.Ref {
	w := &r.walk
	for i := range w.calls[this.from:this.to] {
		c := &w.calls[this.from+i]
		if c.f == nil {
			out = append(out, managed.Ref{Kind: kindFreed})
			continue
		}
		ref := managed.Ref{Object: c.fn, Cookie: c.f.serial, Kind: kindFunction}
		if c.kind != typeInternal {
			ref.Position = c.f.position(r.at(c, this.from+i))
		}
		out = append(out, ref)
	}
	return out
}

// at gives a call's opline, of the innermost call by register if that is one of its function's.
func (r *Runtime) at(c *call, i int) uint64 {
	if i == 0 {
		if ip, ok := r.sample.Regs.Get(r.ip); ok && c.f.position(ip) != 0 {
			return ip
		}
	}
	return c.opline
}

// End implements [managed.Namer].
func (r *Runtime) End() managed.Health {
	w := &r.walk
	switch {
	case w.broken, w.used && !w.sample.Live.Unchanged():
		return managed.Broken
	case w.unfinished && w.guessed: // an order without its outer end
		return managed.Broken
	case w.next < w.own && !w.unfinished && w.loops > 0:
		return managed.Broken // an unknown frame of execute_ex
	case w.next < len(w.runs) && !w.unfinished:
		return managed.Left
	}
	return managed.Matched
}

// Symbolize implements [managed.Namer].
func (r *Runtime) Symbolize(ref managed.Ref, _ managed.Live, out []managed.Frame) ([]managed.Frame, managed.Truth) {
	f := r.functions.bySerial[ref.Cookie]
	if ref.Kind != kindFunction || f == nil {
		return append(out, managed.Frame{}), managed.Freed
	}
	return append(out, managed.Frame{
		Function: f.name, File: f.file, StartLine: f.first, Line: f.line(ref.Position), Type: f.how,
	}), managed.Checked
}
