// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

type counted struct {
	image
	reads int
}

func (c *counted) Read(addr uint64, b []byte) int {
	c.reads++
	return c.image.Read(addr, b)
}

func (c *counted) Unchanged() bool { return false }

func TestCodeObjectsAreVerifiedByPages(t *testing.T) {
	const n, apart, typ, at = 40, 256, 0x10, 1000
	for _, minor := range []int{8, 11, 12} {
		var objects []uint64
		g := &counted{image: image{bytes: make([]byte, (2*n+2)*apart)}}
		put := func(addr, v uint64) { binary.LittleEndian.PutUint64(g.bytes[addr:], v) }
		r := newParts(&interpreter{layout: layouts[minor], host: g, types: types{codeType: typ}})
		r.Begin(&managed.Sample{Mem: &frames.Snapshot{}, At: at, Live: g, Regs: &frames.Regs{}})
		for i := range uint64(n) {
			object, name := (i+1)*apart, (n+1+i)*apart
			put(object+objectType, typ)
			put(object+uint64(r.python.codeName), name)
			put(object+uint64(r.python.codeFile), 7)
			put(object+uint64(r.python.codeFirstLine), i+1)
			put(name+textHash, 100+i)
			if r.python.codeVersion != 0 {
				put(object+uint64(r.python.codeVersion)&^7, 1000*(i+1)<<(8*(uint64(r.python.codeVersion)&7)))
			}
			id, what := r.codes.identifyNow(object)
			if what != managed.ObjectKnown {
				t.Fatalf("3.%d: what is there is no code", minor)
			}
			r.codes.kept.Add(object, &code{id: id, CacheEntry: managed.CacheEntry{FirstRead: at - 1}})
			objects = append(objects, object)
		}
		changed := uint64(5 * apart)
		switch {
		case r.python.codeVersion != 0:
			put(changed+uint64(r.python.codeVersion)&^7, 0)
		case r.python.codeQualname != 0:
			put(changed+uint64(r.python.codeQualname), 1)
		default:
			put(changed+apart*n+textHash, 1)
		}
		r.codes.view.Begin(r.view.Sample)
		g.reads = 0
		for _, object := range objects {
			c, what := r.codes.resolve(object)
			if gone := object == changed; (what == managed.ObjectFreed) != gone || (c == nil) != gone {
				t.Errorf("3.%d: %#x: %v, %d", minor, object, c, what)
			} else if c != nil && c.LastWalked != r.view.Sample.At {
				t.Errorf("3.%d: %#x was walked at %d, not at %d", minor, object, c.LastWalked, r.view.Sample.At)
			}
		}
		if pages := len(g.bytes)/4096 + 1; g.reads > pages {
			t.Errorf("3.%d: %d reads of %d pages", minor, g.reads, pages)
		}
		const again = apart
		old := r.codes.kept.At(again).id
		put(again+uint64(r.python.codeVersion)&^7, 5)
		put(again+apart*n+textHash, 5)
		r.Begin(&managed.Sample{Mem: &frames.Snapshot{}, Live: g, Regs: &frames.Regs{}})
		if id, what := r.codes.identify(again, r.view.Pages.Word); what == managed.ObjectKnown && id == old {
			t.Errorf("3.%d: what another walk has read is taken for what is there now", minor)
		}
	}
}
