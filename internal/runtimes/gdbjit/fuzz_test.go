// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
)

// A list and two images.
const small = 0x800

func FuzzCode(f *testing.F) {
	list := func(image []byte) []byte {
		mem := make([]byte, small)
		mem[0] = version
		put := func(at, v uint64) { binary.LittleEndian.PutUint64(mem[at:], v) }
		put(16, listAt+0x40) // the first entry
		put(0x40, listAt+0x60)
		for i, at := range []uint64{0x40, 0x60} {
			put(at+16, listAt+0x80+uint64(i)*8)
			put(at+24, uint64(len(image)))
		}
		copy(mem[0x80:], image)
		return mem
	}
	f.Add(list(absolute("f", codeAt, 0x100, 16)), uint16(0x90), uint64(codeAt))
	f.Add(list(newFake().relocatable("g", codeAt, 0x100, 16)), uint16(16), uint64(codeAt+0x10))
	f.Fuzz(func(t *testing.T, mem []byte, change uint16, pc uint64) {
		p := &fake{mem: make([]byte, listAt+small)}
		copy(p.mem[listAt:], mem)
		c := p.code()
		use := func() {
			c.Rule(frames.Query{PC: pc})
			c.Name(pc)
			if c.keptBytes > maxKept || len(c.unregistered) > maxGone {
				t.Fatalf("%d bytes are kept, %d images that are gone", c.keptBytes, len(c.unregistered))
			}
			for i := 1; i < len(c.spans); i++ {
				if c.spans[i].start < c.spans[i-1].end {
					t.Fatal("the code of two images overlaps")
				}
			}
		}
		use()
		now := int64(1)
		c.now = func() int64 { now += 10; return now }
		p.mem[listAt+uint64(change)%small]++
		for moment := range now + 40 {
			c.SetTime(moment, true)
			use()
		}
		for range unchangedRereadEvery {
			c.Refresh()
		}
		use()
	})
}
