// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/walk/managed"
)

// Host is a process as runtimes get it, with symbols read by the standard library.
type Host struct {
	p     *loadedcode.Process
	files map[string]fileSymbols
}

type fileSymbols struct {
	named     map[string]elf.Symbol
	functions []elf.Symbol // by address
}

// NewHost returns the host of a process.
func NewHost(p *loadedcode.Process) *Host { return &Host{p, map[string]fileSymbols{}} }

// Arch implements managed.Host.
func (h *Host) Arch() frames.Arch { return h.p.Space().Arch }

// Modules implements managed.Host.
func (h *Host) Modules() []*frames.Module { return h.p.Space().Modules() }

// CodeAnalysis implements [managed.Host].
func (h *Host) CodeAnalysis() *heuristics.Source { return nil }

// Read implements managed.Host.
func (h *Host) Read(a uint64, b []byte) int { n, _ := h.p.ReadMem(a, b); return n }

// ReadParts implements managed.Gatherer.
func (h *Host) ReadParts(parts []frames.Region) int { return h.p.ReadParts(parts) }

// ReadCode implements managed.Host.
func (h *Host) ReadCode(a uint64, b []byte) int { return h.Read(a, b) }

// Section implements managed.Host without sections.
func (h *Host) Section(*frames.Module, string) (uint64, []byte, bool) { return 0, nil, false }

// OwnSymbols implements managed.Host.
func (h *Host) OwnSymbols(m *frames.Module, names ...string) (all []managed.Symbol) {
	for _, name := range names {
		if at, size, ok := h.Symbol(m, name); ok {
			all = append(all, managed.Symbol{Name: name, Addr: at, Size: size})
		}
	}
	return all
}

// Symbol implements managed.Host.
func (h *Host) Symbol(m *frames.Module, name string) (addr, size uint64, ok bool) {
	s, ok := h.symbols(m).named[name]
	return s.Value + m.Bias, s.Size, ok
}

func (h *Host) symbols(m *frames.Module) fileSymbols {
	if known, ok := h.files[m.Name]; ok {
		return known
	}
	read := fileSymbols{named: map[string]elf.Symbol{}}
	if f, err := elf.Open(m.Name); err == nil {
		all, _ := f.DynamicSymbols()
		more, _ := f.Symbols()
		for _, s := range append(all, more...) {
			if s.Section == elf.SHN_UNDEF {
				continue
			}
			read.named[s.Name] = s
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
				read.functions = append(read.functions, s)
			}
		}
		f.Close()
	}
	slices.SortStableFunc(read.functions, byAddress)
	h.files[m.Name] = read
	return read
}

func byAddress(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) }

// Function returns the last function symbol at or before pc, and the distance; "?": none.
func (h *Host) Function(pc uint64) string {
	m := h.p.Space().ModuleAt(pc)
	if m == nil {
		return "?"
	}
	functions := h.symbols(m).functions
	i, _ := slices.BinarySearchFunc(functions, elf.Symbol{Value: pc - m.Bias + 1}, byAddress)
	if i == 0 {
		return "?"
	}
	last := functions[i-1]
	return fmt.Sprintf("%s+%#x", last.Name, pc-m.Bias-last.Value)
}
