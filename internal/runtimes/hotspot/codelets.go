package hotspot

import (
	"sort"
	"strings"
)

// codelet is a piece of the interpreter.
type codelet struct {
	begin, end uint64 // of its code
	text       uint64 // where its description is
	described  bool   // entry is known
	entry      bool   // what methods begin with: the frame is made in it
}

// codelets are the pieces of the interpreter, which are made as the machine starts and never changed.
type codelets struct {
	of   blob // whose code they are: it is larger until all are made
	list []codelet
}

// maxCodelets bounds the pieces of the interpreter; there are some hundred.
const maxCodelets = 1 << 12

// codeletAt gives the piece of the interpreter that an address of its blob is in.
func (v *VM) codeletAt(b *blob, addr uint64) (codelet, bool) {
	p := &v.pieces
	if p.of != *b {
		*p = codelets{of: *b}
	}
	c := p.find(addr)
	if c == nil {
		p.list = v.readCodelets()
		c = p.find(addr)
	}
	if c == nil {
		return codelet{}, false
	}
	if !c.described {
		m := v.memory()
		c.entry = strings.Contains(m.name(c.text), entryText)
		c.described = !m.failed
	}
	return *c, c.described
}

// entryText is in the descriptions of the pieces that methods begin with; "native" may stand before it.
const entryText = "method entry point"

// find gives the piece whose code an address is in, nil if there is none.
func (p *codelets) find(addr uint64) *codelet {
	i := sort.Search(len(p.list), func(i int) bool { return p.list[i].end > addr })
	if i == len(p.list) || addr < p.list[i].begin {
		return nil
	}
	return &p.list[i]
}

// readCodelets lists the pieces in order of their addresses (StubQueue::stubs_do). They lie close together, and are
// read page by page: one by one they took 0.1 to 0.5 ms for each new place in the interpreter.
func (v *VM) readCodelets() (list []codelet) {
	m, l := memory{read: byPages(v.o.Read)}, v.layout
	queue := m.word(l.static("AbstractInterpreter::_code"))
	at := m.word(queue + l.off("StubQueue::_stub_buffer"))
	end := at + uint64(m.int32(queue+l.off("StubQueue::_buffer_limit")))
	for len(list) < maxCodelets && at < end {
		size := uint64(uint32(m.int32(at + l.off("InterpreterCodelet::_size"))))
		text := m.word(at + l.off("InterpreterCodelet::_description"))
		if m.failed || size == 0 || at+size < at {
			break
		}
		list = append(list, codelet{begin: at + l.sizes["InterpreterCodelet"], end: at + size, text: text})
		at += size
	}
	return list
}
