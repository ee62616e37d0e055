// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/namehints"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

// listedProgram is the code of a process that was never opened, as far as the kernel's records tell.
type listedProgram struct {
	program *handover.Program
	code    *code.Listed
	modules map[*frames.Module]*profile.ModuleInfo
}

// unwindSample walks a sample of what a process ran: g, or nil for what the thread's process runs.
func (u *unwinder) unwindSample(th *threadAccount, g *handover.Program, s *look.Shot) (
	sample.StackID, frames.StopReason,
) {
	switch {
	case s.Regs.Arch == frames.ArchUnknown: // it calls exec or exit: there is no user's stack
		return u.unwindKernel(s, frames.StopRoot)
	case g == nil && th.proc.Ended:
		return u.unwindKernel(s, frames.StopBadMemory)
	case g == nil:
		return u.unwind(th, s)
	}
	return u.unwindListed(th.proc.Process, g, s)
}

// unwindListed walks a sample of a process of which only the mappings are known.
func (u *unwinder) unwindListed(payer *handover.Process, g *handover.Program, s *look.Shot) (
	sample.StackID, frames.StopReason,
) {
	u.books.lend() // files are opened
	defer u.books.back()
	l := u.listed(payer, g)
	u.stack = u.stack[:0]
	u.kernelFrames(s)
	w := &u.walker
	for w.Init(l.code.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		u.methods[f.Method]++
		loc := profile.Loc{Addr: f.Lookup(s.Regs.Arch)}
		if f.Module != nil {
			info := l.modules[f.Module]
			if info == nil {
				info = ModuleInfo(payer.Target.PID, f.Module)
				l.modules[f.Module] = info
			}
			loc.Module = info
		}
		u.stack = append(u.stack, u.builder.Loc(&loc))
	}
	return u.end(w.StopReason())
}

// listed gives a program's code. Samples of one program come together, so only the last one's is kept.
func (u *unwinder) listed(payer *handover.Process, g *handover.Program) *listedProgram {
	if u.last.program != g {
		for _, info := range u.last.modules {
			u.builder.Released(info)
		}
		u.last = listedProgram{
			program: g,
			code:    u.images.Listed(payer.Target.Arch, g.Maps, payer.Target.PID, g.Name),
			modules: map[*frames.Module]*profile.ModuleInfo{},
		}
	}
	return &u.last
}

// unwindKernel gives the stack of a sample of which there are only the kernel's frames. They may be left out.
func (u *unwinder) unwindKernel(s *look.Shot, stop frames.StopReason) (sample.StackID, frames.StopReason) {
	u.stack = u.stack[:0]
	u.kernelFrames(s)
	if len(u.stack) == 0 {
		u.stack = append(u.stack, u.builder.Loc(&profile.Loc{Synthetic: attribute.ExecOrExit}))
	}
	return u.end(stop)
}

// inKernel gives the stack of a child that was met in exec or exit. A flag of the kernel's, or the call that its stop
// has broken, tells of one function. The others are not known. wanted: such functions are.
func (u *unwinder) inKernel(met attribute.Met, wanted bool) sample.StackID {
	loc := u.builder.Loc(&profile.Loc{Synthetic: attribute.ExecOrExit})
	switch {
	case !wanted:
	case met == attribute.MetInExit:
		loc = u.kernelFunction([]byte("do_exit"))
	default:
		loc = u.kernelFunction([]byte("do_execveat_common"))
	}
	return u.builder.InternLocs([]profile.LocID{loc})
}

// end marks a stack that does not reach its root, and gives its number.
func (u *unwinder) end(stop frames.StopReason) (sample.StackID, frames.StopReason) {
	if !stop.Complete() {
		u.stack = append(u.stack, u.builder.Loc(&profile.Loc{Synthetic: namehints.IncompleteName(stop.String())}))
	}
	return u.builder.InternLocs(u.stack), stop
}
