// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"encoding/json"
	"strconv"
)

// firefoxProfile is the format as samply writes it: tables are columns, entries refer by index.
type firefoxProfile struct {
	Libs []struct {
		Path string
	}
	// Shared has the tables in later versions, which are not supported.
	Shared  json.RawMessage
	Threads []firefoxThread
}

type firefoxThread struct {
	Samples       struct{ Stack []firefoxIndex }
	StackTable    struct{ Prefix, Frame []firefoxIndex }
	FrameTable    struct{ Address, Func []firefoxIndex }
	FuncTable     struct{ Resource []firefoxIndex }
	ResourceTable struct{ Lib []firefoxIndex }
}

type firefoxIndex int64 // −1: null

// UnmarshalJSON implements [json.Unmarshaler].
func (i *firefoxIndex) UnmarshalJSON(text []byte) error {
	*i = -1
	if string(text) == "null" {
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err == nil {
		*i = firefoxIndex(n)
	}
	return err
}

func (i firefoxIndex) at(table []firefoxIndex) firefoxIndex {
	if i < 0 || int64(i) >= int64(len(table)) {
		return -1
	}
	return table[i]
}

// firstAt is asked for an offset inside of a call if caller is set.
type firstAt func(path string, offset uint64, caller bool) bool

// firefoxStacks returns complete = −1 if it is unknown.
func firefoxStacks(text []byte, first firstAt) (samples, complete int64) {
	var p firefoxProfile
	if err := json.Unmarshal(text, &p); err != nil {
		return 0, 0
	}
	for i := range p.Threads {
		samples += int64(len(p.Threads[i].Samples.Stack))
	}
	if first == nil || p.Shared != nil {
		return samples, -1
	}
	for i := range p.Threads {
		t := &p.Threads[i]
		outermost := t.outermost()
		for _, stack := range t.Samples.Stack {
			if root := stack.at(outermost); root >= 0 && p.firstFrame(t, root, root != stack, first) {
				complete++
			}
		}
	}
	return samples, complete
}

// outermost needs no search for cycles, as callers precede callees.
func (t *firefoxThread) outermost() []firefoxIndex {
	out := make([]firefoxIndex, 0, len(t.StackTable.Prefix))
	for i, prefix := range t.StackTable.Prefix {
		root := firefoxIndex(i)
		if prefix >= 0 {
			root = prefix.at(out)
		}
		out = append(out, root)
	}
	return out
}

func (p *firefoxProfile) firstFrame(t *firefoxThread, stack firefoxIndex, caller bool, first firstAt) bool {
	frame := stack.at(t.StackTable.Frame)
	lib := frame.at(t.FrameTable.Func).at(t.FuncTable.Resource).at(t.ResourceTable.Lib)
	address := frame.at(t.FrameTable.Address)
	return address >= 0 && lib >= 0 && int64(lib) < int64(len(p.Libs)) && first(p.Libs[lib].Path, uint64(address), caller)
}
