// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"maps"
	"slices"
	"sync"

	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

// location numbers an address. machinery means that it runs managed frames.
func (b *stackBuilder) location(p *processState, m *frames.Module, addr frames.Addr, machinery bool) profile.LocID {
	return b.builder.Loc(&profile.Loc{Module: b.module(p, m), Addr: addr, Machinery: machinery})
}

// maxCached bounds the entries of a cache.
const maxCached = 1 << 14

// module describes a module. The description is dropped with the mapping, as rule sources hold copies of code.
func (b *stackBuilder) module(p *processState, m *frames.Module) *profile.ModuleInfo {
	if m != nil && p.remapped && p.modules[m] == nil {
		b.forgetModules(p, p.process.Code.Space().Modules())
	}
	return describedOnce(&p.modules, p.process.Code.PID, m)
}

type moduleInfos = map[*frames.Module]*profile.ModuleInfo

// describedOnce returns nil for nil.
func describedOnce(known *moduleInfos, pid int, m *frames.Module) *profile.ModuleInfo {
	info := (*known)[m]
	if info == nil && m != nil {
		info = ModuleInfo(pid, m)
		cache.Put(known, maxCached, m, info)
	}
	return info
}

func (b *stackBuilder) forgetModules(p *processState, mapped []*frames.Module) {
	p.remapped = false
	maps.DeleteFunc(p.modules, func(m *frames.Module, _ *profile.ModuleInfo) bool { return !slices.Contains(mapped, m) })
	clear(p.managedNames.modules)
	clear(p.managedNames.descriptions)
}

// ModuleInfo returns the recording's description of a module of a process.
func ModuleInfo(pid int, m *frames.Module) *profile.ModuleInfo {
	named := *m
	named.Sources, named.Calls = nil, nil
	info := &profile.ModuleInfo{
		Start: m.Start, End: m.End, Bias: m.Bias, Path: m.Name, BuildID: m.BuildID,
		Origin: profile.Origin{Module: &named, PID: pid},
	}
	if mapping := loadedcode.MappingOf(m); mapping != nil {
		info.FileOffset = mapping.Offset
		if mapping.Image != nil {
			info.File = profile.FileID(mapping.Image.ID)
		}
		if mapping.JIT {
			info.Owner, info.Grows = pid, true
		}
	}
	return info
}

// mmap2Program is the code of an unopened process, by the kernel's records.
type mmap2Program struct {
	program *target.Program
	code    *loadedcode.Mmap2Space
	modules moduleInfos
}

// stackOfUntracked walks a sample of an untracked descendant of ancestor.
func (b *stackBuilder) stackOfUntracked(
	ancestor *target.Process, program *target.Program, s *observe.RawSample,
) (sample.StackID, frames.StopReason) {
	ran := b.mmap2Code(ancestor, program)
	b.beginStack()
	b.addKernelFrames(s)
	w := &b.walker
	for w.Init(ran.code.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		b.count(&f)
		code := describedOnce(&ran.modules, ancestor.Code.PID, f.Module)
		b.stack = append(b.stack, b.builder.Loc(&profile.Loc{Module: code, Addr: f.LookupPC(s.Regs.Arch)}))
	}
	if end := w.StopReason(); end.Complete() || !inExec(s) {
		return b.endStack(end)
	}
	return b.kernelStack(s, frames.StopRoot)
}

func (b *stackBuilder) mmap2Code(ancestor *target.Process, program *target.Program) *mmap2Program {
	if b.lastMmap2Program.program != program {
		b.lastMmap2Program = mmap2Program{
			program: program,
			code:    b.images.Mmap2Space(ancestor.Code.Arch, program.Maps, ancestor.Code.PID),
		}
	}
	return &b.lastMmap2Program
}

var kernelModule = &profile.ModuleInfo{
	Start: 1 << 63, End: ^uint64(0), Path: "[kernel]", Origin: profile.Origin{Kernel: true},
}

// addKernelFrames numbers kernel frames: by address in samples of running threads, by name in those of sleepers.
func (b *stackBuilder) addKernelFrames(s *observe.RawSample) {
	for i, addr := range s.KernelStack.Frames {
		if i > 0 {
			addr-- // the call may be the function's last instruction
		}
		if addr >= kernelModule.Start {
			b.stack = append(b.stack, b.builder.Loc(&profile.Loc{Module: kernelModule, Addr: addr}))
		}
	}
	for name, rest := procmem.NextKernelFrame(s.KernelStack.Text); len(name) > 0; name,
		rest = procmem.NextKernelFrame(rest) {
		text := string(name)
		b.kernelFrame[0] = profile.Frame{Name: text, System: text}
		described := b.builder.InternFrames(b.kernelFrame[:])
		b.stack = append(b.stack, b.builder.Loc(&profile.Loc{Module: kernelModule, FramesID: described}))
	}
}

// execSpan is load_elf_binary's addresses (fs/binfmt_elf.c); empty without kernel symbols.
var execSpan = sync.OnceValues(func() (from, to uint64) {
	names, err := symbols.ReadKernelNamesOnce()
	if err != nil {
		return 0, 0
	}
	return names.FuncRange("load_elf_binary")
})

// inExec reports a sample in an exec: begin_new_exec drops the memory first, start_thread sets the user registers last.
func inExec(s *observe.RawSample) bool {
	if len(s.KernelStack.Frames) == 0 {
		return false
	}
	from, to := execSpan()
	for _, addr := range s.KernelStack.Frames {
		if from <= addr && addr < to {
			return true
		}
	}
	return false
}
