// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
)

// At each instruction of a thread's calls, returns and entries from C the Python frames must be the outer ones of the
// program's own list; at most one may come or go. At some instructions of an entry nothing in memory leads to the
// chain. PYTHON_STEPS is the number of instructions.
func TestEveryInstructionHasTheChainOfItsNeighbours(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, line := observed.Launch(t, exe, "testdata/chain.py", "spin", "0")
			var k known
			if err := json.Unmarshal([]byte(line), &k); err != nil {
				t.Fatal(err)
			}
			steps := 3000
			if n, err := strconv.Atoi(os.Getenv("PYTHON_STEPS")); err == nil {
				steps = n
			}
			py := attach(t, cmd.Process.Pid)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			regs := observed.Hold(t, cmd.Process.Pid)
			defer func() { _ = syscall.PtraceDetach(cmd.Process.Pid) }()
			frames, wrong, unmatched, jumps, before := 0, 0, 0, 0, -1
			deepest, changes, without := 0, 0, 0
			for n := range steps {
				if n > 0 {
					regs = observed.Step(t, cmd.Process.Pid)
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
			if unmatched+without == steps { // their share depends on where the thread is stopped
				t.Errorf("of %d instructions %d are not merged, %d without a Python frame", steps, unmatched, without)
			}
			t.Logf("%s: %d instructions, %d frames, %d wrong, %d jumps, %d unmatched, %d without, "+
				"%d calls and returns, up to %d deep",
				py.names.Name(), steps, frames, wrong, jumps, unmatched, without, changes, deepest)
		})
	}
}

func (py *python) walkStopped(tid int, regs *frames.Regs) (stack []frame, natives []uint64, h managed.Health) {
	l := live{py.p, func() bool { return true }}
	return py.merge(&managed.Sample{InnerTID: tid, Regs: regs, Mem: observed.Still(py.host.Read), Live: l})
}
