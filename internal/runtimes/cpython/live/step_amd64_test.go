// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// TestEveryInstructionHasTheChainOfItsNeighbours steps a thread from instruction to instruction through calls, returns
// and entries from C. At each the Python frames must be the first ones of the program's own list. From one to the next
// at most one may come or go. At some of an entry nothing in memory leads to the chain: there are native frames only.
// PYTHON_STEPS is how many instructions.
func TestEveryInstructionHasTheChainOfItsNeighbours(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, line := launch(t, exe, "testdata/chain.py", "spin", "0")
			var k known
			if err := json.Unmarshal([]byte(line), &k); err != nil {
				t.Fatal(err)
			}
			steps := 3000
			if n, err := strconv.Atoi(os.Getenv("PYTHON_STEPS")); err == nil {
				steps = n
			}
			py := attach(t, cmd.Process.Pid)
			runtime.LockOSThread() // ptrace is the thread's
			defer runtime.UnlockOSThread()
			regs := hold(t, cmd.Process.Pid)
			defer func() { _ = syscall.PtraceDetach(cmd.Process.Pid) }()
			frames, wrong, unmatched, jumps, before := 0, 0, 0, 0, -1
			deepest, changes, without := 0, 0, 0
			for n := range steps {
				if n > 0 {
					regs = step(t, cmd.Process.Pid)
				}
				stack, natives, h := py.walkStopped(cmd.Process.Pid, regs)
				if h != managed.Matched {
					if unmatched++; unmatched < 5 {
						t.Logf("step %d: health %d, at %v", n, h, py.functions(natives[:min(len(natives), 3)]))
					}
					continue
				}
				if len(stack) == 0 {
					without++
					continue
				}
				frames += len(stack)
				if msg := k.check(stack); msg != "" {
					if wrong++; wrong < 5 {
						t.Errorf("step %d: %s\n%v\n%v", n, msg, names(stack), py.functions(natives[:min(len(natives), 3)]))
					}
				}
				if d := len(stack) - before; before >= 0 && (d > 1 || d < -1) {
					if jumps++; jumps < 5 {
						t.Errorf("step %d: %d frames after %d, at %v", n, len(stack), before,
							py.functions(natives[:min(len(natives), 3)]))
					}
				}
				if len(stack) != before {
					changes++
				}
				before = len(stack)
				deepest = max(deepest, before)
			}
			if unmatched > steps/10 || without > steps/10 {
				t.Errorf("of %d instructions %d are not merged, %d without a Python frame", steps, unmatched, without)
			}
			t.Logf("%s: %d instructions, %d frames, %d wrong, %d jumps, %d unmatched, %d without, "+
				"%d calls and returns, up to %d deep",
				py.names.Name(), steps, frames, wrong, jumps, unmatched, without, changes, deepest)
		})
	}
}

// hold stops a thread.
func hold(t *testing.T, tid int) *frames.Regs {
	t.Helper()
	if err := syscall.PtraceAttach(tid); err != nil {
		t.Fatal(err)
	}
	return stopped(t, tid)
}

// step lets a thread do one instruction.
func step(t *testing.T, tid int) *frames.Regs {
	t.Helper()
	if err := syscall.PtraceSingleStep(tid); err != nil {
		t.Fatal(err)
	}
	return stopped(t, tid)
}

// stopped waits until a thread has stopped, and gives its registers.
func stopped(t *testing.T, tid int) *frames.Regs {
	t.Helper()
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(tid, &ws, syscall.WALL, nil); err != nil || !ws.Stopped() {
		t.Fatalf("it did not stop: %v %v", ws, err)
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

// still is the memory of a process while it is stopped.
type still struct {
	py    *python
	pages map[uint64][]byte
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
		text = make([]byte, page)
		if m.py.host.Read(at, text) != page {
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

// walkStopped walks a thread that is stopped, and gives its Python frames, outermost first.
func (py *python) walkStopped(tid int, regs *frames.Regs) (stack []frame, natives []uint64, h managed.Health) {
	l := live{py.p, func() bool { return true }}
	return py.merge(&managed.Sample{TID: tid, Regs: regs, Mem: still{py, map[uint64][]byte{}}, Live: l})
}
