package dump

import (
	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/symbols"
)

// describe walks a shot and names its frames.
func describe(t *code.Process, names *symbols.Namer, w *frames.Walker, tid int, s *look.Shot) Thread {
	th := Thread{TID: tid, Name: t.ThreadName(tid), State: s.State.Letter(), Wait: s.Wait(), How: s.How.String(), Frames: []Frame{}}
	if end := t.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	for w.Init(t.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		th.Frames = appendFrame(th.Frames, &f, s.Regs.Arch, t.PID, names)
	}
	stop := w.StopReason()
	th.Complete, th.StopReason = stop.Complete(), stop.String()
	if !th.Complete {
		th.Frames = append(th.Frames, Frame{Function: "[incomplete: " + th.StopReason + "]"})
	}
	return th
}

// appendFrame adds a frame, and before it the calls that were inlined there.
func appendFrame(out []Frame, f *frames.Frame, arch frames.Arch, pid int, names *symbols.Namer) []Frame {
	base := Frame{PC: Hex(f.PC), SP: Hex(f.SP), Method: f.Method.String()}
	if f.Module == nil {
		return append(out, base)
	}
	m := f.Module
	base.Module, base.BuildID, base.Offset = m.Name, m.BuildID, Hex(f.PC-m.Bias)
	found := names.Frames(m, pid, f.Lookup(arch)-m.Bias, nil)
	for _, s := range found {
		g := base
		g.Function, g.File, g.Line, g.Inlined = s.Name, s.File, s.Line, s.Inlined
		out = append(out, g)
	}
	if len(found) == 0 {
		out = append(out, base)
	}
	return out
}
