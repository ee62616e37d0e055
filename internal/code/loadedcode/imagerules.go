// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"prywalk/frames"
	"prywalk/heuristics"
)

const maxSources = 4 // of fileRules.prepare: table, CFI, debugCFI, the fileRules

func (img *Image) lazySources() ([]frames.RuleSource, frames.CallSites) {
	out := make([]frames.RuleSource, maxSources)
	for i := range out {
		out[i] = imageSource{img, i}
	}
	return out, imageCalls{img}
}

type imageSource struct {
	img *Image
	i   int
}

// Rule implements frames.RuleSource.
func (s imageSource) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	p := s.img.lockRules()
	defer s.img.mu.Unlock()
	if s.i >= len(p.sources) {
		return frames.Rule{}, nil, false
	}
	r, row, ok := p.sources[s.i].Rule(q)
	if ok && r.Flags&frames.FlagRoot == 0 && p.code.StartsProcess(q) {
		return frames.Rule{Flags: frames.FlagRoot, Method: r.Method}, nil, true
	}
	if ok && row != nil && !q.AfterCall {
		r, row = fixEpilogue(r, row, q, s.img.ELF.Arch(), p.code)
	}
	return r, row, ok
}

// fixEpilogue corrects a row by the frame pointer where that is restored ([heuristics.Source.RestoredAtReturn]).
func fixEpilogue(
	r frames.Rule, row *frames.Row, q frames.Query, arch frames.Arch, calls *heuristics.Source,
) (frames.Rule, *frames.Row) {
	if !row.ByFramePointer(arch) {
		return r, row
	}
	kept := calls.RestoredAtReturn(q.PC)
	if kept>>arch.FP()&1 == 0 {
		return r, row
	}
	mended := *row
	mended.MarkRestored(arch, kept)
	return mended.Compact(arch, r.Method, r.Flags)
}

type imageCalls struct{ img *Image }

var (
	_ frames.FunctionBounds  = imageCalls{}
	_ frames.StackEnds       = imageCalls{}
	_ frames.TailCalls       = imageCalls{}
	_ frames.StackSwitches   = imageCalls{}
	_ frames.PoppedRegisters = imageCalls{}
)

// CallBefore implements frames.CallSites.
func (c imageCalls) CallBefore(ret frames.ModuleAddr) (frames.Call, bool) {
	p := c.img.lockRules()
	defer c.img.mu.Unlock()
	return p.CallBefore(ret)
}

// FuncStart implements frames.CallSites.
func (c imageCalls) FuncStart(pc frames.ModuleAddr) (frames.ModuleAddr, bool) {
	p := c.img.lockRules()
	defer c.img.mu.Unlock()
	start, _, ok := p.FuncRange(pc)
	return start, ok
}

// FuncRange implements [frames.FunctionBounds].
func (c imageCalls) FuncRange(pc frames.ModuleAddr) (start, end frames.ModuleAddr, ok bool) {
	p := c.img.lockRules()
	defer c.img.mu.Unlock()
	return p.FuncRange(pc)
}

// EndsStack implements [frames.StackEnds].
func (c imageCalls) EndsStack(pc frames.ModuleAddr) bool {
	p := c.img.lockRules()
	defer c.img.mu.Unlock()
	return p.code.EndsStack(pc)
}

// EndsInTailCall implements [frames.TailCalls].
func (c imageCalls) EndsInTailCall(start frames.ModuleAddr) bool {
	p := c.img.lockRules()
	defer c.img.mu.Unlock()
	return p.code.EndsInTailCall(start)
}

// SwitchesStack implements [frames.StackSwitches].
func (c imageCalls) SwitchesStack(pc frames.ModuleAddr, afterCall bool) bool {
	p := c.img.lockRules()
	defer c.img.mu.Unlock()
	return p.code.SwitchesStack(pc, afterCall)
}

// Popped implements [frames.PoppedRegisters].
func (c imageCalls) Popped(pc frames.ModuleAddr, n int) (reg uint8, ok bool) {
	p := c.img.lockRules()
	defer c.img.mu.Unlock()
	return p.code.Popped(pc, n)
}
