// SPDX-License-Identifier: Apache-2.0

package changes

import "prywalk/internal/dump/stacks"

func innermost(t *stacks.Thread) string {
	for i := range t.Frames {
		if t.Frames[i].Function != "" {
			return t.Frames[i].Location()
		}
	}
	return ""
}

func place(t *stacks.Thread) string {
	if own := t.OwnPlace(); own != "" {
		return own
	}
	return innermost(t)
}

// places returns the innermost functions as well where the program's are equal.
func places(before, now *stacks.Thread) (from, to string) {
	from, to = place(before), place(now)
	if x, y := innermost(before), innermost(now); from == to && x != y {
		return x + ", in " + from, y + ", in " + to
	}
	return from, to
}

// equalStacks compares the common part where one stack is incomplete.
func equalStacks(a, b *stacks.Thread) bool {
	n := min(len(a.Frames), len(b.Frames))
	if a.Complete && b.Complete && len(a.Frames) != len(b.Frames) {
		return false
	}
	for i := range n {
		if !equalFrames(&a.Frames[i], &b.Frames[i]) {
			return false
		}
	}
	return n > 0 || len(a.Frames) == len(b.Frames)
}

func equalFrames(a, b *stacks.Frame) bool {
	if a.Kind == "" && b.Kind == "" && a.PC != 0 && b.PC != 0 {
		return a.PC == b.PC && a.Inlined == b.Inlined
	}
	return a.Function == b.Function && a.File == b.File && a.Line == b.Line
}
