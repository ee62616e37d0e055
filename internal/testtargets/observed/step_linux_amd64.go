// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"encoding/binary"
	"syscall"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Hold stops a thread. Precondition, also of Step: runtime.LockOSThread.
func Hold(t *testing.T, tid int) *frames.Regs {
	t.Helper()
	if err := syscall.PtraceAttach(tid); err != nil {
		t.Fatal(err)
	}
	return WaitStop(t, tid)
}

// Release lets a held thread run.
func Release(tid int) error { return syscall.PtraceDetach(tid) }

// Step executes one instruction of a held thread.
func Step(t *testing.T, tid int) *frames.Regs {
	t.Helper()
	if err := syscall.PtraceSingleStep(tid); err != nil {
		t.Fatal(err)
	}
	return WaitStop(t, tid)
}

// WaitStop waits until a traced thread stops. Signals are dropped.
func WaitStop(t *testing.T, tid int) *frames.Regs {
	t.Helper()
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(tid, &ws, syscall.WALL, nil); err != nil || !ws.Stopped() {
		t.Fatalf("thread %d did not stop: %v %v", tid, ws, err)
	}
	var p syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &p); err != nil {
		t.Fatal(err)
	}
	r := &frames.Regs{Arch: frames.X86_64, PC: p.Rip, TLS: p.Fs_base}
	for reg, v := range [16]uint64{p.Rax, p.Rdx, p.Rcx, p.Rbx, p.Rsi, p.Rdi, p.Rbp, p.Rsp, p.R8, p.R9, p.R10, p.R11, p.R12,
		p.R13, p.R14, p.R15} {
		r.Set(uint8(reg), v)
	}
	return r
}

// Stopped returns a held thread's stack, by current memory.
func (p *Process) Stopped(tid int, regs *frames.Regs) Stack {
	return p.Merge(&managed.Sample{
		InnerTID: tid, Regs: regs, Mem: p.Memory(), Live: live{p.Code, func() bool { return true }},
	})
}

// Memory is a stopped process's memory, each page read once.
func (p *Process) Memory() frames.Memory { return Still(p.Host.Read) }

// Still reads each page once, by a function that returns the number of bytes.
func Still(read func(addr uint64, b []byte) int) frames.Memory {
	return still{read, map[uint64][]byte{}}
}

type still struct {
	read  func(addr uint64, b []byte) int
	pages map[uint64][]byte // nil: unreadable
}

const page = 4096

// Word implements frames.Memory.
func (m still) Word(addr frames.Addr) (uint64, bool) {
	at := addr &^ (page - 1)
	if addr-at > page-8 {
		return 0, false
	}
	text, ok := m.pages[at]
	if !ok {
		if text = make([]byte, page); m.read(at, text) != page {
			text = nil
		}
		m.pages[at] = text
	}
	if text == nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(text[addr-at:]), true
}

// Cut implements frames.Memory.
func (m still) Cut(frames.Addr) bool { return false }
