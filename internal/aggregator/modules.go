// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
)

// # Modules of a recording
//
// Until a recording is written it needs a module's addresses, names and file, but not its rule sources, which hold the
// process and copies of its code: it gets a copy without them.

// module returns the recording's description of a module, for as long as the mapping lasts.
func (b *stackBuilder) module(p *processAccount, m *frames.Module) *profile.ModuleInfo {
	if m == nil {
		return nil
	}
	info := p.modules[m]
	if info == nil {
		if p.remapped {
			b.forgetModules(p, p.Target.Space().Modules())
		}
		if p.modules == nil {
			p.modules = map[*frames.Module]*profile.ModuleInfo{}
		}
		info = ModuleInfo(p.Target.PID, m)
		p.modules[m] = info
	}
	return info
}

// forgetModules drops descriptions of modules not in but.
func (b *stackBuilder) forgetModules(p *processAccount, but []*frames.Module) {
	p.remapped = false
	before := len(p.modules)
	for m, info := range p.modules {
		if !slices.Contains(but, m) {
			delete(p.modules, m)
			b.builder.ForgetModule(info)
		}
	}
	if len(p.modules) < before {
		clear(b.locations[:]) // it references modules
	}
	b.forgetManaged(p)
}

// ModuleInfo returns the recording's description of a module of a process.
func ModuleInfo(pid int, m *frames.Module) *profile.ModuleInfo {
	named := *m
	named.Sources, named.Calls = nil, nil
	info := &profile.ModuleInfo{
		Start: m.Start, End: m.End, Bias: m.Bias, Path: loadedcode.DisplayName(m), BuildID: m.BuildID,
		Origin: profile.Origin{Module: &named, PID: pid},
	}
	if at := loadedcode.MappingOf(m); at != nil {
		info.FileOffset = at.Offset
		if at.Image != nil {
			info.File = profile.FileID(at.Image.ID)
		}
		if at.JIT {
			info.Owner, info.Grows = pid, at.Names == nil // with names it may replace others at the same addresses
		}
	}
	return info
}

// kernelModule is the upper half of all addresses.
var kernelModule = &profile.ModuleInfo{
	Start: 1 << 63, End: ^uint64(0), Path: "[kernel]", Origin: profile.Origin{Kernel: true},
}

func (b *stackBuilder) addKernelFrames(s *observe.RawSample) {
	for i, addr := range s.Kernel {
		if i > 0 {
			addr-- // return address: the call may be the function's last instruction
		}
		if addr >= kernelModule.Start {
			b.stack = append(b.stack, b.kernelLocation(addr))
		}
	}
	for name, rest := procmem.NextKernelFrame(s.KernelText); len(name) > 0; name, rest = procmem.NextKernelFrame(rest) {
		b.stack = append(b.stack, b.kernelFunction(name))
	}
}

func (b *stackBuilder) kernelFunction(name []byte) profile.LocID {
	id, ok := b.kernelFunctions[string(name)]
	if !ok {
		if b.kernelFunctions == nil || len(b.kernelFunctions) >= maxKernel {
			b.kernelFunctions = map[string]profile.LocID{}
		}
		described := b.builder.InternFrames([]profile.Frame{{Name: string(name), System: string(name)}})
		id = b.builder.Loc(&profile.Loc{Module: kernelModule, FramesID: described})
		b.kernelFunctions[string(name)] = id
	}
	return id
}

func (b *stackBuilder) kernelLocation(addr uint64) profile.LocID {
	id, ok := b.kernelAddresses[addr]
	if !ok {
		if b.kernelAddresses == nil || len(b.kernelAddresses) >= maxKernel {
			b.kernelAddresses = map[uint64]profile.LocID{}
		}
		id = b.builder.Loc(&profile.Loc{Module: kernelModule, Addr: addr})
		b.kernelAddresses[addr] = id
	}
	return id
}

const maxKernel = 1 << 14
