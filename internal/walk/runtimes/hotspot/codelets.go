// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"sort"
	"strings"

	"prywalk/internal/walk/managed"
)

type codelet struct {
	begin, end     uint64
	text           uint64
	described      bool
	entry          bool
	continuesDeopt bool
}

// codelets are constant once all are generated.
type codelets struct {
	blob blob // grows until then
	list []codelet
	all  bool // the list is up to the end of the interpreter
}

const maxCodelets = 1 << 12

func (c *codeCache) codeletAt(b *blob, addr uint64) (codelet, bool) {
	all := &c.codelets
	if all.blob != *b {
		*all = codelets{blob: *b}
	}
	found := all.find(addr)
	if found == nil {
		all.list, all.all = c.readCodelets()
		found = all.find(addr)
	}
	if found == nil {
		return codelet{}, false
	}
	if !found.described {
		m := c.memory()
		text := m.name(found.text)
		found.entry, found.continuesDeopt = strings.Contains(text, entryText), strings.Contains(text, "deoptimization")
		found.described = !m.failed
		c.unread = c.unread || m.failed
	}
	return *found, found.described
}

const entryText = "method entry point"

func (c *codelets) find(addr uint64) *codelet {
	i := sort.Search(len(c.list), func(i int) bool { return c.list[i].end > addr })
	if i == len(c.list) || addr < c.list[i].begin {
		return nil
	}
	return &c.list[i]
}

// readCodelets is StubQueue::stubs_do.
func (c *codeCache) readCodelets() (list []codelet, all bool) {
	var pages managed.Pages
	pages.Reset(&c.cached.process)
	m, l := memory{from: &pages}, c.layout
	queue := m.word(l.staticAddress("AbstractInterpreter::_code"))
	at := m.word(queue + l.offset("StubQueue::_stub_buffer"))
	end := at + uint64(m.int32(queue+l.offset("StubQueue::_buffer_limit")))
	for len(list) < maxCodelets && at < end {
		size := uint64(uint32(m.int32(at + l.offset("InterpreterCodelet::_size"))))
		text := m.word(at + l.offset("InterpreterCodelet::_description"))
		if m.failed || size == 0 || at+size < at {
			break
		}
		list = append(list, codelet{begin: at + l.sizes["InterpreterCodelet"], end: at + size, text: text})
		at += size
	}
	c.unread = c.unread || m.failed
	return list, !m.failed && len(list) > 0 && at == end
}
