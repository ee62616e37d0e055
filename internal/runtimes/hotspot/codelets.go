// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"sort"
	"strings"

	"prywalk/internal/managed"
)

// codelet is an InterpreterCodelet.
type codelet struct {
	begin, end     uint64
	text           uint64 // address of the description
	described      bool
	entry          bool // of a method
	continuesDeopt bool
}

// codelets are the interpreter's pieces, constant once all are generated.
type codelets struct {
	blob blob // grows until then
	list []codelet
}

const maxCodelets = 1 << 12

func (k *codeCache) codeletAt(b *blob, addr uint64) (codelet, bool) {
	p := &k.codelets
	if p.blob != *b {
		*p = codelets{blob: *b}
	}
	c := p.find(addr)
	if c == nil {
		p.list = k.readCodelets()
		c = p.find(addr)
	}
	if c == nil {
		return codelet{}, false
	}
	if !c.described {
		m := k.memory()
		text := m.name(c.text)
		c.entry, c.continuesDeopt = strings.Contains(text, entryText), strings.Contains(text, "deoptimization")
		c.described = !m.failed
	}
	return *c, c.described
}

const entryText = "method entry point"

func (p *codelets) find(addr uint64) *codelet {
	i := sort.Search(len(p.list), func(i int) bool { return p.list[i].end > addr })
	if i == len(p.list) || addr < p.list[i].begin {
		return nil
	}
	return &p.list[i]
}

// readCodelets lists them by address (StubQueue::stubs_do).
func (k *codeCache) readCodelets() (list []codelet) {
	var pages managed.Pages
	pages.Reset(&k.cached.process)
	m, l := memory{from: &pages}, k.layout
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
	return list
}
