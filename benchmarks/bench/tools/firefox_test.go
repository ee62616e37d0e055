// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func written(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// runtime.goexit in testdata/samply.json; runtime.mcall is at 0x90ff4.
func goexit(path string, offset uint64, caller bool) bool {
	return path == "/tmp/data/server" && offset == 0x92c40 && caller
}

func TestStacksOfSamplyAreCompleteWhereTheirOutermostFrameIsAThreadsFirst(t *testing.T) {
	text := written(t, "samply.json")
	if samples, complete := firefoxStacks(text, goexit); samples != 5 || complete != 3 {
		t.Errorf("%d stacks, %d complete", samples, complete)
	}
	if samples, complete := firefoxStacks(text, nil); samples != 5 || complete != -1 {
		t.Errorf("without a way to tell: %d stacks, %d complete", samples, complete)
	}
}

func TestProfilesOfOtherFormsDoNotTellWhatIsComplete(t *testing.T) {
	every := func(string, uint64, bool) bool { return true }
	for text, want := range map[string][2]int64{
		"":   {0, 0},
		"{}": {0, 0},
		`{"shared":{},"threads":[{"samples":{"stack":[0,1]}}]}`: {2, -1},
		`{"threads":[{"samples":{"stack":[null,0,7,-3]}}]}`:     {4, 0},
		`{"threads":[{"samples":{"stack":[0.5]}}]}`:             {0, 0},
		// A stack that is its own caller, and one whose caller follows it.
		`{"libs":[{}],"threads":[{"samples":{"stack":[0,1,2]},"stackTable":{"prefix":[0,2,null],"frame":[0,0,0]},` +
			`"frameTable":{"address":[1],"func":[0]},"funcTable":{"resource":[0]},"resourceTable":{"lib":[0]}}]}`: {3, 1},
	} {
		if samples, complete := firefoxStacks([]byte(text), every); samples != want[0] || complete != want[1] {
			t.Errorf("%s: %d stacks, %d complete", text, samples, complete)
		}
	}
}

func TestAnIndexOutsideOfItsTableIsMinusOne(t *testing.T) {
	for _, i := range []firefoxIndex{-1, 2, math.MaxInt64, math.MinInt64} {
		if got := i.at([]firefoxIndex{5, 6}); got != -1 {
			t.Errorf("%d: %d", i, got)
		}
	}
}

func FuzzProfileOfSamply(f *testing.F) {
	f.Add(written(f, "samply.json"))
	f.Add([]byte(`{"libs":[{}],"threads":[{"samples":{"stack":[0]},"stackTable":{"prefix":[null],"frame":[0]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if samples, complete := firefoxStacks(text, goexit); samples < 0 || complete > samples {
			t.Errorf("%d stacks, %d complete", samples, complete)
		}
	})
}
