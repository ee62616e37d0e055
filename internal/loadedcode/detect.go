// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/managed"
	"prywalk/internal/runtimes"
)

type detectedRuntimes struct {
	detections   []detection // one per detector; of a kind with [managed.Runtime.Module] one more than found
	frameSources []managed.FrameSource
	histories    []managed.CodeHistory
	images       map[*Image]struct{} // at the last detection
	unowned      bool                // some code belongs to none
}

type detection struct {
	detect        managed.Detector
	kind          int
	runtime       managed.Runtime // nil: not found
	reason        error           // why not
	tries         int             // since new files or run-time code appeared
	refreshesLeft int             // refreshes until the next attempt
}

// maxDetections bounds attempts: at the next refresh, then after 2, 4, 8 more.
const maxDetections = 8

// detect attaches found systems to the new mappings, and searches for others if there are new files or code.
func (f *detectedRuntimes) detect(h *runtimeHost) {
	if f.detections == nil {
		for i, d := range runtimes.List {
			f.detections = append(f.detections, detection{detect: d, kind: i})
		}
	}
	for f.attach(h) {
	}
	fresh := f.newImages(h.mods) || !f.unowned && len(managed.Unowned(h)) > 0
	for i := 0; i < len(f.detections); i++ {
		if s := &f.detections[i]; s.runtime == nil && (fresh || s.tries == 0) {
			s.tries, s.refreshesLeft = 0, 0
			f.detectKind(i, h)
		}
	}
	f.unowned = len(managed.Unowned(h)) > 0
	f.listRoles()
}

// attach attaches the found systems, and reports whether a lost one owned code.
func (f *detectedRuntimes) attach(h *runtimeHost) (released bool) {
	for i := range f.detections {
		if s := &f.detections[i]; s.runtime != nil && !s.runtime.Attach(h) {
			released = h.release(s.runtime) || released
			*s = detection{detect: s.detect, kind: s.kind}
		}
	}
	return released
}

func (f *detectedRuntimes) newImages(mods []*frames.Module) (fresh bool) {
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

// detectKind searches the modules for a system of the kind of detection i, and adds a detection for the next one.
func (f *detectedRuntimes) detectKind(i int, h *runtimeHost) {
	s := &f.detections[i]
	s.tries++
	s.refreshesLeft = 1 << (s.tries - 1)
	if s.runtime, s.reason = s.detect(f.withoutKind(s.kind, h)); s.runtime != nil && !s.runtime.Attach(h) {
		h.release(s.runtime)
		s.runtime = nil
	}
	if s.runtime == nil || s.runtime.Module() == nil {
		return
	}
	all, free := 0, false
	for j := range f.detections {
		if o := &f.detections[j]; o.kind == s.kind {
			all++
			free = free || o.runtime == nil
		}
	}
	if !free && all < maxPerModule {
		f.detections = append(f.detections, detection{detect: s.detect, kind: s.kind})
	}
}

func (f *detectedRuntimes) withoutKind(kind int, h *runtimeHost) *runtimeHost {
	left := h
	for i := range f.detections {
		s := &f.detections[i]
		if s.kind != kind || s.runtime == nil || s.runtime.Module() == nil {
			continue
		}
		if left == h {
			clone := *h
			left, clone.mods = &clone, slices.Clone(h.mods)
		}
		left.mods = slices.DeleteFunc(left.mods, func(m *frames.Module) bool { return m == s.runtime.Module() })
	}
	return left
}

// retry repeats failed detections that are due, and reports whether a system was found.
func (f *detectedRuntimes) retry(h *runtimeHost) (changed bool) {
	for i := 0; i < len(f.detections); i++ {
		s := &f.detections[i]
		if s.runtime != nil || s.tries > 0 && s.reason == nil || s.tries >= maxDetections {
			continue
		}
		if s.refreshesLeft--; s.refreshesLeft <= 0 {
			f.detectKind(i, h)
			changed = changed || f.detections[i].runtime != nil
		}
	}
	if changed {
		f.listRoles()
	}
	return changed
}

func (f *detectedRuntimes) starting() bool {
	return slices.ContainsFunc(f.detections, func(s detection) bool {
		return s.runtime == nil && errors.Is(s.reason, managed.ErrNotYet) && s.tries < maxDetections
	})
}

func (f *detectedRuntimes) listRoles() {
	f.frameSources, f.histories = nil, nil
	for i := range f.detections {
		s := f.detections[i].runtime
		if n, ok := s.(managed.FrameSource); ok {
			f.frameSources = append(f.frameSources, n)
		}
		if c, ok := s.(managed.CodeHistory); ok {
			f.histories = append(f.histories, c)
		}
	}
}

func (f *detectedRuntimes) changed() (changed bool) {
	for i := range f.detections {
		if s := f.detections[i].runtime; s != nil && s.Changed() {
			changed = true
		}
	}
	return changed
}

func (f *detectedRuntimes) forget() {
	for i := range f.detections {
		if s := f.detections[i].runtime; s != nil {
			s.Forget()
		}
	}
}

func (f *detectedRuntimes) unreadReason() error {
	for i := range f.detections {
		s := &f.detections[i]
		if s.runtime == nil && s.reason != nil && !errors.Is(s.reason, managed.ErrNotYet) {
			return s.reason
		}
		if s.runtime != nil && s.runtime.Incomplete() != nil {
			return s.runtime.Incomplete()
		}
	}
	return nil
}

func (f *detectedRuntimes) funcRange(pc uint64) (start, end uint64, ok bool) {
	for i := range f.detections {
		if s := f.detections[i].runtime; s != nil {
			if start, end, ok = s.FuncRange(pc); ok {
				return start, end, ok
			}
		}
	}
	return 0, 0, false
}

type runtimeHost struct {
	AddressSpace
	arch     frames.Arch
	mods     []*frames.Module
	analysis *heuristics.Source
}

// release gives a system's modules their first sources; false if it owns none.
func (h *runtimeHost) release(owner managed.Runtime) (released bool) {
	for _, m := range h.mods {
		if m.Owner != owner {
			continue
		}
		m.Owner, m.NoFP, released = nil, false, true
		if img := elfImage(m); img != nil {
			m.Sources, m.Calls = img.lazySources()
		} else {
			m.Sources = []frames.RuleSource{h.analysis}
		}
	}
	return released
}

// Arch implements managed.Host.
func (h *runtimeHost) Arch() frames.Arch { return h.arch }

// ReadParts implements managed.Gatherer.
func (h *runtimeHost) ReadParts(parts []frames.Region) int {
	if g, ok := h.AddressSpace.(managed.Gatherer); ok {
		return g.ReadParts(parts)
	}
	return 0
}

// Modules implements managed.Host.
func (h *runtimeHost) Modules() []*frames.Module { return h.mods }

// Analysis implements [managed.Host].
func (h *runtimeHost) Analysis() *heuristics.Source { return h.analysis }

// Table implements managed.FileHost.
func (h *runtimeHost) Table(m *frames.Module) managed.FileTable {
	img := elfImage(m)
	if img == nil {
		return nil
	}
	return img.preparedTable()
}

// Symbol implements managed.Host.
func (h *runtimeHost) Symbol(m *frames.Module, name string) (addr, size uint64, ok bool) {
	img := elfImage(m)
	if img == nil {
		return 0, 0, false
	}
	s := img.symbol(name)
	return s.addr + m.Bias, s.size, s.ok
}

// OwnSymbols implements managed.Host.
func (h *runtimeHost) OwnSymbols(m *frames.Module, names ...string) []managed.Symbol {
	img := elfImage(m)
	if img == nil {
		return nil
	}
	img.mu.Lock()
	out := img.symbols.ownSymbols(names)
	img.mu.Unlock()
	for i := range out {
		out[i].Addr += m.Bias
	}
	return out
}

// Section implements managed.Host.
func (h *runtimeHost) Section(m *frames.Module, name string) (addr uint64, content []byte, ok bool) {
	img := elfImage(m)
	if img == nil {
		return 0, nil, false
	}
	addr, content, ok = img.section(name)
	return addr + m.Bias, content, ok
}
