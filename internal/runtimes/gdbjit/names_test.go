// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"encoding/binary"
	"strings"
	"testing"
)

func TestNamesOfAnImageAreBounded(t *testing.T) {
	const size = 1 << 20
	var symbols []byte
	for i := range uint32(maxSymbols) + 1 {
		b := make([]byte, 24)
		binary.LittleEndian.PutUint32(b, 1) // of the one name
		b[4] = 2                            // STT_FUNC
		binary.LittleEndian.PutUint16(b[6:], 1)
		binary.LittleEndian.PutUint64(b[8:], codeAt+uint64(i))
		binary.LittleEndian.PutUint64(b[16:], 1)
		symbols = append(symbols, b...)
	}
	b := elfImage(2, []elfSection{
		{name: ".text", kind: noBits, flags: allocExec, addr: codeAt, size: size},
		{name: ".symtab", kind: symTab, link: 3, data: symbols},
		{name: ".strtab", kind: strTab, data: []byte("\x00" + strings.Repeat("x", 2*maxName) + "\x00")},
	})
	f := newFake()
	f.mem = append(f.mem, make([]byte, len(b))...)
	f.register(node(0), memEnd, b)
	c := f.code()
	if name, ok := c.Name(codeAt + 16); !ok || name != strings.Repeat("x", maxName) {
		t.Errorf("%q, %v", name, ok)
	}
	if c.keptBytes > maxNames+2*maxName {
		t.Errorf("%d bytes of names of an image of %d", c.keptBytes, len(b))
	}
}
