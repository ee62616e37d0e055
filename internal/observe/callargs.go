// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bytes"
	"strconv"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/internal/waits"
	"prywalk/ptrace"
)

// Registers of a system call's arguments, by DWARF number (System V ABI §A.2.1; arm64: x0 takes the result).
var (
	argumentsX86   = [6]uint8{frames.X86RDI, frames.X86RSI, frames.X86RDX, 10, 8, 9}
	argumentsARM64 = [6]uint8{frames.NoReg, 1, 2, 3, 4, 5}
)

// setArguments sets the argument registers. The C library's vfork keeps its return address in one.
func setArguments(regs *frames.Regs, call *procmem.SyscallInfo) {
	where := &argumentsX86
	if regs.Arch == frames.AArch64 {
		where = &argumentsARM64
	}
	for i, reg := range where {
		regs.Set(reg, call.Args[i])
	}
}

// ArgumentRegisters returns DWARF numbers, frames.NoReg for an overwritten register.
func ArgumentRegisters(arch frames.Arch) [6]uint8 {
	if arch == frames.AArch64 {
		return argumentsARM64
	}
	return argumentsX86
}

func futexCall(arch frames.Arch) int64 {
	if arch == frames.AArch64 {
		return 98 // include/uapi/asm-generic/unistd.h
	}
	return 202 // arch/x86/entry/syscalls/syscall_64.tbl
}

// copyFutexWord copies around the futex word of a sleeper. Precondition: between the two reads of the run count.
func copyFutexWord(t *Thread, s *RawSample, call *procmem.SyscallInfo) {
	word := &s.futexCopy
	word.n = 0
	addr, ok := uint64(0), false
	if call.Nr == futexCall(s.Regs.Arch) || isRestart(call.Nr) {
		addr, ok = waits.WordWithOwner(&call.Args)
	}
	if !ok || addr < waits.CopyBefore {
		return
	}
	word.addr = addr - waits.CopyBefore
	stack := &s.Mem.Stack
	if off := word.addr - stack.Addr; off < uint64(len(stack.Bytes)) && uint64(len(stack.Bytes))-off >= waits.CopySize {
		word.n = copy(word.bytes[:], stack.Bytes[off:])
		return
	}
	if t.Memory != nil && word.addr&^0xfff != addr&^0xfff {
		if start := t.Memory.MappingStart(addr); start > word.addr && start <= addr {
			word.addr = start
		}
	}
	word.n, _ = t.copy(word.addr, word.bytes[:]) // on error no owner is named
}

// dropStaleFutexCopy drops the copy if the thread has run since, except to stop.
func (s *RawSample) dropStaleFutexCopy(t *Thread, stop *ptrace.Stop) {
	if s.State != sample.Sleeping || s.Sched.Runs-t.clocks.last.Runs > 1 || !stop.SchedOK {
		s.futexCopy.n = 0
	}
}

// FutexWord returns the copy around a sleeper's futex(2) word, valid as long as the raw sample.
func (s *RawSample) FutexWord() waits.FutexCopy {
	return waits.FutexCopy{Addr: s.futexCopy.addr, Bytes: s.futexCopy.bytes[:s.futexCopy.n]}
}

// ownFrames is the assumed size, in bytes, of the innermost frames: the C library's wrapper and its caller.
const ownFrames = 8 << 10

// inOwnFrames reports whether n bytes at addr are in a sleeper's innermost frames, which no other thread writes.
func inOwnFrames(call *procmem.SyscallInfo, addr, n uint64) bool {
	return addr >= call.SP && n <= ownFrames && addr-call.SP <= ownFrames-n
}

// wordIsZero reads a word that the kernel has read at the call's entry, so that its page is there. It is also called by
// the walking goroutine, for which [procmem.Memory.Copy] is not.
func wordIsZero(tid int, addr uint64) bool {
	var word [8]byte
	n, err := procmem.ReadVM(tid, addr, word[:])
	return err == nil && n == len(word) && word == [8]byte{}
}

const restartableFiles = "pipe, eventfd, timerfd, signalfd, inotify"

// waitsForFirstByte reports whether a read waits for its first byte only, so that the kernel can restart it (fs/pipe.c,
// fs/eventfd.c, fs/timerfd.c, fs/signalfd.c, fs/notify/inotify/inotify_user.c), unlike terminals (drivers/tty/n_tty.c,
// VMIN) and sockets with time-outs. A thread may have its own descriptor table.
func waitsForFirstByte(id ThreadID, fd int32) bool {
	var buf [24]byte
	table := "/proc/" + strconv.Itoa(id.PID) + "/task/" + strconv.Itoa(id.TID) + "/fd/"
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
