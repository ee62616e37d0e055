// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"os"
	"testing"

	"prywalk/frames"
)

// A frame of JIT code that is proven is the one that the forward analysis finds; of a register the proof may know less.
func TestProofsAgreeWithTheForwardAnalysis(t *testing.T) {
	for _, path := range []string{findLibc(t), "/usr/bin/node", "/usr/bin/python3"} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		code := openCode(t, path)
		s := New(Options{Arch: frames.X86_64, Code: code, JIT: true})
		w := getInterpreter(s)
		proven, less, n := 0, 0, 0
		for k, f := range readCFI(t, path) {
			if k%5 != 0 || n > 200000 {
				continue
			}
			f.instructions(s, code, func(pc, next uint64, fl *flow) {
				n++
				for _, caller := range []bool{false, true} {
					at := pc
					if caller {
						if at = next; fl.kind != flowCall {
							return
						}
					}
					got, ok := w.findEpilogueX86(at, caller)
					if !ok {
						continue
					}
					proven++
					v := w.analyseForward(at, caller, 0, ^uint64(0))
					want, _ := v.best()
					if want == nil || got.cfa != want.cfa || got.calleeSaved[0] != want.calleeSaved[0] {
						t.Fatalf("%s: %#x: epilogue search %+v, forward analysis %+v", path, at, got, want)
					}
					for i := range got.calleeSaved {
						if got.calleeSaved[i] == want.calleeSaved[i] {
							continue
						}
						if less++; got.calleeSaved[i].kind != lost {
							t.Fatalf("%s: %#x: register %d is %+v by epilogue search, %+v by forward analysis",
								path, at, i, got.calleeSaved[i], want.calleeSaved[i])
						}
					}
				}
			})
		}
		putInterpreter(w)
		t.Logf("%s: %d of %d proven, %d registers lost", path, proven, n, less)
	}
}

func TestRegistersOfAPXAreNoSavedOnes(t *testing.T) {
	// mov rbx, rax; mov r19, [rbp-16]; leave; ret
	s := jitCode([]byte{0x48, 0x89, 0xc3, 0xd5, 0x48, 0x8b, 0x5d, 0xf0, 0xc9, 0xc3})
	w := getInterpreter(s)
	defer putInterpreter(w)
	f, ok := w.findEpilogueX86(base, false)
	if !ok || f.calleeSaved[1].kind != lost {
		t.Errorf("epilogue search %+v, %v; want a frame without rbx", f, ok)
	}
}
