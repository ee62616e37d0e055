// SPDX-License-Identifier: Apache-2.0

package top

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"prywalk/internal/show/view"
)

func TestCompleteStacksAreOfCPUTime(t *testing.T) {
	snap := &Snapshot{Length: time.Second, Since: time.Second, waits: []wait{{}},
		threads: map[int32]thread{0: {name: "app", pid: 7, tid: 7}}}
	for _, name := range []string{"main", "[incomplete: depth]", "sleep"} {
		module := "app"
		if strings.HasPrefix(name, "[") {
			module = ""
		}
		snap.frames = append(snap.frames, Frame{Frame: view.Frame{Name: name, Module: module}})
	}
	for range 100 {
		snap.Cells = append(snap.Cells, Cell{stack: []int32{2, 0}, v: Values{Samples: 100, Wall: 1e9}})
	}
	for i := range 10 {
		f := Frame{Frame: view.Frame{Name: "f" + string(rune('0'+i)), Module: "app"}}
		snap.frames = append(snap.frames, f)
		snap.Cells = append(snap.Cells,
			Cell{stack: []int32{int32(3 + i), 0}, v: Values{Samples: 9, Wall: 90e6, CPU: 90e6}})
	}
	snap.Cells = append(snap.Cells, Cell{stack: []int32{3, 1}, v: Values{Samples: 10, Wall: 100e6, CPU: 100e6}})
	var text, js bytes.Buffer
	if err := WriteText(&text, snap, State{Complete: 0.999}, Screen{Width: 200}, CPU, 5); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&js, snap, State{Complete: 0.999}, CPU, 5); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cpu: 90.0% with complete stacks",
		"10.0% of cpu in [incomplete: depth]", "--max-depth"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing:\n%s", want, &text)
		}
	}
	if n := strings.Count(text.String(), "[incomplete: depth]"); n != 2 {
		t.Errorf("the line with the cure and the first five rows name it %d times:\n%s", n, &text)
	}
	if !strings.Contains(js.String(), `"complete_cpu":0.9,`) {
		t.Errorf("%s", &js)
	}
}
