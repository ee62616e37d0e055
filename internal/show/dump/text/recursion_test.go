// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/stacks"
)

func calls(names ...string) (out []stacks.Frame) {
	known := map[string]*stacks.Place{}
	for i, n := range names {
		if known[n] == nil {
			known[n] = &stacks.Place{Function: n, Module: "/bin/x", Method: "cfi"}
		}
		out = append(out, stacks.Frame{PC: 1, SP: schema.Hex(16 * i), Place: known[n]})
	}
	return out
}

func TestARepeatedCycleIsOneLineBetweenItsEnds(t *testing.T) {
	for _, c := range []struct {
		stack []string
		line  string
		lines int
	}{
		{slices.Repeat([]string{"f", "g"}, 450_000), "… 899,980 frames: f ← g, 449,990 times", 21},
		{slices.Concat([]string{"leaf"}, slices.Repeat([]string{"f"}, 1000), []string{"main"}),
			"… 980 frames: f, 980 times", 23},
		{slices.Concat([]string{"a", "b", "c", "x"}, slices.Repeat([]string{"a", "b", "c"}, 100), []string{"main"}),
			"… 279 frames: b ← c ← a, 93 times", 27},
		{slices.Repeat([]string{"f", "g"}, 30), "", 60},
		{slices.Concat(slices.Repeat([]string{"f"}, 500), slices.Repeat([]string{"g", "h"}, 500)),
			"… 480 frames: f, 480 times", 42},
	} {
		var b strings.Builder
		writeStack(&b, &stacks.Thread{Frames: calls(c.stack...), Complete: true}, false)
		text := b.String()
		if n := strings.Count(text, "\n"); n != c.lines || !strings.Contains(text, c.line) {
			t.Errorf("%d calls: %d lines, want %d with %q:\n%s", len(c.stack), n, c.lines, c.line, text[:min(len(text), 2000)])
		}
		if last := fmt.Sprintf("#%d ", len(c.stack)-1); !strings.Contains(text, last) {
			t.Errorf("%d calls: %s is missing", len(c.stack), last)
		}
	}
}

func TestStacksWithoutACycleAreShownWhole(t *testing.T) {
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprint("f", i*i%97, i%31))
	}
	var b strings.Builder
	writeStack(&b, &stacks.Thread{Frames: calls(names...), Complete: true}, false)
	if n := strings.Count(b.String(), "\n"); n != 500 {
		t.Errorf("%d lines of 500", n)
	}
}
