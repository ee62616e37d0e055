// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
)

// At each instruction of a thread's calls, returns and entries from C the functions must be those of the program's
// record; at most a method and the C function that called it come or go. RUBY_STEPS is the number of instructions.
func TestEveryInstructionHasTheChainOfItsNeighbours(t *testing.T) {
	for version, ruby := range rubies(t) {
		t.Run(version, func(t *testing.T) {
			cmd, line := launch(t, ruby, "testdata/chain.rb", "alone")
			var at uint64
			if _, err := fmt.Sscan(line, &at); err != nil {
				t.Fatal(err)
			}
			steps := 1500
			if n, err := strconv.Atoi(os.Getenv("RUBY_STEPS")); err == nil {
				steps = n
			}
			rb := attach(t, cmd.Process.Pid)
			classes := qualified(rb)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			regs := holdWhole(t, rb)
			defer func() { _ = observed.Release(cmd.Process.Pid) }()
			// A frame is entered some instructions before it is filled in.
			early := strings.HasPrefix(rb.Names.Name(), "Ruby 2.7") ||
				strings.HasPrefix(rb.Names.Name(), "Ruby 3.1") && strings.HasSuffix(version, withYJIT)
			all, wrong, unmatched, jumps, before, changes, without := 0, 0, 0, 0, -1, 0, 0
			for n := range steps {
				if n > 0 {
					regs = observed.Step(t, cmd.Process.Pid)
				}
				list, _ := record(rb.Memory(), at)
				s := rb.Stopped(cmd.Process.Pid, regs)
				stack, h := s.Frames, s.Health
				switch {
				case h != managed.Matched:
					if unmatched++; unmatched < 5 {
						t.Logf("step %d: health %d at %s", n, h, rb.Host.Function(regs.PC))
					}
					continue
				case len(stack) == 0:
					without++
					continue
				}
				all += len(stack)
				if msg := check(stack, list, classes); msg != "" {
					if wrong++; wrong < 5 && !early {
						t.Errorf("step %d: %s\n%v\n%v at %s", n, msg, list, s.Names(), rb.Host.Function(regs.PC))
					}
				}
				if d := len(stack) - before; before >= 0 && (d > 2 || d < -3) {
					if jumps++; jumps < 5 {
						t.Errorf("step %d: %d frames after %d, at %s", n, len(stack), before, rb.Host.Function(regs.PC))
					}
				}
				if len(stack) != before {
					changes++
				}
				before = len(stack)
			}
			if unmatched+without == steps { // their share depends on where the thread is stopped
				t.Errorf("of %d instructions %d are not merged, %d without a Ruby frame", steps, unmatched, without)
			}
			t.Logf("%s: %d instructions, %d frames, %d wrong, %d jumps, %d unmatched, %d without, %d calls and returns",
				rb.Names.Name(), steps, all, wrong, jumps, unmatched, without, changes)
		})
	}
}

// holdWhole stops the thread where its stack is whole: while YJIT compiles, its code is not executable.
func holdWhole(t *testing.T, rb *observed.Process) *frames.Regs {
	t.Helper()
	var regs *frames.Regs
	testtargets.Eventually(t, "a whole stack", func() bool {
		regs = observed.Hold(t, rb.PID)
		if s := rb.Stopped(rb.PID, regs); s.Health == managed.Matched {
			return true
		}
		if err := observed.Release(rb.PID); err != nil {
			t.Fatal(err)
		}
		return false
	})
	return regs
}
