package gdbjit

import (
	"testing"

	"prywalk/frames"
)

// FuzzCode reads lists and images out of any memory: no panic, no endless list, and no more kept than allowed.
func FuzzCode(f *testing.F) {
	plain := newFake()
	plain.register(node(0), imageAt, absolute("f", codeAt, 0x100, 16))
	f.Add(plain.mem[listAt:imageAt+0x800], uint16(0), uint64(codeAt))
	rel := newFake()
	rel.register(node(0), imageAt, rel.relocatable("g", codeAt, 0x100, 16))
	f.Add(rel.mem[listAt:loadAt+0x100], uint16(0x300), uint64(codeAt+0x10))
	f.Fuzz(func(t *testing.T, mem []byte, change uint16, pc uint64) {
		p := newFake()
		copy(p.mem[listAt:], mem)
		c := p.code()
		use := func() {
			c.Rule(frames.Query{PC: pc})
			c.FuncRange(pc)
			c.Name(pc)
			if c.kept > maxKept+maxImage*8 || len(c.gone) > maxGone {
				t.Fatalf("%d bytes are kept, %d images that are gone", c.kept, len(c.gone))
			}
			for i := 1; i < len(c.spans); i++ {
				if c.spans[i].start < c.spans[i-1].end {
					t.Fatal("the code of two images overlaps")
				}
			}
		}
		use()
		p.mem[listAt+uint64(change)%0xf000]++
		for range everySome {
			c.Refresh()
		}
		use()
	})
}
