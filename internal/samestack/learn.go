// SPDX-License-Identifier: Apache-2.0

package samestack

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// mostWords and mostFrames bound what is learned: deeper stacks are walked each time.
const (
	mostWords  = 256
	mostFrames = 64
)

// Learner finds out what walks depend on. It belongs to the goroutine that walks. It allocates for words that it gives
// for the first time.
type Learner struct {
	walker frames.Walker
	mem    noted
	found  Words
}

// place is a frame, as far as it is in the recording.
type place struct {
	pc, sp frames.Addr
	caller bool
	method frames.Method
}

// kept says which words a walk finds as they are. In all others each bit is another one.
type kept uint8

const (
	all      kept = iota
	returns       // those that may tell where a frame goes on
	zeros         // and those that may tell that there is none
	pointers      // and those that may tell where on the stack a frame is
)

// noted is a stack that notes what is read of it.
type noted struct {
	stack  frames.Region
	mask   uint64  // bits of a return address that are its signature
	words  []word  // what the first walk has read
	frames []place // what it came to
	first  bool    // it is under way
	strays bool    // something else was read
	kept   kept
}

// keeps reports whether a word is to be found as it is.
func (m *noted) keeps(v uint64) bool {
	if m.kept == all || v == 0 && m.kept >= zeros {
		return true
	}
	for i := range m.frames {
		if m.frames[i].pc == v&^m.mask {
			return true
		}
	}
	return m.kept == pointers && v-m.stack.Addr <= uint64(len(m.stack.Bytes))
}

// Word implements [frames.Memory].
func (m *noted) Word(addr frames.Addr) (uint64, bool) {
	b, off := m.stack.Bytes, addr-m.stack.Addr
	if n := uint64(len(b)); n < 8 || off > n-8 {
		m.strays = true
		return 0, false
	}
	v := binary.LittleEndian.Uint64(b[off:])
	if m.first {
		m.note(addr, v)
	} else if !m.keeps(v) {
		v = ^v
	}
	return v, true
}

// Cut implements [frames.Memory].
func (m *noted) Cut(frames.Addr) bool {
	m.strays = true
	return false
}

// note notes a word, once.
func (m *noted) note(addr frames.Addr, v uint64) {
	for i := len(m.words) - 1; i >= 0; i-- { // mostly one of the last
		if m.words[i].at == addr {
			return
		}
	}
	if len(m.words) == mostWords {
		m.strays = true
		return
	}
	m.words = append(m.words, word{addr, v})
}

// Learn gives the words that a walk depends on, nil if they are not known. The walk has begun at these registers of a
// sleeper in a call, and has reached the thread's first function. args are the numbers of the registers that have the
// call's arguments. If they are the words that were known before, it is these that are given.
func (l *Learner) Learn(space *frames.Space, regs *frames.Regs, args *[6]uint8, stack *frames.Region,
	call *procmem.SyscallInfo, known *Words) *Words {
	m, f := &l.mem, &l.found
	*m = noted{stack: *stack, mask: regs.PACMask, words: m.words[:0], frames: m.frames[:0], first: true}
	defer l.done()
	if !l.walk(space, regs) {
		return nil
	}
	m.first = false
	f.sp, f.pc, f.args, f.arguments = call.SP, call.PC, [6]uint64{}, false
	other := *regs
	for _, r := range args {
		if r != frames.NoReg && other.Known&(1<<r) != 0 {
			other.Set(r, ^other.Val[r])
		}
	}
	if !l.holdsWith(returns, space, &other) && !l.holdsWith(zeros, space, &other) &&
		!l.holdsWith(pointers, space, &other) {
		f.arguments, f.args, m.kept = true, call.Args, all
	}
	f.words = f.words[:0]
	for _, w := range m.words {
		if m.keeps(w.value) {
			f.words = append(f.words, w)
		}
	}
	if known != nil && known.same(f) {
		return known
	}
	given := *f
	given.words = append([]word(nil), f.words...)
	return &given
}

// done lets go of the copy.
func (l *Learner) done() { l.mem.stack = frames.Region{} }

// holdsWith reports whether a walk gives the same frames if only these values are as they were.
func (l *Learner) holdsWith(k kept, space *frames.Space, regs *frames.Regs) bool {
	l.mem.kept, l.mem.strays = k, false
	return l.walk(space, regs)
}

// walk walks the stack: to note its frames the first time, then to compare them.
func (l *Learner) walk(space *frames.Space, regs *frames.Regs) bool {
	w, m, n := &l.walker, &l.mem, 0
	for w.Init(space, regs, m); w.Next(); n++ {
		f := w.Frame()
		p := place{f.PC, f.SP, f.Caller, f.Method}
		switch {
		case n == mostFrames, !m.first && (n >= len(m.frames) || m.frames[n] != p):
			return false
		case m.first:
			m.frames = append(m.frames, p)
		}
	}
	return w.StopReason().Complete() && !w.Away() && !m.strays && n == len(m.frames)
}
