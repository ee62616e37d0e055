// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/target"
)

// mmap2Program is the code of an unopened process, by the kernel's records.
type mmap2Program struct {
	program *target.Program
	code    *loadedcode.Mmap2Space
	modules map[*frames.Module]*profile.ModuleInfo
}

// stackOfUntracked walks a sample of an untracked descendant of ancestor.
func (b *stackBuilder) stackOfUntracked(
	ancestor *target.Process, program *target.Program, s *observe.RawSample,
) (sample.StackID, frames.StopReason) {
	b.ownership.beginRead() // files are opened
	defer b.ownership.endRead()
	ran := b.mmap2Code(ancestor, program)
	b.beginStack()
	b.addKernelFrames(s)
	w := &b.walker
	for w.Init(ran.code.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		b.walkMethods[f.Method]++
		loc := profile.Loc{Addr: f.LookupPC(s.Regs.Arch)}
		if f.Module != nil {
			info := ran.modules[f.Module]
			if info == nil {
				info = ModuleInfo(ancestor.Target.PID, f.Module)
				ran.modules[f.Module] = info
			}
			loc.Module = info
		}
		b.stack = append(b.stack, b.builder.Loc(&loc))
	}
	if end := w.StopReason(); end.Complete() || !inExec(s) {
		return b.endStack(end)
	}
	return b.kernelStack(s, frames.StopRoot)
}

func (b *stackBuilder) mmap2Code(ancestor *target.Process, program *target.Program) *mmap2Program {
	if b.lastMmap2Program.program != program {
		for _, info := range b.lastMmap2Program.modules {
			b.builder.ForgetModule(info)
		}
		b.lastMmap2Program = mmap2Program{
			program: program,
			code:    b.images.Mmap2Space(ancestor.Target.Arch, program.Maps, ancestor.Target.PID, program.Name),
			modules: map[*frames.Module]*profile.ModuleInfo{},
		}
	}
	return &b.lastMmap2Program
}
