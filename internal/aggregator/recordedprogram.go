// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/namehints"
	"prywalk/internal/observe"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

// recordedProgram is the code of a process that was never opened, by the kernel's records of its mappings.
type recordedProgram struct {
	program *handover.Program
	code    *code.RecordedSpace
	modules map[*frames.Module]*profile.ModuleInfo
}

// unwindSample walks a sample of program g; nil: of the thread's process.
func (u *unwinder) unwindSample(th *threadAccount, g *handover.Program, s *observe.RawSample) (
	sample.StackID, frames.StopReason,
) {
	switch {
	case s.Regs.Arch == frames.ArchUnknown: // in exec or exit, without a user stack
		return u.unwindKernel(s, frames.StopRoot)
	case g == nil && th.proc.Ended:
		return u.unwindKernel(s, frames.StopBadMemory)
	case g == nil:
		return u.unwind(th, s)
	}
	return u.unwindRecorded(th.proc.SharedProcess, g, s)
}

func (u *unwinder) unwindRecorded(waiter *handover.SharedProcess, g *handover.Program, s *observe.RawSample) (
	sample.StackID, frames.StopReason,
) {
	u.lock.beginRead() // files are opened
	defer u.lock.endRead()
	l := u.recorded(waiter, g)
	u.stack = u.stack[:0]
	u.kernelFrames(s)
	w := &u.walker
	for w.Init(l.code.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		u.methods[f.Method]++
		loc := profile.Loc{Addr: f.LookupPC(s.Regs.Arch)}
		if f.Module != nil {
			info := l.modules[f.Module]
			if info == nil {
				info = ModuleInfo(waiter.Target.PID, f.Module)
				l.modules[f.Module] = info
			}
			loc.Module = info
		}
		u.stack = append(u.stack, u.builder.Loc(&loc))
	}
	if stop := w.StopReason(); stop.Complete() || !inExec(s) {
		return u.endStack(stop)
	}
	return u.unwindKernel(s, frames.StopRoot)
}

// recorded returns a program's code. It caches one.
func (u *unwinder) recorded(waiter *handover.SharedProcess, g *handover.Program) *recordedProgram {
	if u.lastRecorded.program != g {
		for _, info := range u.lastRecorded.modules {
			u.builder.ForgetModule(info)
		}
		u.lastRecorded = recordedProgram{
			program: g,
			code:    u.images.RecordedSpace(waiter.Target.Arch, g.Maps, waiter.Target.PID, g.Name),
			modules: map[*frames.Module]*profile.ModuleInfo{},
		}
	}
	return &u.lastRecorded
}

func (u *unwinder) unwindKernel(s *observe.RawSample, stop frames.StopReason) (sample.StackID, frames.StopReason) {
	u.stack = u.stack[:0]
	u.kernelFrames(s)
	if len(u.stack) == 0 {
		u.stack = append(u.stack, u.builder.Loc(&profile.Loc{Synthetic: attribute.ExecOrExit}))
	}
	return u.endStack(stop)
}

// execOrExitStack returns one kernel function if wanted, else [attribute.ExecOrExit].
func (u *unwinder) execOrExitStack(found attribute.Found, wanted bool) sample.StackID {
	loc := u.builder.Loc(&profile.Loc{Synthetic: attribute.ExecOrExit})
	switch {
	case !wanted:
	case found == attribute.FoundInExit:
		loc = u.kernelFunction([]byte("do_exit"))
	default:
		loc = u.kernelFunction([]byte("do_execveat_common"))
	}
	return u.builder.InternLocs([]profile.LocID{loc})
}

func (u *unwinder) endStack(stop frames.StopReason) (sample.StackID, frames.StopReason) {
	if !stop.Complete() {
		u.stack = append(u.stack, u.builder.Loc(&profile.Loc{Synthetic: namehints.IncompleteName(stop.String())}))
	}
	return u.builder.InternLocs(u.stack), stop
}
