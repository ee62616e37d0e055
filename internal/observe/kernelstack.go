// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"

	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
)

// futexStack is a kernel stack in futex(2). The operation and wchan, which is cheap to read, determine it.
type futexStack struct {
	op       uint64
	wchan    [40]byte
	wchanLen int // 0 if there is no stack
	text     []byte
}

// set reports whether the stack is usable: else it is empty. name is the kernel function in which the thread waits.
func (f *futexStack) set(call *procmem.SyscallInfo, name, text []byte) bool {
	f.wchanLen = 0
	if len(name) == 0 || len(name) > len(f.wchan) || len(text) == 0 {
		return false
	}
	f.op, f.text = call.Args[1], append(f.text[:0], text...)
	f.wchanLen = copy(f.wchan[:], name)
	return true
}

func (f *futexStack) isIn(name []byte) bool { return string(name) == string(f.wchan[:f.wchanLen]) }

// futexSleep is a thread's last kernel stack in futex(2).
type futexSleep struct {
	futexStack
	reads int
	noted bool // read, but perhaps not of this sleep
	known bool // proved by the run count
}

// futexReads of a thread's kernel stacks precede the first kept one.
const futexReads = 4

func (f *futexSleep) isUnchanged(t *Thread, call *procmem.SyscallInfo) bool {
	if !f.known || f.op != call.Args[1] {
		return false
	}
	var buf [len(f.wchan) + 1]byte
	name, err := t.files.Wchan(buf[:])
	return err == nil && f.isIn(name)
}

func (f *futexSleep) note(t *Thread, call *procmem.SyscallInfo, text []byte) {
	f.known, f.noted = false, false
	f.reads++
	if f.reads < futexReads || len(text) == 0 {
		return
	}
	var buf [len(f.wchan) + 1]byte
	name, err := t.files.Wchan(buf[:])
	f.noted = err == nil && f.set(call, name, text)
}

func (f *futexSleep) confirm() { f.known, f.noted = f.known || f.noted, false }

// maxFutexStacks is enough: an operation has one or two kernel stacks.
const maxFutexStacks = 8

// futexStacks are those of all threads, as some threads live for one sleep only.
type futexStacks struct {
	stacks    [maxFutexStacks]futexStack
	next      uint8
	candidate futexStack // the last one read, not proved yet
}

func (f *futexStacks) kernelStackOf(t *Thread, call *procmem.SyscallInfo) []byte {
	var buf [len(futexStack{}.wchan) + 1]byte
	var name []byte
	for i := range f.stacks {
		cached := &f.stacks[i]
		if cached.wchanLen == 0 || cached.op != call.Args[1] {
			continue
		}
		if name == nil {
			var err error
			if name, err = t.files.WchanOnce(buf[:]); err != nil {
				return nil
			}
		}
		if cached.isIn(name) {
			return cached.text
		}
	}
	return nil
}

func (f *futexStacks) keepCandidate(t *Thread, call *procmem.SyscallInfo, text []byte) {
	var buf [len(f.candidate.wchan) + 1]byte
	f.candidate.wchanLen = 0
	if name, err := t.files.WchanOnce(buf[:]); err == nil {
		f.candidate.set(call, name, text)
	}
}

func (f *futexStacks) confirm() {
	if f.candidate.wchanLen == 0 {
		return
	}
	oldest := &f.stacks[f.next%maxFutexStacks]
	*oldest, f.candidate = f.candidate, *oldest
	f.candidate.wchanLen = 0
	f.next++
}

// kernelStacks reads the kernel stacks of sleepers, with CAP_SYS_ADMIN, in 6 µs. Threads that run between all their
// observations are left out.
type kernelStacks struct {
	wanted bool
	failed int // failures in a row
	futexStacks
}

const (
	maxKernelText = 2 << 10 // bytes
	kernelTries   = 64      // failures in a row that end the reading
)

// ReadKernelStacks makes passive reads include [KernelStack], if permitted.
func (o *Observer) ReadKernelStacks() { o.kernel.wanted = true }

func (k *kernelStacks) read(t *Thread, s *RawSample, call *procmem.SyscallInfo) {
	f := &t.futex
	if !k.wanted || t.ranBetween {
		return
	}
	if cap(s.KernelText) == 0 {
		s.KernelText = make([]byte, 0, maxKernelText)
	}
	inFutex := call.Nr == futexCall(s.Regs.Arch)
	if inFutex && f.isUnchanged(t, call) {
		s.KernelText = append(s.KernelText[:0], f.text...)
		return
	}
	if inFutex {
		if text := k.kernelStackOf(t, call); text != nil {
			s.KernelText = append(s.KernelText[:0], text...)
			f.note(t, call, text)
			return
		}
	}
	text, err := t.files.KernelStack(s.KernelText[:maxKernelText])
	if err == nil {
		s.KernelText = text
		k.failed = 0
		if inFutex {
			f.note(t, call, text)
			k.keepCandidate(t, call, text)
		}
		return
	}
	k.failed++
	k.wanted = !errors.Is(err, refusal.Denied) && k.failed < kernelTries
}
