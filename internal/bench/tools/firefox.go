// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"encoding/json"
	"strconv"
)

// firefoxProfile is what is read of a profile in Firefox's processed format, as samply writes it. Tables are lists of
// equal length, one for each property; an entry refers to another by its position.
type firefoxProfile struct {
	Libs []struct {
		Path string
	}
	// Shared has the tables in later versions of the format, which are not read here.
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

// firefoxIndex is a number of a table, or −1 for null.
type firefoxIndex int64

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

// at gives an entry of a table, −1 if it has none there.
func (i firefoxIndex) at(table []firefoxIndex) firefoxIndex {
	if i < 0 || int64(i) >= int64(len(table)) {
		return -1
	}
	return table[i]
}

// firstAt reports whether the code of a file at an offset from where the file is mapped is in a thread's first
// function; caller. The offset is inside of a call, else at the very instruction that the thread is at.
type firstAt func(path string, offset uint64, caller bool) bool

// firefoxStacks counts the stacks in a profile, and those whose outermost frame is in a thread's first function. What
// is no profile has none; complete is −1 where the profile has its tables elsewhere, or without a way to tell.
func firefoxStacks(text []byte, first firstAt) (samples, complete int64) {
	var p firefoxProfile
	if err := json.Unmarshal(text, &p); err != nil {
		return 0, 0
	}
	for i := range p.Threads {
		t := &p.Threads[i]
		samples += int64(len(t.Samples.Stack))
		if first == nil || p.Shared != nil {
			complete = -1
			continue
		}
		outermost := t.outermost()
		for _, stack := range t.Samples.Stack {
			if root := stack.at(outermost); root >= 0 && p.firstFrame(t, root, root != stack, first) {
				complete++
			}
		}
	}
	return samples, complete
}

// outermost gives for each stack the one that its outermost frame stands in. A stack refers to its caller's, which
// stands before it: so none is its own caller.
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

// firstFrame reports whether the frame of a stack is in a thread's first function.
func (p *firefoxProfile) firstFrame(t *firefoxThread, stack firefoxIndex, caller bool, first firstAt) bool {
	frame := stack.at(t.StackTable.Frame)
	lib := frame.at(t.FrameTable.Func).at(t.FuncTable.Resource).at(t.ResourceTable.Lib)
	address := frame.at(t.FrameTable.Address)
	return address >= 0 && lib >= 0 && int64(lib) < int64(len(p.Libs)) && first(p.Libs[lib].Path, uint64(address), caller)
}
