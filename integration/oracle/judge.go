// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"debug/elf"
	"sort"
	"strings"

	"prywalk/dwarfunwind"
	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
)

// Judge is a way of walking that is compared with the true chain.
type Judge uint8

// The ways.
const (
	WithCFI     Judge = iota // with all that is known of the process
	WithCFISP                // the same, with only sp and pc known
	WithBounds               // instructions only, with the functions' bounds
	WithBounds2              // the same, with only sp and pc known
	Bare
	NumJudges
)

// String returns the judge's name in the log.
func (j Judge) String() string {
	return [...]string{"cfi", "cfi, sp only", "code", "code, sp only", "code, no bounds"}[j]
}

type judge struct {
	kind   Judge
	space  *frames.Space
	w      frames.Walker
	spOnly bool
	made   map[*loadedcode.Image]*heuristics.Source
}

func (o *run) makeJudges() []*judge {
	var out []*judge
	for k := range NumJudges {
		j := &judge{kind: k, made: map[*loadedcode.Image]*heuristics.Source{}, spOnly: k == WithCFISP || k == WithBounds2}
		switch k {
		case WithCFI, WithCFISP:
			j.space = o.proc.Space()
		case WithBounds2:
			j.space = out[WithBounds].space
		default:
			j.space = frames.NewSpace(o.proc.Arch)
			j.renew(o)
		}
		out = append(out, j)
	}
	return out
}

func (j *judge) renew(o *run) {
	if j.kind != WithBounds && j.kind != Bare {
		return
	}
	var mods []*frames.Module
	for _, m := range o.proc.Space().Modules() {
		c := *m
		if at := loadedcode.MappingOf(m); at != nil && at.Image != nil {
			h := j.made[at.Image]
			if h == nil {
				opt := heuristics.Options{Arch: o.proc.Arch, Code: fileCode{at.Image.ELF}, Entry: at.Image.ELF.Entry,
					JIT: at.Image == o.goImage} // Go's calling convention keeps only the frame pointer
				if j.kind == WithBounds {
					opt.Funcs = newBounds(at.Image.ELF)
				}
				h = heuristics.New(opt)
				j.made[at.Image] = h
			}
			c.Sources, c.Calls = []frames.RuleSource{h}, h
		}
		mods = append(mods, &c)
	}
	j.space.SetModules(mods)
}

type fileCode struct{ f *elffile.File }

// ReadCode implements [heuristics.Code].
func (c fileCode) ReadCode(addr uint64, buf []byte) int {
	for i := range c.f.Segments {
		s := &c.f.Segments[i]
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && addr-s.VAddr < s.FileSize {
			return c.f.ReadAddr(addr, buf[:min(uint64(len(buf)), s.FileSize-(addr-s.VAddr))])
		}
	}
	return 0
}

// bounds are those of the symbol table, else of the call frame information.
type bounds struct {
	funcs  []span
	byName map[string]*span
	fdes   *dwarfunwind.Table
}

type span struct {
	start, end uint64
	name       string
}

func newBounds(f *elffile.File) *bounds {
	b := &bounds{funcs: append(pltSpans(f), symbolSpans(f)...)}
	sortSpans(b.funcs)
	b.byName = map[string]*span{}
	for i := range b.funcs {
		b.byName[b.funcs[i].name] = &b.funcs[i]
	}
	hdr, frame := f.EhFrame()
	b.fdes, _ = dwarfunwind.New(dwarfunwind.Config{Arch: f.Arch(), EhFrameHdr: section(hdr), EhFrame: section(frame)})
	return b
}

func section(w *elffile.Window) dwarfunwind.Section {
	if w == nil {
		return dwarfunwind.Section{}
	}
	return dwarfunwind.Section{Addr: w.Addr(), Size: w.Size(), Data: w}
}

// FuncRange implements [heuristics.Functions].
func (b *bounds) FuncRange(pc uint64) (start, end uint64, ok bool) {
	if s := findSpan(b.funcs, pc); s != nil {
		return s.start, s.end, true
	}
	if b.fdes == nil {
		return 0, 0, false
	}
	return b.fdes.FuncRange(pc)
}

// Parent implements [heuristics.Parts].
func (b *bounds) Parent(start uint64) (lo, hi uint64, ok bool) {
	s := findSpan(b.funcs, start)
	if s == nil || s.start != start {
		return 0, 0, false
	}
	name, ok := strings.CutSuffix(s.name, ".cold")
	if p := b.byName[name]; ok && p != nil {
		return p.start, p.end, true
	}
	return 0, 0, false
}

func findSpan(s []span, pc uint64) *span {
	i := sort.Search(len(s), func(i int) bool { return s[i].start > pc })
	if i == 0 || pc >= s[i-1].end {
		return nil
	}
	return &s[i-1]
}

type verdict uint8

const (
	exact verdict = iota
	short         // all given frames are true, and the walk is reported as incomplete
	wrong
)

type outcome struct {
	verdict verdict
	at      int
	stop    frames.StopReason
	got     frames.Frame
}

func (j *judge) compare(regs *frames.Regs, mem frames.Memory, truth []want, whole bool, need int) outcome {
	regs = j.sees(regs)
	j.w.MaxDepth = -1
	j.w.Init(j.space, regs, mem)
	for i := range truth {
		if !whole && i >= need {
			return outcome{}
		}
		if !j.w.Next() {
			v := short
			if j.w.StopReason() == frames.StopRoot {
				v = wrong
			}
			return outcome{verdict: v, at: i, stop: j.w.StopReason()}
		}
		// A stack pointer of 0 is unknown: a frame record of arm64 does not have it.
		if f := j.w.Frame(); f.PC != truth[i].pc || f.SP != truth[i].sp && (f.SP != 0 || regs.Arch != frames.ARM64) {
			return outcome{verdict: wrong, at: i, got: f}
		}
	}
	if !whole && need <= len(truth) {
		return outcome{}
	}
	if j.w.Next() {
		return outcome{verdict: wrong, at: len(truth), got: j.w.Frame()}
	}
	if r := j.w.StopReason(); r != frames.StopRoot {
		return outcome{verdict: short, at: len(truth), stop: r}
	}
	return outcome{}
}

func (j *judge) sees(regs *frames.Regs) *frames.Regs {
	if !j.spOnly {
		return regs
	}
	only := *regs
	only.Known, only.TLS = 1<<regs.Arch.SP(), 0
	return &only
}

func (o *run) check() {
	o.followCopy()
	o.chain = o.cur.chain(o.chain, &o.regs)
	if o.left() {
		o.chain = o.chain[:len(o.cur.calls)+1]
	}
	// Instructions do not show a change of stacks: only frames of this stack, and of a signal's, are needed.
	need := len(o.chain) - o.baseLen() + 1
	if o.cur.entered {
		need = len(o.cur.calls) + 1
	}
	snap := o.stackCopy(o.regs.SP(), o.top+64)
	for _, j := range o.judges {
		whole := j.kind <= WithCFISP
		r := j.compare(&o.regs, snap, o.chain, whole, need)
		if r.verdict != exact && (r.stop == frames.StopStackCut || r.stop == frames.StopBadMemory ||
			o.cur.below != nil && j.kind <= WithCFISP) {
			r = j.compare(&o.regs, liveMemory(o.pid), o.chain, whole, need)
		}
		if o.acceptMoved(j, &r) || o.acceptUnmoved(&r) {
			r = j.compare(&o.regs, snap, o.chain, whole, need)
			o.chain = o.cur.chain(o.chain, &o.regs)
		}
		if r.verdict != exact && o.overwritten(&r) {
			continue
		}
		if r.verdict != exact && (j.kind <= WithCFISP && o.excused(&r) || o.deferVerdict(j, &r)) {
			continue
		}
		o.tally.count(o, j, &r)
	}
}

func (o *run) baseLen() int {
	n := 0
	for s := o.cur; s != nil; s = s.below {
		n += s.base
	}
	return n
}
