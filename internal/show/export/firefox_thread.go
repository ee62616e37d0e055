// SPDX-License-Identifier: Apache-2.0

package export

import (
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// firefoxThread gives a function and its frame one number.
type firefoxThread struct {
	ff         *firefoxBuilder
	strings    []string
	stringAt   map[string]int
	funcs      []int32
	funcAt     map[int32]int
	resources  []string
	resourceAt map[string]int
	prefix     []any // of each stack; nil for outermost frames
	stackFrame []int
	stackAt    map[view.Edge]int32
	stacks     []int32
	times      []float64
	weights    []any
	cpuDeltas  []int64
}

func (t *firefoxThread) sample(s *profile.Sample, time float64) {
	if !t.ff.take(firefoxSampleCost) {
		return
	}
	stack := int32(-1)
	for _, f := range slices.Backward(t.ff.Stack(s)) {
		stack = t.stack(stack, f)
	}
	t.stacks = append(t.stacks, stack)
	t.times = append(t.times, time)
	t.weights = append(t.weights, t.ff.weight(s))
	var cpu int64
	if t.ff.cpu >= 0 {
		cpu = max(0, s.Value[t.ff.cpu]/1000)
	}
	t.cpuDeltas = append(t.cpuDeltas, cpu)
}

// stack numbers a frame called from a stack; −1: none.
func (t *firefoxThread) stack(prefix, frame int32) int32 {
	e := view.Edge{Parent: prefix, Frame: frame}
	if n, ok := t.stackAt[e]; ok {
		return n
	}
	if !t.ff.take(firefoxStackCost) {
		return prefix
	}
	n := int32(len(t.stackFrame))
	t.stackAt[e] = n
	t.stackFrame = append(t.stackFrame, t.function(frame))
	if prefix < 0 {
		t.prefix = append(t.prefix, nil)
	} else {
		t.prefix = append(t.prefix, prefix)
	}
	return n
}

func (t *firefoxThread) function(frame int32) int {
	if _, ok := t.funcAt[frame]; !ok {
		t.ff.take(firefoxFunctionCost)
	}
	return rec.NumberIn(&t.funcs, t.funcAt, frame)
}

// str numbers a text; without memory, "".
func (t *firefoxThread) str(s string) int {
	if _, ok := t.stringAt[s]; !ok && !t.ff.take(int64(firefoxTextCost+firefoxByteCost*len(s))) {
		s = ""
	}
	return rec.NumberIn(&t.strings, t.stringAt, s)
}

func (t *firefoxThread) resource(module string) int {
	if module == "" {
		return -1
	}
	return rec.NumberIn(&t.resources, t.resourceAt, module)
}

func column(n int, v any) []any {
	c := make([]any, n)
	for i := range c {
		c[i] = v
	}
	return c
}

func (t *firefoxThread) samples() object {
	return object{"length": len(t.stacks), "weightType": t.ff.weightType(), "stack": t.stacks, "time": t.times,
		"weight": t.weights, "threadCPUDelta": t.cpuDeltas}
}

// funcTable also numbers modules, for resourceTable.
func (t *firefoxThread) funcTable() object {
	n := len(t.funcs)
	name, resource, file, line := make([]int, n), make([]int, n), make([]any, n), make([]any, n)
	for i, f := range t.funcs {
		fr := &t.ff.Frames[f]
		name[i], resource[i] = t.str(fr.Name), t.resource(fr.Module)
		if p := t.ff.places[f]; p.File != "" {
			if file[i] = t.str(p.File); p.Line != 0 {
				line[i] = p.Line
			}
		}
	}
	no := column(n, false)
	return object{"length": n, "name": name, "isJS": no, "relevantForJS": no, "resource": resource,
		"fileName": file, "lineNumber": line, "columnNumber": column(n, nil)}
}

func (t *firefoxThread) frameTable() object {
	n := len(t.funcs)
	fn, category := make([]int, n), make([]int, n)
	for i, f := range t.funcs {
		fn[i], category[i] = i, 1
		if t.ff.Frames[f].Synthetic() {
			category[i] = 2
		}
	}
	null, zero := column(n, nil), column(n, 0)
	return object{"length": n, "address": column(n, -1), "inlineDepth": zero, "category": category, "subcategory": zero,
		"func": fn, "nativeSymbol": null, "innerWindowID": null, "line": null, "column": null}
}

// resourceTable has type 1: libraries.
func (t *firefoxThread) resourceTable() object {
	n := len(t.resources)
	name := make([]int, n)
	for i, r := range t.resources {
		name[i] = t.str(r)
	}
	return object{"length": n, "lib": column(n, nil), "name": name, "host": column(n, nil), "type": column(n, 1)}
}
