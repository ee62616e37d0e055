// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"slices"

	"prywalk/internal/base/languages"
	"prywalk/internal/walk/managed"
)

// follow lists the chains from each innermost function to its outermost ones, equal ones together. A function that no
// other in the heap awaits is the outermost; one that awaits no other, the innermost. If threads ran, a collection may
// have hidden the inner one: two readings must agree. A search that was cut is not repeated, so its innermost functions
// can await others that were not found.
func (a *awaitReader) follow(before *awaitReader) {
	for _, n := range a.at {
		for _, w := range n.outer {
			if outer := a.at[w]; outer != nil {
				outer.inner = true
			}
		}
	}
	for w, n := range a.at {
		was := before.at[w]
		agreed := a.list.Undisturbed || a.list.Cut || was != nil && !was.inner && was.awaited == n.awaited
		if n.unproven = n.unproven || !n.inner && !agreed; n.unproven {
			a.list.Unproven++
		} else {
			a.list.Pending++
		}
	}
	for _, w := range a.order {
		if n := a.at[w]; !n.inner {
			a.walk(n, false)
		}
	}
	for _, w := range a.order {
		if n := a.at[w]; !n.shown {
			a.walk(n, true)
		}
	}
}

// walk lists the chains from a function on, or the cycles, which begin with the path. It leaves out unproven functions.
func (a *awaitReader) walk(n *awaitNode, cycles bool) {
	if a.steps++; a.steps > maxAwaitSteps || len(a.path) >= maxAwaitDepth {
		a.list.More++
		return
	}
	if n.shown = true; n.unproven || n.onPath {
		if n.onPath {
			a.addChain(cyclic)
		}
		return
	}
	n.onPath, a.path = true, append(a.path, n)
	for _, w := range n.outer {
		if outer := a.at[w]; outer != nil {
			a.walk(outer, cycles)
		}
	}
	if len(n.outer) == 0 && !cycles {
		a.addChain("")
	}
	n.onPath, a.path = false, a.path[:len(a.path)-1]
}

// cyclic is what the innermost function of a cycle awaits.
const cyclic = "the outermost of its own chain"

func (a *awaitReader) addChain(awaits string) {
	a.key = append(a.key[:0], awaits...)
	for _, n := range a.path {
		a.key = binary.AppendUvarint(a.key, uint64(a.frameOf(n)))
	}
	i, has := a.chains[string(a.key)]
	switch {
	case has:
		a.list.Tasks[i].Count++
		return
	case len(a.list.Tasks) >= managed.MostTasks || a.listed+len(a.path) > maxAwaitFrames:
		a.list.More++
		return
	}
	a.listed += len(a.path)
	t := managed.Task{Family: languages.AwaitTask, Runtime: a.runtime.Name(), Awaits: awaits, Count: 1}
	for _, n := range a.path {
		t.Frames = append(t.Frames, a.frames[a.frameOf(n)])
	}
	a.chains[string(a.key)] = len(a.list.Tasks)
	a.list.Tasks = append(a.list.Tasks, t)
}

// frameOf returns the number of a function's frame. Interpreter and compiled code can store two offsets of one await.
func (a *awaitReader) frameOf(n *awaitNode) int {
	if n.frame == 0 {
		p, ok := positionAt(n.function.positions, a.promises.heap.build.atLeast(14, 0), n.offset)
		f := a.runtime.frame(n.function, p, ok, kindInterpreted)
		if n.frame = slices.Index(a.frames, f); n.frame < 0 {
			n.frame = len(a.frames)
			a.frames = append(a.frames, f)
		}
	}
	return n.frame
}
