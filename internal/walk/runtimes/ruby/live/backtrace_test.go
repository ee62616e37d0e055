// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

// The lines of the method that wrote the backtrace are not compared.
func TestStacksAreRubysOwnBacktraces(t *testing.T) {
	for version, ruby := range rubies(t) {
		t.Run(version, func(t *testing.T) {
			cmd, line := launch(t, ruby, "testdata/backtrace.rb")
			var want map[string][][3]any
			if err := json.Unmarshal([]byte(line), &want); err != nil {
				t.Fatal(err)
			}
			rb := attach(t, cmd.Process.Pid)
			seen, all := map[string]bool{}, 0
			rb.Observe(t, 2, func(tid int, _ *observe.RawSample, stack observed.Stack) {
				name := rb.Code.ThreadName(tid)
				own := want[name]
				if own == nil {
					return
				}
				seen[name] = true
				if stack.Health != managed.Matched {
					t.Errorf("%s: health %d", name, stack.Health)
					return
				}
				all += len(own)
				if msg := compare(stack.Frames, own); msg != "" {
					t.Errorf("%s: %s\n%v\n%v", name, msg, stack.Names(), own)
				}
			})
			t.Logf("%s: %d threads, %d frames", rb.Names.Name(), len(seen), all)
			if len(seen) != len(want) {
				t.Errorf("%d threads of %d were seen", len(seen), len(want))
			}
		})
	}
}

func compare(stack []observed.Frame, own [][3]any) string {
	for i := range own {
		label, path, line := own[len(own)-1-i][0], own[len(own)-1-i][1], int(own[len(own)-1-i][2].(float64))
		if i >= len(stack) {
			return fmt.Sprintf("%v is missing", label)
		}
		f := &stack[i]
		switch {
		case f.Truth == managed.Freed || f.Function != label:
			return fmt.Sprintf("%q, want %q", f.Function, label)
		case f.File != "" && f.File != path && !internal(f.File):
			return fmt.Sprintf("%s is in %s, not in %s", f.Function, f.File, path)
		case f.File != "" && i < len(own)-1 && f.Line != line && !internal(f.File):
			return fmt.Sprintf("%s is at line %d, not %d", f.Function, f.Line, line)
		}
	}
	return ""
}

// internal reports the interpreter's own file. Backtraces from 3.4 on have the caller's instead.
func internal(file string) bool { return len(file) > 0 && file[0] == '<' }
