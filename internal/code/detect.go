// SPDX-License-Identifier: Apache-2.0

package code

import (
	"errors"
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/managed"
	"prywalk/internal/runtimes"
)

type foundSystems struct {
	slots     []slot // one per detector; of a kind with [managed.Runtime.Module] one more than found
	namers    []managed.Namer
	histories []managed.CodeHistory
	images    map[*Image]struct{} // at the last detection
	unowned   bool                // some code belongs to none
}

type slot struct {
	detect        managed.Detector
	kind          int
	system        managed.Runtime // nil: not found
	reason        error           // why not
	tries         int             // since new files or run-time code appeared
	refreshesLeft int             // refreshes until the next attempt
}

// maxDetections bounds attempts: at the next refresh, then after 2, 4, 8 more.
const maxDetections = 8

// detect attaches found systems to the new mappings, and searches for others if there are new files or code.
func (f *foundSystems) detect(h *host) {
	if f.slots == nil {
		for i, d := range runtimes.List {
			f.slots = append(f.slots, slot{detect: d, kind: i})
		}
	}
	for f.attach(h) {
	}
	fresh := f.newImages(h.mods) || !f.unowned && len(managed.Unowned(h)) > 0
	for i := 0; i < len(f.slots); i++ {
		if s := &f.slots[i]; s.system == nil && (fresh || s.tries == 0) {
			s.tries, s.refreshesLeft = 0, 0
			f.detectKind(i, h)
		}
	}
	f.unowned = len(managed.Unowned(h)) > 0
	f.list()
}

// attach attaches the found systems, and reports whether a lost one owned code.
func (f *foundSystems) attach(h *host) (released bool) {
	for i := range f.slots {
		if s := &f.slots[i]; s.system != nil && !s.system.Attach(h) {
			released = h.release(s.system) || released
			*s = slot{detect: s.detect, kind: s.kind}
		}
	}
	return released
}

func (f *foundSystems) newImages(mods []*frames.Module) (fresh bool) {
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

const maxPerModule = 16

// detectKind searches the modules for a system of slot i's kind, and adds a slot for the next one.
func (f *foundSystems) detectKind(i int, h *host) {
	s := &f.slots[i]
	s.tries++
	s.refreshesLeft = 1 << (s.tries - 1)
	if s.system, s.reason = s.detect(f.withoutKind(s.kind, h)); s.system != nil && !s.system.Attach(h) {
		h.release(s.system)
		s.system = nil
	}
	if s.system == nil || s.system.Module() == nil {
		return
	}
	all, free := 0, false
	for j := range f.slots {
		if o := &f.slots[j]; o.kind == s.kind {
			all++
			free = free || o.system == nil
		}
	}
	if !free && all < maxPerModule {
		f.slots = append(f.slots, slot{detect: s.detect, kind: s.kind})
	}
}

func (f *foundSystems) withoutKind(kind int, h *host) *host {
	left := h
	for i := range f.slots {
		s := &f.slots[i]
		if s.kind != kind || s.system == nil || s.system.Module() == nil {
			continue
		}
		if left == h {
			clone := *h
			left, clone.mods = &clone, slices.Clone(h.mods)
		}
		left.mods = slices.DeleteFunc(left.mods, func(m *frames.Module) bool { return m == s.system.Module() })
	}
	return left
}

// retry repeats failed detections that are due, and reports whether a system was found.
func (f *foundSystems) retry(h *host) (changed bool) {
	for i := 0; i < len(f.slots); i++ {
		s := &f.slots[i]
		if s.system != nil || s.tries > 0 && s.reason == nil || s.tries >= maxDetections {
			continue
		}
		if s.refreshesLeft--; s.refreshesLeft <= 0 {
			f.detectKind(i, h)
			changed = changed || f.slots[i].system != nil
		}
	}
	if changed {
		f.list()
	}
	return changed
}

func (f *foundSystems) starting() bool {
	return slices.ContainsFunc(f.slots, func(s slot) bool {
		return s.system == nil && errors.Is(s.reason, managed.ErrNotYet) && s.tries < maxDetections
	})
}

func (f *foundSystems) list() {
	f.namers, f.histories = nil, nil
	for i := range f.slots {
		s := f.slots[i].system
		if n, ok := s.(managed.Namer); ok {
			f.namers = append(f.namers, n)
		}
		if c, ok := s.(managed.CodeHistory); ok {
			f.histories = append(f.histories, c)
		}
	}
}

func (f *foundSystems) changed() (changed bool) {
	for i := range f.slots {
		if s := f.slots[i].system; s != nil && s.Changed() {
			changed = true
		}
	}
	return changed
}

func (f *foundSystems) forget() {
	for i := range f.slots {
		if s := f.slots[i].system; s != nil {
			s.Forget()
		}
	}
}

func (f *foundSystems) unknown() error {
	for i := range f.slots {
		s := &f.slots[i]
		if s.system == nil && s.reason != nil && !errors.Is(s.reason, managed.ErrNotYet) {
			return s.reason
		}
		if s.system != nil && s.system.Incomplete() != nil {
			return s.system.Incomplete()
		}
	}
	return nil
}

func (f *foundSystems) funcRange(pc uint64) (start, end uint64, ok bool) {
	for i := range f.slots {
		if s := f.slots[i].system; s != nil {
			if start, end, ok = s.FuncRange(pc); ok {
				return start, end, ok
			}
		}
	}
	return 0, 0, false
}

type host struct {
	AddressSpace
	arch frames.Arch
	mods []*frames.Module
	flow *heuristics.Source
}

// release gives a system's modules their first sources; false if it owns none.
func (h *host) release(owner managed.Runtime) (released bool) {
	for _, m := range h.mods {
		if m.Owner != owner {
			continue
		}
		m.Owner, m.NoFP, released = nil, false, true
		if img := elfImage(m); img != nil {
			m.Sources, m.Calls = img.lazySources()
		} else {
			m.Sources = []frames.RuleSource{h.flow}
		}
	}
	return released
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

// Table implements managed.FileHost.
func (h *host) Table(m *frames.Module) managed.FileTable {
	img := elfImage(m)
	if img == nil {
		return nil
	}
	return img.preparedTable()
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

// OwnSymbols implements managed.Host.
func (h *host) OwnSymbols(m *frames.Module, names ...string) []managed.Symbol {
	img := elfImage(m)
	if img == nil {
		return nil
	}
	img.mu.Lock()
	out := img.symbols.own(names)
	img.mu.Unlock()
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
