// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// program is a module with a Go run-time system, in its process.
type program struct {
	table  *Table
	module *frames.Module
	bias   frames.Addr
	host   managed.Host // of the last Attach
}

func (p *program) word(at uint64) (uint64, bool) {
	var b [8]byte
	ok := p.host.Read(at, b[:]) == len(b)
	return binary.LittleEndian.Uint64(b[:]), ok
}

// tableAt returns the table, a plugin's too, for code at pc, and the bias of its module; nil: none.
func (p *program) tableAt(pc uint64) (t *Table, bias uint64) {
	if _, ok := p.table.find(pc - p.bias); ok {
		return p.table, p.bias
	}
	for _, m := range p.host.Modules() {
		if pc >= m.Start && pc < m.End {
			return tableIn(p.host, m), m.Bias
		}
	}
	return nil, 0
}
