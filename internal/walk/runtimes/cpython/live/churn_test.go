// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"testing"
	"time"

	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

var numbered = regexp.MustCompile(`^(?:outer_|inner_|<)(\d+)>?$`)

// A name must be that of the function that ran at the sample, by the program's own counter, or be missing.
func TestFreedFunctionsDoNotGetOtherNames(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, line := observed.Launch(t, exe, "testdata/churn.py")
			at, err := strconv.ParseUint(line, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			py := attach(t, cmd.Process.Pid)
			count := func() uint64 {
				var b [8]byte
				py.host.Read(at, b[:])
				return binary.LittleEndian.Uint64(b[:])
			}
			var before, after uint64
			py.before = func() { before = count() }
			py.after = func() { after = count(); time.Sleep(3 * time.Millisecond) } // to other code
			looks, named, freed, wrong, unmatched := 0, 0, 0, 0, 0
			py.looks(t, samplesOf(150), func(_ int, _ *observe.RawSample, stack []frame, _ []uint64, h managed.Health) {
				looks++
				if h != managed.Matched {
					unmatched++
					return
				}
				for _, f := range stack {
					m := numbered.FindStringSubmatch(f.Function)
					switch {
					case f.truth == managed.Freed:
						freed++
					case m != nil:
						named++
						n, _ := strconv.ParseUint(m[1], 10, 64)
						if file := numbered.FindStringSubmatch(f.File); n < before || n > after+1 || file == nil || file[1] != m[1] {
							if wrong++; wrong < 5 {
								t.Errorf("%s in %s while %d to %d ran", f.Function, f.File, before, after)
							}
						}
					case f.Function != "<module>" && f.Function != "forever":
						t.Errorf("unknown function %q", f.Function)
					}
				}
			})
			t.Logf("%s: %d looks, %d functions with a number, %d freed, %d wrong, %d unmatched", py.names.Name(), looks, named,
				freed, wrong, unmatched)
		})
	}
}
