// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/binary"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

var (
	numbered = regexp.MustCompile(`(?:outer|itself)_(\d+)$`)
	fileOf   = regexp.MustCompile(`^<(\d+)>$`)
)

func linesOf(function string) []int {
	switch {
	case strings.HasPrefix(function, "block (2 levels)"):
		return []int{5}
	case strings.HasPrefix(function, "block"):
		return []int{3, 4, 5, 6}
	}
	return []int{1, 2, 3, 4, 7}
}

// A name must be that of the method that ran in the sample, by the program's own counter, or be missing.
func TestFreedFunctionsDoNotGetOtherNames(t *testing.T) {
	for version, ruby := range rubies(t) {
		t.Run(version, func(t *testing.T) {
			cmd, line := launch(t, ruby, "testdata/churn.rb")
			at, err := strconv.ParseUint(line, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			rb := attach(t, cmd.Process.Pid)
			count := func() uint64 {
				var b [8]byte
				rb.Host.Read(at, b[:])
				return binary.LittleEndian.Uint64(b[:])
			}
			var before, after uint64
			rb.Before = func() { before = count() }
			rb.After = func() { after = count(); time.Sleep(3 * time.Millisecond) } // to other code
			looks, named, freed, wrong, unmatched := 0, 0, 0, 0, 0
			rb.Observe(t, samplesOf(100), func(tid int, _ *observe.RawSample, stack observed.Stack) {
				if tid != cmd.Process.Pid {
					return
				}
				looks++
				if stack.Health != managed.Matched {
					unmatched++
					return
				}
				for _, f := range stack.Frames {
					name := numbered.FindStringSubmatch(f.Function)
					if f.Truth == managed.Freed {
						freed++
					}
					if name == nil {
						continue
					}
					named++
					n, _ := strconv.ParseUint(name[1], 10, 64)
					file := fileOf.FindStringSubmatch(f.File)
					if n < before || n > after || file == nil || file[1] != name[1] || !slices.Contains(linesOf(f.Function), f.Line) {
						if wrong++; wrong < 5 {
							t.Errorf("%s at %s:%d while %d to %d ran", f.Function, f.File, f.Line, before, after)
						}
					}
				}
			})
			t.Logf("%s: %d looks, %d functions with a number, %d freed, %d wrong, %d unmatched", rb.Names.Name(), looks, named,
				freed, wrong, unmatched)
			if named == 0 {
				t.Errorf("no function was named, %d are freed", freed)
			}
		})
	}
}
