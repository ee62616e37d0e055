// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"prywalk/internal/walk/managed"
)

type walk struct {
	view *managed.View
	vm   *rubyVM

	thread           uint64
	ec               uint64
	frames           []frame
	tags             []tag // those of rb_vm_exec
	allTags          []tag
	runs             []run
	nextRun          int // innermost run without a native frame
	firstOutsideRuns int // first frame after all runs

	unfinished bool // the native walk may lack its outer end
	broken     bool
}

type frame struct {
	at, pc, iseq, ep uint64
	flags            uint64
	method           uint64
}

type run struct {
	tag      uint64
	from, to int
}

const maxFrames = 1 << 15

// Begin implements [managed.FrameSource].
func (r *Runtime) Begin(s *managed.Sample) {
	w := &r.walk
	r.known.begin(s.At)
	r.view.Begin(s)
	*w = walk{view: &r.view, frames: w.frames[:0], tags: w.tags[:0], allTags: w.allTags[:0], runs: w.runs[:0],
		vm: &r.vm}
	if !w.findContext() {
		return
	}
	var ok bool
	if w.frames, ok = r.vm.heap.appendFrames(w.frames, w.ec, w.view.Word); !ok {
		return
	}
	r.skipInitialISeq()
	first, _ := w.view.Word(w.ec + ecTag)
	if r.tagged.layout.prev == 0 {
		if r.tagged.findLayout(first, w.view.Word); r.tagged.layout.prev == 0 {
			return
		}
	}
	if w.allTags, ok = r.tagged.layout.appendTags(w.allTags, first, w.view.Word); !ok {
		return
	}
	if r.tagged.execPC == 0 {
		votes := map[uint64]int{}
		r.tagged.countPCs(votes, w.allTags, entries(w.frames))
		r.tagged.chooseExecPC(votes, r.vm.anyHandler(w.frames))
	}
	w.split(r.tagged.execPC)
}

// findContext reads the list of threads again if the known thread of Ruby seems to have ended: a native thread runs
// several, one after the other.
func (w *walk) findContext() bool {
	tid, pthread := w.view.Sample.InnerTID, w.view.Sample.Regs.TLS
	at, ok := w.vm.anchor(tid, pthread)
	if !ok {
		return false
	}
	found := w.setContext(at)
	if found && !w.hasEnded() {
		return true
	}
	if later, ok := w.vm.anchorAgain(tid, pthread); ok && later != at {
		found = w.setContext(later)
	}
	return found
}

// hasEnded reports whether there is no frame, or only the initial one. The stack may be 0.
func (w *walk) hasEnded() bool {
	return w.view.Value(w.ec+ecFrame)+uint64(w.vm.heap.frameSize) >= w.stackEnd()
}

func (w *walk) stackEnd() uint64 { return w.view.Value(w.ec+ecStack) + 8*w.view.Value(w.ec+ecSize) }

func (w *walk) setContext(at uint64) bool {
	m, pthread := w.vm, w.view.Sample.Regs.TLS
	ec := w.view.Value(at + uint64(m.heap.threadEC))
	native := w.view.Value(at + uint64(m.heap.threadNative))
	if m.heap.nativeID != 0 && native != 0 {
		native = w.view.Value(native + uint64(m.heap.nativeID))
	}
	if ec == 0 || w.view.Value(ec+uint64(m.heap.ecThread)) != at || pthread != 0 && native != pthread {
		return false
	}
	w.thread, w.ec = at, ec
	return true
}

// appendFrames omits the initial frame; it returns false if it is invalid.
func (l *layout) appendFrames(list []frame, ec uint64, get managed.WordReader) ([]frame, bool) {
	stack, ok := get(ec + ecStack)
	size, ok2 := get(ec + ecSize)
	at, ok3 := get(ec + ecFrame)
	end := stack + size*8
	step := uint64(l.frameSize)
	if !ok || !ok2 || !ok3 || size >= maxStack || at < stack || at > end || (end-at)%step != 0 ||
		(end-at)/step > maxFrames {
		return list, false
	}
	for ; at < end; at += step {
		pc, ok1 := get(at + framePC)
		iseq, ok2 := get(at + frameISeq)
		env, ok3 := get(at + frameEP)
		flags, ok4 := get(env)
		f := frame{at: at, pc: pc, iseq: iseq, ep: env, flags: flags}
		if !ok1 || !ok2 || !ok3 || !ok4 || !isMagic(f.flags) {
			return list, false
		}
		switch f.flags & magicMask {
		case magicDummy:
			continue
		case magicCFunc:
			if f.method, ok = get(f.ep - 16); !ok {
				return list, false
			}
		}
		list = append(list, f)
	}
	return list, true
}

func entries(frames []frame) (n int) {
	for i := range frames {
		if frames[i].flags&flagFinish != 0 {
			n++
		}
	}
	return n
}

// split pairs frames with tags from the outermost on. Frames of innermost calls without a tag are left out.
func (w *walk) split(pc uint64) {
	for _, t := range w.allTags {
		if t.pc == pc {
			w.tags = append(w.tags, t)
		}
	}
	n := entries(w.frames)
	extra := len(w.tags) - n // native frames at the start or end of a call
	if extra > 1 {
		w.broken = true
		return
	}
	from, k := 0, -1
	for i := range w.frames {
		if w.frames[i].flags&flagFinish == 0 {
			continue
		}
		if k++; k+extra >= 0 {
			w.runs = append(w.runs, run{tag: w.tags[k+extra].at, from: from, to: i + 1})
		}
		from = i + 1
	}
	if len(w.runs) > 0 {
		w.firstOutsideRuns = from
	} else {
		w.firstOutsideRuns = len(w.frames)
	}
}

func (r *Runtime) skipInitialISeq() {
	initial := r.walk.stackEnd() - uint64(r.vm.heap.frameSize)
	if iseq := r.walk.view.Value(initial + frameISeq); iseq != 0 {
		r.known.objects.Skip.Add(iseq)
	}
}
