// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"
	"strconv"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/internal/waits"
	"prywalk/ptrace"
)

// The registers that carry a system call's arguments, by DWARF number, where the kernel leaves them alone. On x86-64:
// rdi, rsi, rdx, r10, r8, r9 (System V ABI, §A.2.1). On arm64: x1 to x5, while x0 takes the result.
var (
	argumentsX86   = [6]uint8{frames.X86RDI, frames.X86RSI, frames.X86RDX, 10, 8, 9}
	argumentsARM64 = [6]uint8{frames.NoReg, 1, 2, 3, 4, 5}
)

// setArguments makes known what /proc shows of the registers of a thread that
// sleeps in a system call. They are rarely needed, but vfork keeps its return
// address in one.
func setArguments(regs *frames.Regs, call *procmem.SyscallInfo) {
	where := &argumentsX86
	if regs.Arch == frames.AArch64 {
		where = &argumentsARM64
	}
	for i, reg := range where {
		regs.Set(reg, call.Args[i])
	}
}

// ArgumentRegisters gives the registers that carry a system call's arguments, by DWARF number; frames.NoReg stands for
// one that the kernel has overwritten.
func ArgumentRegisters(arch frames.Arch) [6]uint8 {
	if arch == frames.AArch64 {
		return argumentsARM64
	}
	return argumentsX86
}

// futexCall gives the number of futex(2).
func futexCall(arch frames.Arch) int64 {
	if arch == frames.AArch64 {
		return 98 // include/uapi/asm-generic/unistd.h
	}
	return 202 // arch/x86/entry/syscalls/syscall_64.tbl
}

// copyNear copies what lies around the word that a sleeper waits at, once in a sleep. Between the two readings of the
// thread's count it is of a moment at which it slept. What is on the copied stack is not read again.
func (l *Looker) copyNear(t *Thread, s *Shot, call *procmem.SyscallInfo) {
	s.nearLen = 0
	addr, ok := uint64(0), false
	if call.Nr == futexCall(s.Regs.Arch) {
		addr, ok = waits.WorthReading(&call.Args)
	}
	if !ok || addr < waits.Before {
		return
	}
	s.nearAt = addr - waits.Before
	stack := &s.Mem.Stack
	if off := s.nearAt - stack.Addr; off < uint64(len(stack.Bytes)) && uint64(len(stack.Bytes))-off >= waits.Around {
		s.nearLen = copy(s.near[:], stack.Bytes[off:])
		return
	}
	if t.Memory != nil && s.nearAt&^0xfff != addr&^0xfff { // the lock may be the first thing in its mapping
		if start := t.Memory.Start(addr); start > s.nearAt && start <= addr {
			s.nearAt = start
		}
	}
	if t.Memory != nil && l.ctl.Pending() == 0 {
		s.nearLen = t.Memory.Peek(t.TID, s.nearAt, s.near[:])
		return
	}
	s.nearLen, _ = t.copy(s.nearAt, s.near[:]) // without it no owner is named
}

// keepNear keeps the copy of a sleeper that was frozen in the sleep in which it was peeked at: it has arrived on a
// processor for the stop alone.
func (s *Shot) keepNear(t *Thread, stop *ptrace.Stop) {
	if s.State != sample.Sleeping || s.Sched.Runs-t.before.Runs > 1 || !stop.SchedOK {
		s.nearLen = 0
	}
}

// Near gives what was copied around the word that a sleeper waits at in futex(2). It is the shot's.
func (s *Shot) Near() waits.Copy { return waits.Copy{Addr: s.nearAt, Bytes: s.near[:s.nearLen]} }

// ownFrames is how far from the stack pointer upwards memory is taken for the innermost frames of a thread, in bytes.
// They are those of the C library's wrapper and of its caller.
const ownFrames = 8 << 10

// own reports whether n bytes at an address are in the innermost frames of the thread that sleeps in
// a call. Nobody else reads or writes them while it sleeps, and they can be written.
func own(call *procmem.SyscallInfo, addr, n uint64) bool {
	return addr >= call.SP && n <= ownFrames && addr-call.SP <= ownFrames-n
}

// wordIsZero reports whether the word at an address of the thread's process is 0.
func (t *Thread) wordIsZero(addr uint64) bool {
	var word [8]byte
	n, err := procmem.ReadVM(t.TID, addr, word[:])
	return err == nil && n == len(word) && word == [8]byte{}
}

// plainFiles says which [Thread.plain] knows.
const plainFiles = "pipe, eventfd, timerfd, signalfd, inotify"

// plain reports whether a descriptor of the thread is one whose reads wait for a first byte and nothing else. The
// kernel restarts such reads with nothing done (fs/pipe.c, fs/eventfd.c, fs/timerfd.c, fs/signalfd.c,
// fs/notify/inotify/inotify_user.c). A terminal can have read a part (drivers/tty/n_tty.c, VMIN), and asks anew whose
// it is. A socket can have a time-out of its own, and a file system in user space is told.
//
// The table of descriptors is the thread's own, which it may not share with its process.
func (t *Thread) plain(fd int32) bool {
	var buf [24]byte
	table := "/proc/" + strconv.Itoa(t.PID) + "/task/" + strconv.Itoa(t.TID) + "/fd/"
	to, err := procmem.Readlink(table+strconv.Itoa(int(fd)), buf[:])
	if err != nil {
		return false
	}
	for _, kind := range [...]string{
		"pipe:[", "anon_inode:[eventfd]", "anon_inode:[timerfd]", "anon_inode:[signalfd]", "anon_inode:inotify",
	} {
		if bytes.HasPrefix(to, []byte(kind)) {
			return true
		}
	}
	return false
}
