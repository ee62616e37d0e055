// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"

	"prywalk/frames"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
)

// # Threads that the kernel samples
//
// A thread that runs can be seen in two ways: it is stopped for a look, or the kernel samples it (package perfevents).
// A sampled thread is looked at with this ladder all the same, as far as nobody is stopped for it. What it does while
// it sleeps, its clocks and its end come from there. Where the kernel's copy of its stack is too short, it is frozen as
// if nobody sampled it, until the stack is shallow again.

// sampleRoom is what the room for a sample's stack is a multiple of, in bytes: shots are used again, and grow seldom.
const sampleRoom = 4 << 10

// mostKernel is how many of the kernel's frames a shot has room for.
const mostKernel = 64

// SetSampled says that the kernel samples the thread, with so many bytes of its stack: it is not frozen where it runs.
// 0: the kernel does not.
func (t *Thread) SetSampled(stack int) { t.sampled = stack }

// Sampled reports whether samples of the thread are to be taken: they are asked for, and deep enough.
func (t *Thread) Sampled() bool { return t.sampled != 0 && !t.deep() }

// deep reports whether the stack is deeper than the kernel copies, or was a while ago.
func (t *Thread) deep() bool {
	n := t.needs.get()
	return n.Deep || n.Used > t.sampled
}

// A stack whose depth goes up and down around what the kernel copies would be cut each time that it goes up. So a
// thread is frozen until so many freezes one after the other have found its stack shallow: those of half a second. If
// it is cut again, it is twice as many.
const (
	deepSeconds = 0.5
	deepLeast   = 16
	deepMost    = 1 << 16
)

// SetRate tells how often a second the thread is looked at. It is called before the first walk.
func (t *Thread) SetRate(hz float64) { t.walks.shallowFirst = max(int(hz*deepSeconds), deepLeast) }

// deepAgain takes note of a sample that was cut, of which so many bytes were copied.
func (k *Walks) deepAgain(copied int) {
	if !k.needs.Deep { // of those that were taken meanwhile only the first one counts
		k.deepFor = min(max(2*k.deepFor, k.shallowFirst, deepLeast), deepMost)
	}
	k.needs.Deep, k.deepLeft, k.deepOver = true, k.deepFor, copied
}

// pagesLack takes note of a sample whose copy ended before it had as many bytes as were asked for, and before the stack
// did. There is a page that the thread has not written yet, in a large buffer: the kernel's copy cannot wait for pages
// (arch/x86/lib/usercopy.c, copy_from_user_nmi). A freeze reads it by /proc, after which it is there. So one freeze is
// enough. If more pages lack, it is twice as many each time.
func (k *Walks) pagesLack(asked int) {
	if !k.needs.Deep {
		k.untouched = min(max(2*k.untouched, 1), max(k.shallowFirst, deepLeast))
		k.deepLeft = k.untouched
	}
	k.needs.Deep, k.deepOver = true, asked
}

// frozenDeep takes note of a freeze, whose walk has used so many bytes of the stack.
func (k *Walks) frozenDeep(used int) {
	switch {
	case k.deepLeft == 0:
	case used > k.deepOver:
		k.deepLeft = k.deepFor
	default:
		k.deepLeft--
		k.needs.Deep = k.deepLeft > 0
	}
}

// Deep reports whether the thread is frozen although the kernel samples it, as its stack is too deep.
func (t *Thread) Deep() bool { return t.sampled != 0 && t.deep() }

// FromSample makes a shot of what the kernel has sampled. Precondition: the sample is usable. The shot's clocks are to
// be filled in by the caller: a sample has none.
func (l *Looker) FromSample(r *perfevents.Record) *Shot {
	s := l.pool.Get()
	s.room((len(r.Stack) + sampleRoom - 1) / sampleRoom * sampleRoom) // few stacks are as deep as the copies may be
	n, asked := copy(s.buf, r.Stack), r.Asked
	if s.asked = 0; r.Longest {
		s.asked = asked
	}
	s.Regs, s.At, s.How, s.State = r.Regs, r.Time, BySample, sample.Running
	s.setStack(r.Regs.SP(), n, asked)
	s.Call, s.wchan, s.Left = procmem.SyscallInfo{Nr: -1}, s.wchan[:0], sample.LeftAlone{}
	s.OnCPU, s.Basis, s.Stopped, s.Why = true, sample.Exact, 0, 0
	s.Restarted, s.Broken, s.Told, s.BrokenCall = false, false, false, -1
	s.recalled, s.refused, s.short, s.pieced, s.by = false, false, false, false, nil
	s.Kernel, s.KernelText = s.Kernel[:0], s.KernelText[:0]
	s.deep, s.toTop, s.tailAt = false, false, 0
	for i := range min(r.Kernel(), mostKernel) {
		s.Kernel = append(s.Kernel, r.KernelFrame(i))
	}
	return s
}

// NoUserSpace gives the shot of a sample the registers that a stop of its thread would, which never runs in user space:
// all are zero.
func (s *Shot) NoUserSpace() { s.Regs = frames.Regs{Arch: hostArch()} }

// Longest reports whether the shot is a sample with as much stack as the kernel copies.
func (s *Shot) Longest() bool { return s.How == BySample && s.asked > 0 }

// Drop gives a shot back that nobody wants.
func (l *Looker) Drop(s *Shot) { l.pool.Put(s) }

// # Those that wait for locks
//
// They sleep in futex(2), again and again. Whoever sleeps in it by the same operation, in the same function of the
// kernel, has come there by the same way. Which function that is says wchan, whose file can be kept open.

// futexSleep is the way into the kernel of a thread's last sleep in futex(2) of which it was read.
type futexSleep struct {
	op    uint64
	in    [40]byte // the function that it slept in
	inLen int
	text  []byte
	reads int  // how often it was read
	noted bool // by the peek under way, which may not be of one moment
	known bool // that peek was
}

// futexReads is how often it is read until it is noted: a thread that sleeps for good needs no further file.
const futexReads = 4

// again reports whether a thread sleeps as it did.
func (f *futexSleep) again(t *Thread, call *procmem.SyscallInfo) bool {
	if !f.known || f.op != call.Args[1] {
		return false
	}
	var buf [len(f.in) + 1]byte
	name, err := t.files.Wchan(buf[:])
	return err == nil && string(name) == string(f.in[:f.inLen])
}

// note notes what was read.
func (f *futexSleep) note(t *Thread, call *procmem.SyscallInfo, text []byte) {
	f.known, f.noted = false, false
	if f.reads++; f.reads < futexReads || len(text) == 0 {
		return
	}
	var buf [len(f.in) + 1]byte
	name, err := t.files.Wchan(buf[:])
	if f.noted = err == nil && len(name) > 0 && len(name) <= len(f.in); f.noted {
		f.op, f.inLen, f.text = call.Args[1], copy(f.in[:], name), append(f.text[:0], text...)
	}
}

// proven tells that the peek that has noted it was of one moment.
func (f *futexSleep) proven() { f.known, f.noted = f.known || f.noted, false }

// futexWay is a way into the kernel of some thread.
type futexWay struct {
	op    uint64
	in    [40]byte // the function that it slept in
	inLen int      // 0: there is none
	text  []byte
}

// mostWays is how many ways are remembered: there are few operations, and each leads to one or two functions.
const mostWays = 8

// futexWays are the ways into the kernel of all threads. Those that live for one sleep, as a server's with a thread for
// each request, have nothing of their own to remember.
type futexWays struct {
	ways  [mostWays]futexWay
	next  uint8
	found futexWay // by the peek under way, which may not be of one moment
}

// has gives the functions of a thread that sleeps as one did before; nil if none is known to have.
func (w *futexWays) has(t *Thread, call *procmem.SyscallInfo) []byte {
	var buf [len(futexWay{}.in) + 1]byte
	var in []byte
	for i := range w.ways {
		way := &w.ways[i]
		if way.inLen == 0 || way.op != call.Args[1] {
			continue
		}
		if in == nil {
			var err error
			if in, err = t.files.WchanOnce(buf[:]); err != nil {
				return nil
			}
		}
		if string(in) == string(way.in[:way.inLen]) {
			return way.text
		}
	}
	return nil
}

// find takes note of functions that were read.
func (w *futexWays) find(t *Thread, call *procmem.SyscallInfo, text []byte) {
	var buf [len(w.found.in) + 1]byte
	in, err := t.files.WchanOnce(buf[:])
	w.found.inLen = 0
	if err != nil || len(in) == 0 || len(in) > len(w.found.in) || len(text) == 0 {
		return
	}
	w.found.op, w.found.inLen, w.found.text = call.Args[1], copy(w.found.in[:], in), append(w.found.text[:0], text...)
}

// proven tells that the peek under way is of one moment.
func (w *futexWays) proven() {
	if w.found.inLen == 0 {
		return
	}
	way := &w.ways[w.next%mostWays]
	*way, w.found = w.found, *way // with the room for its text
	w.found.inLen = 0
	w.next++
}

// kernelStacks reads which of the kernel's functions sleepers are in: once in a sleep, with the peek. It takes three
// calls, some 6 µs, and CAP_SYS_ADMIN. Who wakes at every tick is not asked: only a thread that is looked at for the
// first time, or whose last sleep was as long as two looks. Whoever has no such right pays for the first tries only.
type kernelStacks struct {
	wanted bool
	failed int // tries in a row since the last one that succeeded
	futexWays
}

const (
	// mostKernelText is how many bytes of names are read: some tens of functions. What is cut are the outermost.
	mostKernelText = 2 << 10
	// kernelTries is after how many failures nobody is asked any more: threads end, but not so many in a row.
	kernelTries = 64
)

// SeeKernelStacks has the shots of sleepers tell the kernel's functions that they are in, where this user may know.
func (l *Looker) SeeKernelStacks() { l.kernel.wanted = true }

// read reads a sleeper's into its shot.
func (k *kernelStacks) read(t *Thread, s *Shot, call *procmem.SyscallInfo) {
	f := &t.futex
	if !k.wanted || t.restless {
		return
	}
	if cap(s.KernelText) == 0 {
		s.KernelText = make([]byte, 0, mostKernelText)
	}
	inFutex := call.Nr == futexCall(s.Regs.Arch)
	if inFutex && f.again(t, call) {
		s.KernelText = append(s.KernelText[:0], f.text...)
		return
	}
	if inFutex {
		if text := k.has(t, call); text != nil {
			s.KernelText = append(s.KernelText[:0], text...)
			f.note(t, call, text)
			return
		}
	}
	text, err := t.files.KernelStack(s.KernelText[:mostKernelText])
	if err == nil {
		if s.KernelText, k.failed = text, 0; inFutex {
			f.note(t, call, text)
			k.find(t, call, text)
		}
		return
	}
	k.failed++
	k.wanted = !errors.Is(err, refusal.Denied) && k.failed < kernelTries
}
