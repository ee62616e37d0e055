// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/view"
)

func (d *data) selectFrames(flag, function string) (func(frame int32) bool, error) {
	frames := d.AllFrames()
	named := func(is func(name string) bool) map[int32]bool {
		all := map[int32]bool{}
		for n := range frames {
			if is(frames[n].Name) {
				all[int32(n)] = true
			}
		}
		return all
	}
	selected := named(func(name string) bool { return name == function })
	if len(selected) == 0 { // names such as operator++ are no regular expressions
		re, err := view.Compile(flag, function)
		if err != nil {
			return nil, err
		}
		selected = named(func(name string) bool { return re != nil && re.MatchString(name) })
	}
	if len(selected) > 0 {
		return func(f int32) bool { return selected[f] }, nil
	}
	return nil, fmt.Errorf("no function is named %q or matches it; %s lists all", function,
		suggest("-n -1", &d.Options))
}

// Callers writes a function's callers as a tree. Total is time in the function and its callees on that path, self in
// the function itself.
func Callers(w io.Writer, p *profile.Profile, function string, o Options) error {
	return writeCallersOrCallees(w, p, function, o, "callers", "callers, nearest first", addCallers)
}

// Callees writes the functions that a function called, as a tree.
func Callees(w io.Writer, p *profile.Profile, function string, o Options) error {
	return writeCallersOrCallees(w, p, function, o, "callees", "callees", addCallees)
}

func writeCallersOrCallees(w io.Writer, p *profile.Profile, function string, o Options, flag, title string,
	add func(t *view.CallTree, stack []int32, v int64, isFocus func(int32) bool)) error {
	return writeForm(w, p, o, func(d *data, out *printable.Writer) error {
		isFocus, err := d.selectFrames(flag, function)
		if err != nil {
			return err
		}
		t := d.NewCallTree()
		for _, s := range d.Profile.Sample {
			if v := s.Value[d.ValueIndex]; v != 0 {
				add(t, d.Table.Stack(s), v, isFocus)
			}
		}
		t.SortChildren()
		d.heading(out)
		d.writeTree(out, t, title, "all of "+function)
		return nil
	})
}

// addCallers adds the path from a function outward. In a recursion the innermost call counts, so no time counts twice.
func addCallers(t *view.CallTree, stack []int32, v int64, isFocus func(int32) bool) {
	focus := slices.IndexFunc(stack, isFocus)
	if focus < 0 {
		return
	}
	self := int64(0)
	if focus == 0 {
		self = v
	}
	node := int32(0)
	t.Nodes[node].Total += v
	t.Nodes[node].Self += self
	for _, f := range stack[focus:] {
		node = t.Child(node, f)
		t.Nodes[node].Total += v
		t.Nodes[node].Self += self
	}
}

// addCallees adds the path from a function inward. In a recursion the outermost call counts, so that no time counts
// twice. The root's self is the time with the function innermost.
func addCallees(t *view.CallTree, stack []int32, v int64, isFocus func(int32) bool) {
	focus := len(stack) - 1
	for focus >= 0 && !isFocus(stack[focus]) {
		focus--
	}
	if focus < 0 {
		return
	}
	node := int32(0)
	t.Nodes[node].Total += v
	if isFocus(stack[0]) {
		t.Nodes[node].Self += v
	}
	for _, f := range slices.Backward(stack[:focus+1]) {
		node = t.Child(node, f)
		t.Nodes[node].Total += v
	}
	t.Nodes[node].Self += v
}
