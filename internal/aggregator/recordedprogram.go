// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/handover"
	"prywalk/internal/incomplete"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

// recordedProgram is the code of a process that was never opened, by the kernel's records of its mappings.
type recordedProgram struct {
	program *handover.Program
	code    *loadedcode.RecordedSpace
	modules map[*frames.Module]*profile.ModuleInfo
}

// unwindSample walks a sample of program g; nil: of the thread's process.
func (b *stackBuilder) unwindSample(th *threadAccount, g *handover.Program, s *observe.RawSample) (
	sample.StackID, frames.StopReason,
) {
	switch {
	case s.Regs.Arch == frames.ArchUnknown: // in exec or exit, without a user stack
		return b.unwindKernel(s, frames.StopRoot)
	case g == nil && th.proc.Ended:
		return b.unwindKernel(s, frames.StopBadMemory)
	case g == nil:
		return b.unwind(th, s)
	}
	return b.unwindRecorded(th.proc.SharedProcess, g, s)
}

func (b *stackBuilder) unwindRecorded(waiter *handover.SharedProcess, g *handover.Program, s *observe.RawSample) (
	sample.StackID, frames.StopReason,
) {
	b.lock.beginRead() // files are opened
	defer b.lock.endRead()
	l := b.recordedCode(waiter, g)
	b.stack = b.stack[:0]
	b.addKernelFrames(s)
	w := &b.walker
	for w.Init(l.code.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		b.methods[f.Method]++
		loc := profile.Loc{Addr: f.LookupPC(s.Regs.Arch)}
		if f.Module != nil {
			info := l.modules[f.Module]
			if info == nil {
				info = ModuleInfo(waiter.Target.PID, f.Module)
				l.modules[f.Module] = info
			}
			loc.Module = info
		}
		b.stack = append(b.stack, b.builder.Loc(&loc))
	}
	if stop := w.StopReason(); stop.Complete() || !inExec(s) {
		return b.endStack(stop)
	}
	return b.unwindKernel(s, frames.StopRoot)
}

// recordedCode returns a program's code. It caches one.
func (b *stackBuilder) recordedCode(waiter *handover.SharedProcess, g *handover.Program) *recordedProgram {
	if b.lastRecorded.program != g {
		for _, info := range b.lastRecorded.modules {
			b.builder.ForgetModule(info)
		}
		b.lastRecorded = recordedProgram{
			program: g,
			code:    b.images.RecordedSpace(waiter.Target.Arch, g.Maps, waiter.Target.PID, g.Name),
			modules: map[*frames.Module]*profile.ModuleInfo{},
		}
	}
	return &b.lastRecorded
}

func (b *stackBuilder) unwindKernel(s *observe.RawSample, stop frames.StopReason) (sample.StackID, frames.StopReason) {
	b.stack = b.stack[:0]
	b.addKernelFrames(s)
	if len(b.stack) == 0 {
		b.stack = append(b.stack, b.builder.Loc(&profile.Loc{Synthetic: attribute.ExecOrExit}))
	}
	return b.endStack(stop)
}

// execOrExitStack returns one kernel function if wanted, else [attribute.ExecOrExit].
func (b *stackBuilder) execOrExitStack(found attribute.Found, wanted bool) sample.StackID {
	loc := b.builder.Loc(&profile.Loc{Synthetic: attribute.ExecOrExit})
	switch {
	case !wanted:
	case found == attribute.FoundInExit:
		loc = b.kernelFunction([]byte("do_exit"))
	default:
		loc = b.kernelFunction([]byte("do_execveat_common"))
	}
	return b.builder.InternLocs([]profile.LocID{loc})
}

func (b *stackBuilder) endStack(stop frames.StopReason) (sample.StackID, frames.StopReason) {
	if !stop.Complete() {
		b.stack = append(b.stack, b.builder.Loc(&profile.Loc{Synthetic: incomplete.Name(stop.String())}))
	}
	return b.builder.InternLocs(b.stack), stop
}
