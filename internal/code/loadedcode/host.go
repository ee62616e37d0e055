// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bytes"
	"debug/elf"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/runtimes"
)

type runtimeHost struct {
	AddressSpace
	arch     frames.Arch
	mods     []*frames.Module
	analysis *heuristics.Source
}

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

// CodeAnalysis implements [managed.Host].
func (h *runtimeHost) CodeAnalysis() *heuristics.Source { return h.analysis }

// useImage calls use with the image of a module's file, if it has one, under its lock.
func useImage(m *frames.Module, use func(img *Image)) {
	if img := elfImage(m); img != nil {
		img.mu.Lock()
		defer img.mu.Unlock()
		use(img)
	}
}

// Table implements managed.FileHost.
func (h *runtimeHost) Table(m *frames.Module) (t managed.FileTable) {
	useImage(m, func(img *Image) {
		if !runtimes.HasTable(img.ELF) {
			return
		}
		if t = img.madeRules().table; t != nil {
			t.Prepare()
		}
	})
	return t
}

// Symbol implements managed.Host.
func (h *runtimeHost) Symbol(m *frames.Module, name string) (addr, size uint64, ok bool) {
	useImage(m, func(img *Image) {
		s := img.symbols.firstNamed(name)
		addr, size, ok = s.Addr+m.Bias, s.Size, s.Name != ""
	})
	return addr, size, ok
}

// OwnSymbols implements managed.Host.
func (h *runtimeHost) OwnSymbols(m *frames.Module, names ...string) (out []managed.Symbol) {
	useImage(m, func(img *Image) { out = img.symbols.ownSymbols(names) })
	for i := range out {
		out[i].Addr += m.Bias
	}
	return out
}

// Section implements managed.Host.
func (h *runtimeHost) Section(m *frames.Module, name string) (addr uint64, content []byte, ok bool) {
	useImage(m, func(img *Image) {
		s := img.ELF.Section(name)
		data, err := img.ELF.Data(s)
		if err == nil {
			defer img.ELF.Free(data)
			addr, content, ok = s.Addr+m.Bias, slices.Clone(data), true
		}
	})
	return addr, content, ok
}

// AnonymousAreas implements [managed.AreaHost].
func (h *runtimeHost) AnonymousAreas(f func(managed.Span)) {
	_ = h.Mappings(func(m *RawMapping) {
		anonymous := m.Inode == 0 && (len(m.RawPath) == 0 || bytes.HasPrefix(m.RawPath, []byte("[anon:")))
		if anonymous && m.Perm&(PermRead|PermWrite|PermExec|permShared) == PermRead|PermWrite {
			f(managed.Span{Start: m.Start, End: m.End})
		}
	})
}

// ReadsContexts implements [managed.ContextHost].
func (h *runtimeHost) ReadsContexts() bool { return h.Images().ReadContexts }

// NamedMapping implements [managed.ContextHost].
func (h *runtimeHost) NamedMapping(prefixes ...string) (start, end uint64, ok bool) {
	if !h.ReadsContexts() {
		return 0, 0, false
	}
	_ = h.Mappings(func(m *RawMapping) {
		name, _ := m.name()
		if !ok && slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			start, end, ok = m.Start, m.End, true
		}
	})
	return start, end, ok
}

// ThreadLocalBlock implements [managed.ContextHost].
func (h *runtimeHost) ThreadLocalBlock(m *frames.Module) (size, align uint64, ok bool) {
	useImage(m, func(img *Image) {
		for i := range img.ELF.Segments {
			if s := &img.ELF.Segments[i]; s.Type == elf.PT_TLS && !ok {
				size, align, ok = s.MemSize, max(s.Align, 1), true
			}
		}
	})
	return size, align, ok
}
