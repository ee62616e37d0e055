// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

type known []struct {
	name string
	line int
}

func (k *known) UnmarshalJSON(b []byte) error {
	var list [][2]any
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for _, e := range list {
		*k = append(*k, struct {
			name string
			line int
		}{e[0].(string), int(e[1].(float64))})
	}
	return nil
}

// check returns an error text or "". The functions must be the list's first, each but the innermost at the line of its
// call.
func (k known) check(stack []frame) string {
	for i, f := range stack {
		switch {
		case i >= len(k):
			return fmt.Sprintf("%d: %s is one too many", i, f.Function)
		case f.truth == managed.Freed:
			return fmt.Sprintf("%d: freed, want %s", i, k[i].name)
		case f.Function != k[i].name:
			return fmt.Sprintf("%d: %s, want %s", i, f.Function, k[i].name)
		case i < len(stack)-1 && f.Line != k[i].line:
			return fmt.Sprintf("%d: %s is at line %d, want %d", i, f.Function, f.Line, k[i].line)
		}
	}
	return ""
}

func (k known) from(stack []frame) known {
	for i := range k {
		if len(stack) > 0 && k[i].name == stack[0].Function && k[i:].check(stack) == "" {
			return k[i:]
		}
	}
	return nil
}

func samplesOf(def int) int {
	if n, err := strconv.Atoi(os.Getenv("PYTHON_LOOKS")); err == nil {
		return n
	}
	return def
}

func TestChainsAreThoseThatTheProgramKnows(t *testing.T) {
	for version, exe := range pythons(t) {
		for _, how := range []string{"spin", "sleep"} {
			t.Run(version+"/"+how, func(t *testing.T) {
				cmd, line := observed.Launch(t, exe, "testdata/chain.py", how, "0")
				var k known
				if err := json.Unmarshal([]byte(line), &k); err != nil {
					t.Fatal(err)
				}
				k = append(k, struct {
					name string
					line int
				}{"tell", 0})
				py := attach(t, cmd.Process.Pid)
				n, wrong, bad, empty, cut, frames := 0, 0, 0, 0, 0, 0
				var at uint64
				py.looks(t, samplesOf(300), func(_ int, s *observe.RawSample, stack []frame, natives []uint64, h managed.Health) {
					n++
					if h != managed.Matched {
						if s.Regs.PC == at {
							return
						}
						at = s.Regs.PC
						if bad++; bad < 5 {
							t.Logf("health %d, %v, of %d natives, first %v", h, s.How, len(natives), py.functions(natives[:1]))
						}
						return
					}
					if len(stack) == 0 {
						empty++
					}
					frames += len(stack)
					list := k
					if py.cut {
						cut++
						list = k.from(stack)
					}
					if msg := list.check(stack); msg != "" {
						if wrong++; wrong < 5 {
							t.Errorf("%s\n%v", msg, names(stack))
						}
					}
				})
				// How many are not merged depends on the moments of the stops.
				if bad+empty+cut >= n {
					t.Errorf("of %d looks %d are not merged, %d without a Python frame, %d without the outer ones", n, bad, empty,
						cut)
				}
				t.Logf("%s: %d looks, %d frames, %d wrong, %d unmatched, %d without, %d without the outer ones", py.names.Name(), n,
					frames, wrong, bad, empty, cut)
			})
		}
	}
}

func names(stack []frame) (list []string) {
	for _, f := range stack {
		list = append(list, f.Function)
	}
	return list
}
