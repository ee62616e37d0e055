// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
)

// # Modules of a recording
//
// Until a recording is written it needs a module's addresses, names and file, but not its rule sources, which hold the
// process and copies of its code: it gets a copy without them.

// module returns the recording's description of a module, for as long as the mapping lasts.
func (u *unwinder) module(p *processAccount, m *frames.Module) *profile.ModuleInfo {
	if m == nil {
		return nil
	}
	info := p.modules[m]
	if info == nil {
		if p.remapped {
			u.forgetModules(p, p.Target.Space().Modules())
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
func (u *unwinder) forgetModules(p *processAccount, but []*frames.Module) {
	p.remapped = false
	before := len(p.modules)
	for m, info := range p.modules {
		if !slices.Contains(but, m) {
			delete(p.modules, m)
			u.builder.ForgetModule(info)
		}
	}
	if len(p.modules) < before {
		clear(u.locations[:]) // it references modules
	}
	u.forgetManaged(p)
}

// ModuleInfo returns the recording's description of a module of a process.
func ModuleInfo(pid int, m *frames.Module) *profile.ModuleInfo {
	named := *m
	named.Sources, named.Calls = nil, nil
	info := &profile.ModuleInfo{
		Start: m.Start, End: m.End, Bias: m.Bias, Path: code.DisplayName(m), BuildID: m.BuildID,
		Origin: profile.Origin{Module: &named, PID: pid},
	}
	if at := code.MappingOf(m); at != nil {
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

func (u *unwinder) kernelFrames(s *observe.RawSample) {
	for i, addr := range s.Kernel {
		if i > 0 {
			addr-- // return address: the call may be the function's last instruction
		}
		if addr >= kernelModule.Start {
			u.stack = append(u.stack, u.kernelLocation(addr))
		}
	}
	for name, rest := procmem.NextKernelFrame(s.KernelText); len(name) > 0; name, rest = procmem.NextKernelFrame(rest) {
		u.stack = append(u.stack, u.kernelFunction(name))
	}
}

func (u *unwinder) kernelFunction(name []byte) profile.LocID {
	id, ok := u.kernelFunctions[string(name)]
	if !ok {
		if u.kernelFunctions == nil || len(u.kernelFunctions) >= maxKernel {
			u.kernelFunctions = map[string]profile.LocID{}
		}
		described := u.builder.InternFrames([]profile.Frame{{Name: string(name), System: string(name)}})
		id = u.builder.Loc(&profile.Loc{Module: kernelModule, FramesID: described})
		u.kernelFunctions[string(name)] = id
	}
	return id
}

func (u *unwinder) kernelLocation(addr uint64) profile.LocID {
	id, ok := u.kernelAddresses[addr]
	if !ok {
		if u.kernelAddresses == nil || len(u.kernelAddresses) >= maxKernel {
			u.kernelAddresses = map[uint64]profile.LocID{}
		}
		id = u.builder.Loc(&profile.Loc{Module: kernelModule, Addr: addr})
		u.kernelAddresses[addr] = id
	}
	return id
}

const maxKernel = 1 << 14
