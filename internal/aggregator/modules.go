// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/loadedcode"
	"prywalk/internal/profile"
)

// module describes a module. The description is dropped with the mapping, as rule sources hold copies of code.
func (b *stackBuilder) module(p *processState, m *frames.Module) *profile.ModuleInfo {
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

func (b *stackBuilder) forgetModules(p *processState, mapped []*frames.Module) {
	p.remapped = false
	before := len(p.modules)
	for m, info := range p.modules {
		if !slices.Contains(mapped, m) {
			delete(p.modules, m)
			b.builder.ForgetModule(info)
		}
	}
	if len(p.modules) < before {
		clear(b.locations[:]) // it has pointers to modules
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
	if mapping := loadedcode.MappingOf(m); mapping != nil {
		info.FileOffset = mapping.Offset
		if mapping.Image != nil {
			info.File = profile.FileID(mapping.Image.ID)
		}
		if mapping.JIT {
			info.Owner, info.Grows = pid, mapping.Names == nil // with names it may replace others at the same addresses
		}
	}
	return info
}
