// SPDX-License-Identifier: Apache-2.0

package code

import (
	"errors"
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/managed"
	"prywalk/internal/runtimes"
	"prywalk/internal/runtimes/golang"
)

// found is the run-time systems of a process that implement package managed.
type found struct {
	slots  []slot // one for each detector
	namers []managed.Namer
	dated  []managed.Dated
	images map[*Image]struct{} // the files that were there when detectors were asked
	made   bool                // there is code made at run time that nobody has adopted
}

// slot is what became of one detector.
type slot struct {
	detect managed.Detector
	system managed.Runtime // nil: none was found
	why    error           // why one that is there is not read
	tries  int             // how often it was asked
	wait   int             // so many refreshes until it is asked again
}

// A run-time system that is there and still loaded cannot be read. It is asked again at the next refresh, and then
// after 2, 4, 8 refreshes, until it was asked so often. New files begin this anew, and so does the first code that was
// made at run time and that nobody has adopted.
const maxDetections = 8

// adopt tells the modules, which have changed.
func (f *found) adopt(h *host) {
	if f.slots == nil {
		for _, d := range runtimes.List {
			f.slots = append(f.slots, slot{detect: d})
		}
	}
	for i := range f.slots {
		if s := &f.slots[i]; s.system != nil && !s.system.Adopt(h) {
			*s = slot{detect: s.detect}
		}
	}
	fresh := f.newImages(h.mods) || !f.made && len(managed.Unowned(h)) > 0
	for i := range f.slots {
		if s := &f.slots[i]; s.system == nil && (fresh || s.tries == 0) {
			s.tries, s.wait = 0, 0
			s.try(h)
		}
	}
	f.made = len(managed.Unowned(h)) > 0
	f.list()
}

// newImages reports whether there is a file that was not there before.
func (f *found) newImages(mods []*frames.Module) (fresh bool) {
	was := f.images
	f.images = make(map[*Image]struct{}, len(was))
	for _, m := range mods {
		if img := elfImage(m); img != nil {
			f.images[img] = struct{}{}
			_, old := was[img]
			fresh = fresh || !old
		}
	}
	return fresh
}

// try asks a detector.
func (s *slot) try(h *host) {
	s.tries++
	s.wait = 1 << (s.tries - 1)
	if s.system, s.why = s.detect(h); s.system != nil && !s.system.Adopt(h) {
		s.system = nil
	}
}

// again asks those anew that could not be read. It reports whether one was found, so that rules may be others now.
func (f *found) again(h *host) (changed bool) {
	for i := range f.slots {
		s := &f.slots[i]
		if s.system != nil || s.why == nil || s.tries >= maxDetections {
			continue
		}
		if s.wait--; s.wait <= 0 {
			s.try(h)
			changed = changed || s.system != nil
		}
	}
	if changed {
		f.list()
	}
	return changed
}

// starting reports whether one is there that has not begun, and is asked again.
func (f *found) starting() bool {
	return slices.ContainsFunc(f.slots, func(s slot) bool {
		return s.system == nil && errors.Is(s.why, managed.ErrNotYet) && s.tries < maxDetections
	})
}

// list makes the lists of those that name frames, and of those that know which code was there when.
func (f *found) list() {
	f.namers, f.dated = nil, nil
	for i := range f.slots {
		if n, ok := f.slots[i].system.(managed.Namer); ok {
			f.namers = append(f.namers, n)
		}
		if d, ok := f.slots[i].system.(managed.Dated); ok {
			f.dated = append(f.dated, d)
		}
	}
}

// changed reports whether rules that were given do not hold any more.
func (f *found) changed() (changed bool) {
	for i := range f.slots {
		if s := f.slots[i].system; s != nil && s.Changed() {
			changed = true
		}
	}
	return changed
}

// forget drops what is remembered of code and names.
func (f *found) forget() {
	for i := range f.slots {
		if s := f.slots[i].system; s != nil {
			s.Forget()
		}
	}
}

// unknown gives why one of them is not read, nil if none is there or all are read.
func (f *found) unknown() error {
	for i := range f.slots {
		s := &f.slots[i]
		if s.system == nil && s.why != nil && !errors.Is(s.why, managed.ErrNotYet) {
			return s.why
		}
		if u, ok := s.system.(interface{ Unknown() error }); ok && u.Unknown() != nil {
			return u.Unknown()
		}
	}
	return nil
}

// funcRange asks those that know bounds of functions.
func (f *found) funcRange(pc uint64) (start, end uint64, ok bool) {
	for i := range f.slots {
		if b, is := f.slots[i].system.(heuristics.Functions); is {
			if start, end, ok = b.FuncRange(pc); ok {
				return start, end, ok
			}
		}
	}
	return 0, 0, false
}

// Starting reports whether a run-time system is there that has not begun: it is worth a [Process.Refresh] soon.
func (p *Process) Starting() bool { return p.runtimes != nil && p.runtimes.found.starting() }

// Namers gives the run-time systems that know the managed frames of a process's threads, as of the last Refresh.
func (p *Process) Namers() []managed.Namer {
	if p.runtimes == nil {
		return nil
	}
	return p.runtimes.Namers()
}

// Tasks says where the stacks of tasks are that threads have left, as of the last Refresh; nil if no run-time system
// knows of any.
func (p *Process) Tasks() *managed.Tasks {
	if p.runtimes == nil {
		return nil
	}
	for i := range p.runtimes.found.slots {
		if t, ok := p.runtimes.found.slots[i].system.(managed.Tasker); ok {
			return t.Tasks()
		}
	}
	return nil
}

// Unknown gives why a run-time system that is there is not read, nil if there is none or all are.
func (p *Process) Unknown() error { return p.runtimes.Unknown() }

// Namers gives the run-time systems that know managed frames.
func (r *Runtimes) Namers() []managed.Namer { return r.found.namers }

// host is a process, or a core, as run-time systems see it. It implements managed.Host: what reads is the address
// space's.
type host struct {
	AddressSpace
	arch frames.Arch
	mods []*frames.Module
	flow *heuristics.Source
}

// Arch implements managed.Host.
func (h *host) Arch() frames.Arch { return h.arch }

// ReadParts implements managed.Gatherer.
func (h *host) ReadParts(parts []frames.Region) int {
	if g, ok := h.AddressSpace.(managed.Gatherer); ok {
		return g.ReadParts(parts)
	}
	return 0
}

// Modules implements managed.Host.
func (h *host) Modules() []*frames.Module { return h.mods }

// Flow implements managed.Host.
func (h *host) Flow() *heuristics.Source { return h.flow }

// GoTable implements golang.Host.
func (h *host) GoTable(m *frames.Module) *golang.Table {
	img := elfImage(m)
	if img == nil || !img.hasGoTable() {
		return nil
	}
	t := img.GoTable()
	if t != nil {
		img.mu.Lock()
		defer img.mu.Unlock()
		t.Chase() // kept: others can ask the same table, of another process that runs this file
	}
	return t
}

// Symbol implements managed.Host.
func (h *host) Symbol(m *frames.Module, name string) (addr, size uint64, ok bool) {
	img := elfImage(m)
	if img == nil {
		return 0, 0, false
	}
	s := img.symbol(name)
	return s.addr + m.Bias, s.size, s.ok
}

// Own implements managed.Host.
func (h *host) Own(m *frames.Module, names ...string) []managed.Symbol {
	img := elfImage(m)
	if img == nil {
		return nil
	}
	out := slices.Clone(img.own(names))
	for i := range out {
		out[i].Addr += m.Bias
	}
	return out
}

// Section implements managed.Host.
func (h *host) Section(m *frames.Module, name string) (addr uint64, content []byte, ok bool) {
	img := elfImage(m)
	if img == nil {
		return 0, nil, false
	}
	addr, content, ok = img.section(name)
	return addr + m.Bias, content, ok
}
