// SPDX-License-Identifier: Apache-2.0

package top

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestCompleteStacksAreOfCPUTime(t *testing.T) {
	f := newFixture(t)
	for range 100 {
		f.add(f.slept(7, f.at("epoll_wait", "main"), "epoll_wait", 1000))
	}
	for _, name := range functionNames[1:10] {
		f.add(f.ran(7, f.at(name, "main"), 90))
	}
	f.add(f.ran(7, f.at("tick", "main"), 90))
	f.add(f.ran(7, f.at("compress", "[incomplete: depth]"), 100))
	f.refresh()
	snap := f.snapshot(0)
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
	snap.SetNotes([]string{"DEADLOCK: two threads"})
	text.Reset()
	if err := WriteText(&text, snap, State{Trouble: "gdb holds\nit"}, Screen{}, CPU, 5); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	if n := slices.Index(lines, "DEADLOCK: two threads"); n < 0 || lines[n+1] != "gdb holds it" || lines[n+2] != "" ||
		strings.Contains(text.String(), "--max-depth") {
		t.Errorf("want two notes, the most important ones, above the tables:\n%s", &text)
	}
	text.Reset()
	if err := WriteText(&text, snap, State{}, Screen{}, CPU, 5); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "[incomplete: depth]"); n != 2 {
		t.Errorf("the line with the cure and the first five rows name it %d times:\n%s", n, &text)
	}
	if !strings.Contains(js.String(), `"complete_cpu":0.9,`) {
		t.Errorf("%s", &js)
	}
}
