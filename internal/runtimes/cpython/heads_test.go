// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// gathering is memory from address 0 on that counts its reads.
type gathering struct {
	image
	single, together int
}

func (g *gathering) Read(addr uint64, b []byte) int {
	g.single++
	return g.image.Read(addr, b)
}

func (g *gathering) Unchanged() bool { return false }

func (g *gathering) ReadParts(parts []frames.Region) (n int) {
	g.together++
	for n < min(len(parts), procmem.MaxParts) && g.image.Read(parts[n].Addr, parts[n].Bytes) == len(parts[n].Bytes) {
		n++
	}
	return n
}

// One call for each 32 objects.
func TestCodeObjectsAreVerifiedInBatches(t *testing.T) {
	const n, apart, typ, at = 40, 256, 0x10, 1000
	for _, minor := range []int{8, 11, 12} {
		g := &gathering{image: image{bytes: make([]byte, (2*n+2)*apart)}}
		put := func(addr, v uint64) { binary.LittleEndian.PutUint64(g.bytes[addr:], v) }
		r := newParts(&interpreter{layout: layouts[minor], host: g, types: types{codeType: typ}})
		r.Begin(&managed.Sample{Mem: &frames.Snapshot{}, At: at, Live: g, Regs: &frames.Regs{}})
		for i := range uint64(n) {
			object, name := (i+1)*apart, (n+1+i)*apart
			put(object+objectType, typ)
			put(object+uint64(r.codeName), name)
			put(object+uint64(r.codeFile), 7)
			put(object+uint64(r.codeFirst), i+1)
			put(name+textHash, 100+i)
			if r.codeVersion != 0 {
				put(object+uint64(r.codeVersion)&^7, 1000*(i+1)<<(8*(uint64(r.codeVersion)&7)))
			}
			id, what, _ := r.codes.identifyInBatch(object)
			if what != codeKnown {
				t.Fatalf("3.%d: what is there is no code", minor)
			}
			r.codes.kept.Add(object, &code{id: id, Life: managed.Life{Since: at - 1}})
			r.codes.batch = append(r.codes.batch, pyFrame{code: object})
		}
		changed := uint64(5 * apart)
		if r.codeVersion != 0 {
			put(changed+uint64(r.codeVersion)&^7, 0)
		} else {
			put(changed+apart*n+textHash, 1) // another name at the same address
		}
		g.single, g.together, r.codes.batchRead = 0, 0, false
		for _, f := range r.codes.batch {
			c, what := r.codes.resolve(f.code)
			if gone := f.code == changed; (what == codeFreed) != gone || (c == nil) != gone {
				t.Errorf("3.%d: %#x: %v, %d", minor, f.code, c, what)
			} else if c != nil && c.Walked != r.view.sample.At {
				t.Errorf("3.%d: %#x was met at %d, not at %d", minor, f.code, c.Walked, r.view.sample.At)
			}
		}
		most := 2
		if r.codeVersion == 0 {
			most = 4
		}
		if g.single > 0 || g.together > most {
			t.Errorf("3.%d: %d reads, and %d of several places", minor, g.single, g.together)
		}
		// Tasks are read without a chain.
		const again = apart
		old := r.codes.kept.At(again).id
		put(again+uint64(r.codeVersion)&^7, 5)
		put(again+apart*n+textHash, 5)
		r.Begin(&managed.Sample{Mem: &frames.Snapshot{}, Live: g, Regs: &frames.Regs{}})
		if id, what, _ := r.codes.identifyInBatch(again); what == codeKnown && id == old {
			t.Errorf("3.%d: what another walk has read is taken for what is there now", minor)
		}
	}
}
