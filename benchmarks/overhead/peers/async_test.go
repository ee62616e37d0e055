// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"math"
	"strconv"
	"testing"
)

func TestStacksOfAsyncProfilerAreCompleteWhereTheyReachTheFirstFunction(t *testing.T) {
	if samples, complete := asyncStacks(written(t, "async.txt")); samples != 3334 || complete != 3230 {
		t.Errorf("%d stacks, %d complete", samples, complete)
	}
}

func TestFoldedStacksHaveACountInTheEnd(t *testing.T) {
	text := "main (a.py:1);work (a.py:2) 12\n\nmain 3\nno count\n5\nbelow -4\nnone 0\nlast " +
		strconv.Itoa(math.MaxInt64) + "\nmain 2"
	var sum int64
	for stack, n := range folded([]byte(text)) {
		sum += n
		if stack != "main" && stack != "main (a.py:1);work (a.py:2)" {
			t.Errorf("%q", stack)
		}
	}
	if sum != 17 {
		t.Error(sum)
	}
}

func FuzzOutputOfAsyncProfiler(f *testing.F) {
	f.Add(written(f, "async.txt"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if samples, complete := asyncStacks(text); samples < 0 || complete > samples {
			t.Errorf("%d stacks, %d complete", samples, complete)
		}
	})
}
