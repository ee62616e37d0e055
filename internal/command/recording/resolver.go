// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"slices"
	"sync/atomic"

	"prywalk/internal/code/symbols"
	"prywalk/internal/command/console"
	"prywalk/internal/store/profile"
)

type resolver struct {
	*symbols.Namer
	lookedUp  atomic.Int64    // number of addresses since begin
	skipNames <-chan struct{} // closed: skip names; nil: never
	skipped   int
	buf       []symbols.Frame
	kernel    *symbols.KernelNames // nil: not read yet
}

func newResolver() *resolver { return &resolver{Namer: symbols.NewNamer()} }

// begin begins a write, in which unknown names are skipped once skipNames is closed.
func (r *resolver) begin(skipNames <-chan struct{}) {
	r.lookedUp.Store(0)
	r.skipNames, r.skipped = skipNames, 0
}

// Resolve implements [profile.Resolver].
func (r *resolver) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	r.lookedUp.Add(1)
	select {
	case <-r.skipNames:
		r.skipped++
		return nil
	default: // also if skipNames is nil
	}
	switch o := &m.Origin; {
	case o.Kernel:
		return r.kernelFrames(addr)
	case o.Module == nil:
		return nil
	}
	r.buf = r.Frames(m.Origin.Module, m.Origin.PID, addr, r.buf[:0])
	return slices.Clone(r.buf)
}

// IsFinal implements profile.FinalResolver.
func (r *resolver) IsFinal(m *profile.ModuleInfo) bool {
	mod := m.Origin.Module
	return mod != nil && r.skipped == 0 && r.NamesFinal(mod)
}

func (r *resolver) kernelFrames(addr uint64) []profile.Frame {
	if r.kernel == nil {
		names, err := symbols.ReadKernelNamesOnce()
		if err != nil {
			console.Infof("%v; kernel frames are shown without names", err)
			names = &symbols.KernelNames{}
		}
		r.kernel = names
	}
	if name := r.kernel.Name(addr); name != "" {
		return []profile.Frame{{Name: name}}
	}
	return nil
}
