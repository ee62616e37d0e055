// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"strings"
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/target"
)

func checkDump(t *testing.T, what string, p *stacks.Process, names map[int]string, want map[string][][3]any) {
	t.Helper()
	seen := 0
	for _, th := range p.Threads {
		own := want[names[th.TID]]
		if own == nil {
			continue
		}
		seen++
		var stack observed.Stack
		for i := len(th.Frames) - 1; i >= 0; i-- {
			if f := &th.Frames[i]; f.Kind == "ruby" {
				stack.Frames = append(stack.Frames, observed.Frame{
					Frame: managed.Frame{Function: f.Function, File: f.File, Line: f.Line},
				})
			}
		}
		if msg := compare(stack.Frames, own); msg != "" {
			t.Errorf("%s, %s: %s\n%v", what, names[th.TID], msg, stack.Names())
		}
	}
	if seen != len(want) {
		t.Errorf("%s: %d threads of %d", what, seen, len(want))
	}
}

func TestDumpsAndCoresHaveRubyFrames(t *testing.T) {
	for version, ruby := range rubies(t) {
		t.Run(version, func(t *testing.T) {
			cmd, line := launch(t, ruby, "testdata/backtrace.rb")
			var want map[string][][3]any
			if err := json.Unmarshal([]byte(line), &want); err != nil {
				t.Fatal(err)
			}
			pid := cmd.Process.Pid
			names := map[int]string{}
			for _, atomic := range []bool{false, true} {
				p, err := loadedcode.Open(pid)
				if err != nil {
					t.Fatal(err)
				}
				tids, err := p.Threads(nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, tid := range tids {
					names[tid] = p.ThreadName(tid)
				}
				d, err := dump.Sample(p, dump.Options{MaxDepth: -1, Atomic: atomic})
				if err != nil {
					t.Fatal(err)
				}
				checkDump(t, "a dump", d, names, want)
				p.Close()
			}
			if strings.HasPrefix(version, "release") {
				checkFirst(t, ruby)
				return
			}
			checkDump(t, "a core", observed.DumpCore(t, pid), names, want)
		})
	}
}

// checkFirst checks a core of one thread: the C library of Debian's development release has a guard page inside of
// further threads' stacks, and Debian 12's gcore omits such mappings.
func checkFirst(t *testing.T, ruby program) {
	t.Helper()
	cmd, _ := launch(t, ruby, "testdata/chain.rb", "alone")
	for range 5 {
		for _, f := range observed.DumpCore(t, cmd.Process.Pid).Threads[0].Frames {
			if f.Kind == "ruby" && f.Function == "<main>" {
				return
			}
		}
	}
	t.Error("a core has no functions of the program")
}

func TestRecordingsHaveRubyFrames(t *testing.T) {
	for version, ruby := range rubies(t) {
		t.Run(version, func(t *testing.T) {
			cmd, _ := launch(t, ruby, "testdata/chain.rb", "spin")
			prof := observed.Record(t, cmd.Process.Pid, observed.Recording{Options: target.SamplingOptions{Freq: 99}, Stops: 30})
			samples, named := int64(0), int64(0)
			for _, s := range prof.Sample {
				ruby := false
				for _, l := range s.Location {
					for _, ln := range l.Line {
						if l.Mapping != nil && strings.HasPrefix(l.Mapping.File, "[Ruby ") && isFunction(plain(ln.Function.Name)) {
							ruby = ruby || ln.Function.Filename == "functions.rb" && ln.Line > 0
						}
					}
				}
				samples += s.Value[0]
				if ruby {
					named += s.Value[0]
				}
			}
			t.Logf("%d samples, %d with functions of the program", samples, named)
			if named == 0 {
				t.Errorf("none of %d samples has functions of the program", samples)
			}
		})
	}
}
